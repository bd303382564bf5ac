// The command lines exitward, exitward-agent and exw: what their kit gives to all three.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { exitwardAgent } from '../../agent/src/cli.ts';
import { exw } from '../../client/src/cli/commands.ts';
import * as clientValues from '../../client/src/cli/values.ts';
import { bytes as bytesOfConsole, fromNow } from '../../console/src/format.ts';
import { exitward } from '../../server/src/cli/main.ts';
import { CommandHost } from '../../test/command_host.ts';
import { deepTest } from '../../test/deep_test.ts';
import { testFolder } from '../../test/test_folder.ts';
import { canonicalAddress, parseNetworks } from '../src/address.ts';
import { commandsOf, optionsOf, type Program } from '../src/cli/command.ts';
import { candidates } from '../src/cli/completion.ts';
import { RequestFailure, UsageFault } from '../src/cli/failures.ts';
import { inOptions } from '../src/cli/fields.ts';
import { helpOf, overview } from '../src/cli/help.ts';
import { type Column, narrowed, print, screenOf, table, textOf } from '../src/cli/output.ts';
import { findCommand, parse } from '../src/cli/parse.ts';
import * as values from '../src/cli/values.ts';
import { wrapped } from '../src/cli/wrapped.ts';
import {
  addresses,
  bytesInWords,
  hostileText,
  hostileTextShown,
  misunderstood,
  moment,
  networks,
  records,
  steering,
  times,
  timesInWords,
  wrongAddresses,
  wrongNetworks,
  wrongTimes,
} from './cli_cases.ts';

const empty = { noun: 'rows' };

describe('values for people', () => {
  test.each(bytesInWords)('%i bytes', (count, words) => {
    expect([values.bytesInWords(count), bytesOfConsole(count)]).toEqual([words, words]);
  });

  test.each(timesInWords)('the time %i', (seconds, words) => {
    expect(values.timeInWords(seconds)).toBe(words);
  });

  test.each([-60, 0, 44, 46, 600, 3300, 3500, 7200, 80_000])(
    'the time %i seconds ago, as the console says it',
    (ago) => {
      const at = moment - ago;
      expect(values.pastInWords(at, moment)).toBe(fromNow(Math.min(at, moment), moment));
    },
  );

  test('a time of a day ago or more is itself, and 0 is never', () => {
    expect(values.pastInWords(moment - 86_400, moment)).toBe(values.timeInWords(moment - 86_400));
    expect(values.pastInWords(0, moment)).toBe('-');
  });

  test('seconds are in the largest unit without a rest', () => {
    const all = [31_536_000, 86_400, 7200, 90].map(values.secondsInWords);
    expect(all).toEqual(['365 days', '1 day', '2 hours', '90 seconds']);
  });
});

test.each(records)('the record $record', ({ record, people, pipe }) => {
  const columns = Object.keys(record).map((name) => [name, name] as const);
  expect(textOf({ record, columns }, true)).toBe(people);
  expect(textOf({ record, columns }, false)).toBe(pipe);
});

describe('output', () => {
  afterEach(() => vi.restoreAllMocks());

  test('is JSON on standard output with --json; a sentence for people is on standard error', () => {
    const said = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      vi.spyOn(process[stream], 'write').mockImplementation((text) => {
        said[stream] += text;
        return true;
      });
    }
    // Text of others does not steer the terminal here, either, nor pass for another line; a list
    // has lines.
    const value = { a: [1], [hostileText]: hostileText };
    print({ value, parts: [], sentence: `${hostileText}\n- so` }, true);
    vi.restoreAllMocks();
    expect(said.stderr).toBe(`${hostileTextShown}\n- so\n`);
    expect(said.stdout).toMatch(/^{\n {2}"a": \[\n {4}1\n {2}\],\n {2}".*": ".*"\n}\n$/);
    expect(said.stdout).not.toMatch(steering);
    expect(JSON.parse(said.stdout)).toEqual(value);
  });

  test.each([true, false])('as it is does not steer a terminal (%s)', (isTerminal) => {
    let said = '';
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      said += text;
      return true;
    });
    const before = process.stdout.isTTY;
    process.stdout.isTTY = isTerminal;
    const text = `a\tb\n${hostileText}\n`;
    print({ value: text, parts: [{ text }] });
    process.stdout.isTTY = before;
    expect(said).toBe(isTerminal ? `a\\x09b\n${hostileTextShown.replace('\\x0a', '\n')}\n` : text);
  });
});

