// The values of a command line: its arguments by name, its options, and the fields of a request's body or query.
import type { Command } from 'commander';
import { UsageFault } from './failures.ts';

/**
 * An option: its flags as commander reads them (`--limit <size>`), the field of the request's body or query
 * that its value goes into, and what turns the text into that value. Errors of `parse`: a usage fault, which
 * the option's name is put before.
 */
export type Choice = readonly [
  flags: string,
  description: string,
  field?: string,
  parse?: (text: string) => unknown,
];

/** The value of a text. Errors: the reader's usage fault, with the option's or argument's name before it. */
export function readValue<T>(name: string, read: (text: string) => T, text: string): T {
  try {
    return read(text);
  } catch (error) {
    if (error instanceof UsageFault) throw new UsageFault(`${name}: ${error.message}`);
    throw error;
  }
}

export class Given {
  /** The values of the options that name a field. */
  readonly fields: Record<string, unknown> = {};
  readonly #words = new Map<string, string | string[]>();
  readonly #options: Record<string, unknown>;

  constructor(command: Command, choices: readonly Choice[]) {
    this.#options = { ...command.opts() };
    for (const [at, argument] of command.registeredArguments.entries()) {
      this.#words.set(argument.name(), command.processedArgs[at] as string | string[]);
    }
    for (const option of command.options) {
      const name = option.attributeName();
      const [, , field, parse] = choices.find(([flags]) => flags === option.flags) ?? [];
      // Not by Commander, which takes null for a value that is missing.
      const text = this.#options[name];
      if (parse && typeof text === 'string') {
        this.#options[name] = readValue(`${option.long}`, parse, text);
      }
      const value = this.#options[name];
      if (field && value !== undefined) this.fields[field] = value;
    }
  }

  /** An argument or option, as it was written. */
  word(name: string): string {
    return String(this.#words.get(name) ?? this.#options[name]);
  }
  /** A sentence with these in the place of their names: `Node <id> is revoked.` */
  text(template: string): string {
    return template.replace(/<(\w+)>/g, (_, name: string) => this.word(name));
  }
  /** The path of a URL, likewise: `/accounts/<account>`. */
  path(template: string): string {
    return template.replace(/<(\w+)>/g, (_, name: string) => encodeURIComponent(this.word(name)));
  }
  /** An argument as the value that it stands for. Errors: a usage fault that names it. */
  parsed<T>(name: string, read: (text: string) => T): T {
    return readValue(`<${name}>`, read, this.word(name));
  }
  /** An argument that may be given several times. Errors: a usage fault that names it. */
  parsedAll<T>(name: string, read: (text: string) => T): T[] {
    const words = [this.#words.get(name) ?? []].flat();
    return words.map((text) => readValue(`<${name}>`, read, text));
  }
  has(option: string): boolean {
    return this.#options[option] !== undefined;
  }
  /** The fields as a query string: `?account=acme`, or nothing. */
  query(): string {
    const query = new URLSearchParams(this.fields as Record<string, string>);
    return query.size === 0 ? '' : `?${query}`;
  }
  option(name: string): unknown {
    return this.#options[name];
  }
}
