// The fields of the requests that commands send: an error about each of them names the option or
// argument that a person typed.
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { exw } from '../../client/src/cli/commands.ts';
import { exitward } from '../../server/src/cli/main.ts';
import { type Command, commandsOf, optionsOf, type Program } from '../src/cli/command.ts';
import { RequestFailure } from '../src/cli/failures.ts';
import { inOptions } from '../src/cli/fields.ts';
import { parse } from '../src/cli/parse.ts';

const folder = mkdtempSync(join(tmpdir(), 'exitward-fields-'));
const secret = join(folder, 'secret');
let server: Server;
/** The fields of the requests since the last command began. */
let sent = new Set<string>();

beforeAll(async () => {
  writeFileSync(secret, 'secret\n');
  // Whatever it is asked, it answers with nothing.
  server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://127.0.0.1');
    let body = '';
    for await (const chunk of request) body += chunk;
    if (pathname !== '/console/session') {
      sent = new Set([...sent, ...searchParams.keys(), ...pathsIn(JSON.parse(body || '{}'))]);
    }
    const isList = request.method === 'GET' && pathname.endsWith('s');
    response.setHeader('content-type', 'application/json').end(isList ? '[]' : '{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

/** `limits.servers`, `users.0.limits`: a list of words is one value. */
function pathsIn(value: unknown, path: readonly string[] = []): string[] {
  const [first] = Array.isArray(value) ? value : [];
  if (typeof first === 'object') return pathsIn(first, [...path, '0']);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [path.join('.')];
  return Object.entries(value).flatMap(([name, part]) => pathsIn(part, [...path, name]));
}

/** A text that each kind of value takes, by its placeholder or the name of the argument. */
const texts: Record<string, string> = {
  ...{ '<time>': '+1h', '<span>': '5s', '<lifetime>': '1h', '<size>': '1GB', size: '1GB' },
  ...{ '<ip>': '192.0.2.1', ip: '192.0.2.1', '<file>': secret, '<port>': '80', '<words>': 'proxy' },
  ...{ '<number>': '5', '<count>': '5', '<id>': '5', '<degrees>': '5', '<format>': 'apple' },
  ...{ id: '5', ids: '5', removal: '5', entry: '5', bases: '10000:proxy', '<user>': 'a@b' },
};

/** They work on this machine, read files or wait; nothing that they send is an option. */
const others =
  /^(apply|authlist (import|watch)|backup|completion|dns wait|doctor|inventory|keys|log|migrate|node drain|restore|run|serve|verify|operator-token create)/;

/** Fields that a command sets by itself, and one that is checked before it is sent. */
const ownFields: Record<string, string[]> = {
  ...{ 'exitward account list': ['limit'], 'exitward account suspend': ['suspended'] },
  ...{ 'exitward account resume': ['suspended'], 'exitward node undrain': ['drained'] },
  ...{ 'exitward authlist list': ['limit'], 'exitward authlist find': ['limit'] },
  ...{ 'exitward authlist prove': ['proven'], 'exitward authlist unprove': ['proven'] },
  ...{ 'exitward override list': ['limit'], 'exitward geo list': ['limit'] },
  ...{ 'exitward maintenance on': ['on'], 'exitward maintenance off': ['on'] },
  ...{ 'exitward explain': ['login'], 'exw status': ['detail', 'user', 'expiry'] },
  ...{ 'exw contract': ['detail'], 'exw exits': ['detail'] },
};

/** Options that are given: not all of these together. */
const together: Record<string, RegExp> = {
  'exitward explain': /^(server|service|user|from|exit)$/,
};

const programs = [exitward({}), exw({}, '0')] as Array<Program<unknown>>;

describe.each(programs.map(({ name }) => name))('%s', (name) => {
  const programOf = () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const env = {
      ...{ EXITWARD_ADMIN_URL: url, EXITWARD_ADMIN_TOKEN: 'ewo_x', HOME: folder },
      ...{ EXW_URL: url, EXW_TOKEN: 'ewa_x', XDG_CONFIG_HOME: folder },
    };
    return (name === 'exw' ? exw(env, '0') : exitward(env)) as Program<unknown>;
  };
  const commands = commandsOf(programs.find((program) => program.name === name) as never)
    .map((command: Command<never>) => command.name)
    .filter((command) => !others.test(command));

  test.each(commands)(
    'each field that %s sends is that of an option or argument',
    async (commandName) => {
      const program = programOf();
      const command = commandsOf(program).find(
        ({ name }) => name === commandName,
      ) as Command<unknown>;
      const options = Object.entries(command.options ?? {}).flatMap(
        ([option, { value, choices }]) =>
          option === 'dry-run' || !(together[`${name} ${commandName}`]?.test(option) ?? true)
            ? []
            : `--${option}${value ? `=${choices?.[0] ?? texts[value] ?? 'abc'}` : ''}`,
      );
      const words = Object.keys(command.arguments ?? {}).map((word) => texts[word] ?? 'abc');
      const parsed = parse(command as never, optionsOf(program, command), [...options, ...words]);
      sent = new Set();
      vi.spyOn(process.stderr, 'write').mockReturnValue(true);
      const session = program.open(parsed?.common ?? {});
      // The empty answer may be none that it can show.
      await command.run(parsed?.given as never, session).catch(() => {});
      vi.restoreAllMocks();
      const unnamed = [...sent].filter((field) => {
        const failure = new RequestFailure(400, { message: `${field}: is wrong.`, field });
        return inOptions(failure, command as never) === failure;
      });
      expect(unnamed).toEqual(ownFields[`${name} ${commandName}`] ?? []);
    },
  );
});