test('a list has a header in capitals for people, none for pipes; cells are escaped', () => {
  const columns: Column[] = ['name', ['words', 'words', 'list'], 'on', ['size', 'size', 'bytes']];
  const rows = [
    { name: 'a', words: ['x\x1b', 'y'], on: true, size: 999_999 },
    { name: 'longer', words: [], on: false, size: null },
  ];
  expect(textOf({ rows, columns, empty }, true)).toBe(
    'NAME    WORDS    ON      SIZE\na       x\\x1b,y  yes  1.00 MB\nlonger  -        no         -\n',
  );
  expect(textOf({ rows, columns, empty }, false)).toBe(
    'a\tx\\x1b,y\tyes\t999999\nlonger\t\tno\t\n',
  );
  expect([
    textOf({ rows: [], columns, empty }, true),
    textOf({ rows: [], columns, empty }, false),
  ]).toEqual(['No rows.\n', '']);
});

describe('an empty list', () => {
  const users = { noun: 'users', next: 'exw users add' };
  const list = { name: 'users list', list: true, arguments: undefined } as const;
  const options = {
    name: { summary: 'only this one', value: '<text>', read: String, filter: true },
    sort: { summary: 'by what', value: '<column>', read: String },
  } as const;
  /** The screen after these words. */
  const after = (...words: string[]) =>
    screenOf(narrowed(table([], ['name'], users), parse(list, options, words)?.filters ?? []));

  test('says what there is none of, and what to do next', () => {
    expect(after()).toBe('No users. Next: exw users add\n');
    expect(after('--sort', 'name')).toBe('No users. Next: exw users add\n');
  });

  test('after a filter says that none match, and names the filter', () => {
    expect(after('--name', 'bob', '--sort', 'name')).toBe('No users match --name bob.\n');
    expect(after('--name=bob b\x1b')).toBe('No users match --name "bob b\\u001b".\n');
  });

  test('prints nothing where a sentence says it, and nothing in a pipe', () => {
    expect(screenOf(table([], ['name'], undefined))).toBe('');
    expect(textOf({ rows: [], columns: ['name'], empty: users }, false)).toBe('');
  });
});

test('a past time and a day are in words for people, and exact for pipes', () => {
  const columns: Column[] = [
    ['seen', 'seen', 'past'],
    ['from', 'from', 'day'],
  ];
  vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_100_000 });
  onTestFinished(() => void vi.useRealTimers());
  const rows = [{ seen: 1_800_000_099, from: 1_800_000_000 }];
  expect(textOf({ rows, columns, empty }, true)).toBe('SEEN      FROM\njust now  2027-01-15\n');
  expect(textOf({ rows, columns, empty }, false)).toBe('1800000099\t1800000000\n');
});

test('numbers are under each other, with three digits of each size', () => {
  const columns: Column[] = ['id', ['size', 'size', 'bytes'], 'name'];
  const rows = [
    { id: 9, size: 2_900_000_000, name: 'a' },
    { id: 10, size: 35_800_000_000, name: 'b' },
    { id: 101, size: 12, name: 'c' },
  ];
  expect(textOf({ rows, columns, empty }, true)).toBe(
    [' ID     SIZE  NAME', '  9  2.90 GB  a', ' 10  35.8 GB  b', '101     12 B  c', ''].join('\n'),
  );
});

