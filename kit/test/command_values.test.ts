// Every value of every command: what is empty, doubled or not understood is refused by its name.
import { describe, expect, test } from 'vitest';
import { exitwardAgent } from '../../agent/src/cli.ts';
import { exw } from '../../client/src/cli/commands.ts';
import { exitward } from '../../server/src/cli/main.ts';
import { type Command, commandsOf, optionsOf } from '../src/cli/command.ts';
import { UsageFault } from '../src/cli/failures.ts';
import type { Options } from '../src/cli/options.ts';
import { parse } from '../src/cli/parse.ts';

interface Words {
  command: Command<never>;
  options: Options;
}

const commands = [exw({}, '0'), exitward({}), exitwardAgent({})].flatMap((program) =>
  commandsOf(program as never).map((command: Command<never>): [string, Words] => [
    `${program.name} ${command.name}`,
    { command, options: optionsOf(program as never, command) },
  ]),
);

/** The sentence by which these words are refused; undefined when they are understood. */
function refusal({ command, options }: Words, words: string[]): string | undefined {
  try {
    parse(command, options, words);
    return undefined;
  } catch (error) {
    if (error instanceof UsageFault) return error.message;
    throw error;
  }
}

/** A sentence that no library wrote: no regular expression, type or value of a program. */
const isReadable = (text: string) => !/\/\^|undefined|null|NaN|\[object|SyntaxError/.test(text);

describe.each(commands)('%s', (_, words) => {
  const { command, options } = words;
  const values = Object.entries(options).filter(([, { value }]) => value !== undefined);
  const commandArguments = Object.entries(command.arguments ?? {});
  const dashes = command.verbatim ? ['--'] : [];

  test('refuses empty and blank values by name', () => {
    for (const text of ['', ' ']) {
      for (const [name, { mayBeBlank }] of values) {
        const says = refusal(words, [`--${name}=${text}`, ...dashes]) ?? '';
        if (!mayBeBlank) expect(says).toMatch(new RegExp(`^(--${name}: expected|required) `));
      }
      const required = values.filter(([, option]) => option.required);
      const [name, argument] = commandArguments[0] ?? [];
      if (name === undefined || argument?.mayBeBlank || required.length > 0) continue;
      expect(refusal(words, [...dashes, text])).toMatch(new RegExp(`^<${name}>: expected `));
    }
  });

  test('refuses an option that is given twice', () => {
    for (const [name, { choices = ['1'] }] of values) {
      const twice = [`--${name}=${choices[0]}`, `--${name}`, String(choices[0]), ...dashes];
      expect(refusal(words, twice)).toBe(`--${name}: given twice`);
    }
  });

  test('refuses other values in short sentences of our own, which begin with the name', () => {
    for (const text of ['-5', '1.5', '9'.repeat(400), '\0\u202e<"', '../..', 'x'.repeat(5000)]) {
      for (const [name] of values) {
        const says = refusal(words, [`--${name}=${text}`, ...dashes]);
        if (says?.startsWith(`--${name}: `) === false) expect(says).toMatch(/required|missing/);
        expect(says ?? '').toSatisfy(isReadable);
        expect(says?.length ?? 0).toBeLessThan(300);
      }
    }
  });
});