describe('a list on a narrow terminal', () => {
  const columns: Column[] = ['name', 'city', ['status', 'status', 'state'], 'country'];
  const rows = [{ name: 'fra1', city: 'Frankfurt', status: 'crit', country: 'DE' }];
  const at = (width: number) => textOf({ rows, columns, empty }, true, width);

  test('is as wide as it, and names the columns that it leaves out: the state is the last to go', () => {
    expect(at(32)).toBe('NAME  CITY       STATUS  COUNTRY\nfra1  Frankfurt  crit    DE\n');
    expect(at(31)).toBe(
      'NAME  CITY       STATUS\nfra1  Frankfurt  crit\nMore columns with --wide: COUNTRY\n',
    );
    expect(at(20)).toBe('NAME  STATUS\nfra1  crit\nMore columns with --wide: CITY, COUNTRY\n');
    expect(at(5)).toBe('NAME\nfra1\nMore columns with --wide: CITY, STATUS, COUNTRY\n');
  });

  test('has no column without a value', () => {
    const none = [{ ...rows[0], city: null }];
    const shown = textOf({ rows: none, columns, empty }, true, 80);
    expect(shown).toBe('NAME  STATUS  COUNTRY\nfra1  crit    DE\n');
    expect(textOf({ rows: none, columns, empty }, true)).toContain('CITY');
  });

  test('shows a column that fits when a wider one has been left out', () => {
    const all: Column[] = ['name', 'city', 'country', ['status', 'status', 'state']];
    expect(textOf({ rows, columns: all, empty }, true, 22)).toBe(
      'NAME  COUNTRY  STATUS\nfra1  DE       crit\nMore columns with --wide: CITY\n',
    );
  });

  test('leaves out details first, and never what happened', () => {
    const audit: Column[] = [
      'id',
      ['from', 'from', 'detail'],
      'account',
      ['action', 'action', 'event'],
      ['target', 'target', 'event'],
    ];
    const record = {
      id: 1,
      from: '192.0.2.1',
      account: 'acme',
      action: 'user.add',
      target: 'alice',
    };
    const within = (width: number) =>
      textOf({ rows: [record], columns: audit, empty }, true, width);
    expect(within(32)).toBe(
      'ID  ACCOUNT  ACTION    TARGET\n 1  acme     user.add  alice\nMore columns with --wide: FROM\n',
    );
    expect(within(10)).toContain(' 1  user.add  alice');
  });

  test('has its only column cut', () => {
    const table = {
      rows: [{ name: 'a long name of a server' }],
      columns: [['name', 'name']] as const,
      empty,
    };
    expect(textOf(table, true, 12)).toBe('NAME\na long name…\n');
    expect(textOf(table, false, 12)).toBe('a long name of a server\n');
  });
});

test('help is broken below its column, and below the flag that leaves no room', () => {
  expect(wrapped('one two three four\n\n  --a  one two three', 13)).toBe(
    'one two three\nfour\n\n  --a  one\n       two\n       three',
  );
  expect(wrapped('  --a-long-flag  one two', 16)).toBe('  --a-long-flag\n      one two');
});

describe('times', () => {
  test.each(times)('%s', (text, iso) => {
    expect(new Date(values.timeFrom(text, moment) * 1000).toISOString()).toBe(iso);
  });

  test.each(wrongTimes)('%j is none', (text) => {
    expect(() => values.timeFrom(text, moment)).toThrow(
      `${JSON.stringify(text)} isn't a time; expected +8h, +30d, 2027-01-31, 2027-01-31T12:00Z or epoch seconds; units are s, m or min (minutes), h, d, w, mo (months), y`,
    );
  });
});

describe.each([
  ['the kit', canonicalAddress],
  ['exw, which has no dependencies', clientValues.canonicalAddress],
])('addresses, as %s reads them', (_, read) => {
  test.each(addresses)('%s', (text, canonical) => {
    expect(read(text)).toBe(canonical);
    expect(clientValues.address(text)).toBe(text);
  });

  test.each(wrongAddresses)('%j is none', (text) => {
    expect(read(text)).toBeUndefined();
    expect(() => clientValues.address(text)).toThrow("isn't an IP address");
  });
});

describe('networks', () => {
  test.each(networks)('%j', (text, all) => {
    expect(parseNetworks(text).map(([base, bits]) => `${base}/${bits}`)).toEqual(all);
  });

  test.each(wrongNetworks)('%j is none', (part, says) => {
    expect(() => parseNetworks(`192.168.0.0/16,${part}`)).toThrow(new Error(says));
  });
});

const programs = [exitward({}), exitwardAgent({}), exw({}, '0.0.0')] as Array<Program<unknown>>;

describe.each(programs.map((program) => [program.name, program] as const))('%s', (_, program) => {
  const commands = commandsOf(program);

  test('says the same as when its help was last read', async () => {
    const { columns } = process.stdout;
    process.stdout.columns = 100;
    const pages = [overview(program), ...commands.map((command) => helpOf(program, command))];
    process.stdout.columns = columns;
    const text = `${pages.join(`\n${'-'.repeat(100)}\n\n`)}`;
    await expect(text).toMatchFileSnapshot(`help/${program.name}.txt`);
  });

  test('has each of its examples understood as the command that shows it, every flag as an option', () => {
    const shown = commands.flatMap((command) =>
      (command.examples ?? []).map((text) => ({ text, example: command })),
    );
    for (const { text, example } of [
      ...shown,
      ...program.examples.map((text) => ({ text, example: undefined })),
    ]) {
      const words = text.split(' ').slice(1);
      const command = findCommand(commands, words);
      if (!command) throw new Error(text);
      const options = optionsOf(program, command.command);
      const given = parse(command.command, options, command.rest)?.given.options ?? {};
      const end = words.indexOf('--');
      const flags = (end < 0 ? words : words.slice(0, end)).flatMap((word) =>
        word.startsWith('--') ? [word.slice(2).replace(/=.*/, '')] : [],
      );
      const read = Object.entries(given).flatMap(([option, value]) =>
        value === undefined || value === false ? [] : [option],
      );
      expect([command.command, read], text).toEqual([
        example ?? command.command,
        expect.arrayContaining(flags),
      ]);
    }
  });

  test('names the option in an error about the field that it sets, and in one that mentions it', () => {
    for (const command of commands) {
      const options = Object.entries(command.options ?? {});
      const explicit = options.flatMap(([, { field }]) => field ?? []);
      for (const [name, option] of options) {
        const field = option.field ?? name.replaceAll('-', '_');
        // A person who signs in has a name, too.
        if (option.field === undefined && explicit.includes(field)) continue;
        for (const path of [field, `${field}.0`, `records.3.${field}`]) {
          const message = `${path}: is not right next to \`${field}\`.`;
          const failure = new RequestFailure(400, { message, field: path });
          const said = (inOptions(failure, command) as Error).message;
          expect(said, command.name).toBe(`--${name}: is not right next to --${name}.`);
        }
      }
    }
  });

  test('has the units of every time that it takes in its help', () => {
    const timed = commands.filter((command) =>
      Object.values(optionsOf(program, command)).some(({ value = '' }) =>
        /^<(time|span|lifetime)>$/.test(value),
      ),
    );
    for (const command of timed) {
      expect(helpOf(program, command)).toMatch(
        /^Units:\n(?: {2}<\w+> +s, m or min \(minutes\), h.*)/m,
      );
    }
  });

  test('names every filter of a list when nothing matches', () => {
    const lists = commands.filter(({ list }) => list);
    const filters = lists.flatMap(({ name, options = {} }) =>
      Object.entries(options)
        .filter(
          ([, { summary, value }]) => value && /^(only|of these|with this|that)\b/.test(summary),
        )
        .map(([option, { filter }]) => ({ name, option, filter })),
    );
    expect(filters.filter(({ filter }) => !filter)).toEqual([]);
  });

  test('prints JSON of each record and list, when --json is given', () => {
    const withoutJson = commands
      .filter((command) => !optionsOf(program, command).json)
      .map(({ name }) => name);
    expect(withoutJson).toEqual(commands.filter(({ serves }) => serves).map(({ name }) => name));
  });

  test('completes its nouns, their verbs and the options of each command', async () => {
    const offered = (...words: string[]) => candidates(program, words, async () => []);
    for (const command of commands) {
      const path = command.name.split(' ');
      for (const [at, word] of path.entries()) {
        expect(await offered(...path.slice(0, at), word.slice(0, 3))).toContain(word);
      }
      const longs = Object.keys(optionsOf(program, command)).map((name) => `--${name}`);
      expect(await offered(...path, '--')).toEqual(longs);
    }
    expect(await offered('no-such-noun', '')).toEqual([]);
  });
});

describe('an error of a server, in the words of a command line', () => {
  const option = (field?: string, value = '<name>') => ({
    ...{ summary: '', value, read: String, ...(field === undefined ? {} : { field }) },
  });
  const words = {
    options: {
      of: option('user'),
      servers: option('limits.servers'),
      server: option('server'),
      'active-until': option('limits.active_until', '<time>'),
    },
    arguments: { name: { read: String } },
  };
  const said = (message: string, status = 400, field = message.replace(/:.*/, '')) =>
    inOptions(new RequestFailure(status, { message, field }), words);

  test('names the option that sets the field inside of another, and in a record of a list', () => {
    const names = [
      ...['limits.servers', 'limits.servers.0', 'users.3.limits.servers'],
      ...['server', 'user', 'name', 'name, server'],
    ];
    expect(names.map((field) => (said(`${field}: is wrong.`) as Error).message)).toEqual([
      ...[
        '--servers',
        '--servers',
        '--servers',
        '--server',
        '--of',
        '<name>',
        '<name>, --server',
      ].map((name) => `${name}: is wrong.`),
    ]);
  });

  test('stays as it is where no option sets the field, and where it names none', () => {
    for (const message of ['servers: is wrong.', 'limits: is wrong.', 'user, host: are wrong.']) {
      expect(said(message)).toMatchObject({ message, status: 400 });
    }
    const message = 'There is no user.';
    expect(said(message, 404, undefined)).toMatchObject({ message, status: 404 });
  });

  test('is a command line that was not understood if the request itself is wrong', () => {
    expect(said('user: is wrong.')).toBeInstanceOf(UsageFault);
    expect(said('user: has gone.', 409)).not.toBeInstanceOf(UsageFault);
  });

  test('has times and spans as a person writes them, and all faults', () => {
    expect(said('limits.active_until: expected at most 315576000 seconds.')).toMatchObject({
      message: '--active-until: expected at most 87660 hours.',
    });
    expect(said('user: expected at least 600 seconds.')).toMatchObject({
      message: '--of: expected at least 10 minutes.',
    });
    const late =
      'limits.active_until: 1800000000 is over; expected epoch seconds after 1800000060.';
    expect(said(late)).toMatchObject({
      message:
        '--active-until: 2027-01-15 08:00Z is over; expected a time after 2027-01-15 08:01Z.',
    });
    const faults = [
      { field: 'user', message: 'user: is wrong.' },
      { field: 'other', message: 'other: is wrong.' },
    ];
    const failure = new RequestFailure(400, { message: 'user: is wrong.', field: 'user', faults });
    expect(inOptions(failure, words)).toMatchObject({
      message: '--of: is wrong.\n- other: is wrong.',
    });
  });
});

const bins: Record<string, string> = {
  exitward: fileURLToPath(new URL('../../server/bin/exitward.js', import.meta.url)),
  'exitward-agent': fileURLToPath(new URL('../../agent/bin/exitward-agent.js', import.meta.url)),
  exw: fileURLToPath(new URL('../../client/bin/exw.js', import.meta.url)),
};

describe.each(Object.keys(bins))('%s as a process', (program) => {
  const folder = testFolder('kits');

  const host = new CommandHost(bins[program] as string);
  const run = (...args: string[]) => runWith({}, ...args);
  const runWith = (settings: Record<string, string>, ...args: string[]) =>
    host.run({
      args,
      env: {
        PATH: process.env.PATH,
        XDG_CONFIG_HOME: folder,
        EXITWARD_DATA_DIR: folder,
        EXITWARD_AGENT_STATE_DIR: folder,
        EXITWARD_ADMIN_URL: 'http://127.0.0.1:9',
        EXITWARD_ADMIN_TOKEN: 'ewo_x',
        EXW_URL: 'http://127.0.0.1:9',
        EXW_TOKEN: 'ewa_x',
        ...settings,
      },
    });

  test.each(program === 'exitward' ? misunderstood : misunderstood.slice(0, 1))(
    '%s is not understood: 2',
    async (_, args, says) => {
      expect(await run(...args)).toEqual({
        code: 2,
        stdout: '',
        stderr: `${program}: ${says}\nAdd --help for what is expected.\n`,
      });
    },
  );

  test.each([[[]], [[program === 'exitward-agent' ? 'guard' : 'authlist']]])(
    '%j alone is answered with the help, on standard error: 2',
    async (args) => {
      const { code, stdout, stderr } = await run(...args);
      expect([code, stdout], stderr).toEqual([2, '']);
      expect(stderr).toMatch(new RegExp(`^Usage: ${program} (.|\n)*\n\n[A-Z][\\w ]+:\n {2}\\w`));
    },
  );

  test('a failure is one sentence on standard error: 1', async () => {
    const { code, stdout, stderr } = await run(program === 'exw' ? 'whoami' : 'status', '--json');
    expect([code, stdout], stderr).toEqual([1, '']);
    expect(stderr).toMatch(new RegExp(`^${program}: [^\n]+\n$`));
  });

  test('a misspelt setting is named on standard error, never its value', async () => {
    const [word, misspelt, meant] = {
      exitward: ['status', 'EXITWARD_ADMIN_TOKN', 'EXITWARD_ADMIN_TOKEN'],
      'exitward-agent': ['status', 'EXITWARD_AGENT_STATE_DR', 'EXITWARD_AGENT_STATE_DIR'],
      exw: ['whoami', 'EXW_TOKENFILE', 'EXW_TOKEN_FILE'],
    }[program] as [string, string, string];
    const { stderr } = await runWith({ [misspelt]: 's3cret' }, word, '--json');
    const sentence = `${misspelt}: no setting has this name, so it is ignored.`;
    expect(stderr).toMatch(new RegExp(`^${sentence} Did you mean ${meant}\\?\n${program}: `));
    expect(stderr).not.toContain('s3cret');
  });

  test('the message of a hostile server is one line, and does not steer the terminal', async () => {
    const hostile = createServer((_, response) => {
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ message: hostileText, code: 'forbidden' }));
    }).listen(0, '127.0.0.1');
    await once(hostile, 'listening');
    const url = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`;
    const args: Record<string, string[]> = {
      exitward: ['status'],
      'exitward-agent': ['join', url, 'code'],
      exw: ['whoami', '--url', url],
    };
    const { code, stdout, stderr } = await runWith(
      { EXITWARD_ADMIN_URL: url },
      ...(args[program] ?? []),
    ).finally(() => hostile.close());
    expect([code, stdout, stderr]).toEqual([1, '', `${program}: ${hostileTextShown}\n`]);
  });

  test.each(['-V', '--version'])('%s prints the version alone', async (option) => {
    const { code, stdout } = await run(option);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  });

  test('output that the disk has no room for is a sentence, and 1', () => {
    const full = openSync('/dev/full', 'w');
    const { status, stderr } = spawnSync(process.execPath, [bins[program] as string, '--help'], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    closeSync(full);
    expect([status, stderr]).toEqual([
      1,
      `${program}: The output cannot be written (ENOSPC); the command itself was run.\n`,
    ]);
  });

  test.each([['--help'], ['help']])('%s is no fault: 0', async (...args) => {
    const { code, stdout, stderr } = await run(...args);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(new RegExp(`^Usage: ${program} <command> \\[options\\]\n`));
  });
});

describe.each([
  ['exitward', ['status'], 'EXITWARD_ADMIN_URL', { EXITWARD_ADMIN_TOKEN: 'ewo_x' }],
  ['exw', ['whoami'], 'EXW_URL', { EXW_TOKEN: 'ewa_x' }],
] as const)('%s behind HTTPS_PROXY', (program, args, urlSetting, token) => {
  const run = async (url: string, NO_PROXY = '') => {
    const requests: string[] = [];
    const proxy = createServer((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      response.writeHead(500).end();
    });
    proxy.on('connect', (request, socket) => {
      requests.push(`CONNECT ${request.url} ${request.headers.authorization ?? 'without a token'}`);
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const HTTPS_PROXY = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const child = spawn(process.execPath, [bins[program] as string, ...args], {
      env: { PATH: process.env.PATH, HTTPS_PROXY, NO_PROXY, [urlSetting]: url, ...token },
      stdio: 'ignore',
    });
    await once(child, 'exit').finally(() => proxy.close());
    return requests;
  };

  test('asks it for https, and gives it no token', async () => {
    const requests = new Set(await run('https://control.example'));
    expect([...requests]).toEqual(['CONNECT control.example:443 without a token']);
  });

  deepTest('asks it for no host when NO_PROXY is *', async () => {
    expect(await run('https://control.invalid', '*')).toEqual([]);
  });

  deepTest('asks it neither for http, nor for this machine', async () => {
    expect(await run('http://127.0.0.1:9')).toEqual([]);
    expect(await run('https://localhost:9')).toEqual([]);
  });
});
