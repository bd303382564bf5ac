// exitward, exitward-agent and exw share no code: the same table of cases holds them to the same behaviour.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import * as agentOutput from '../agent/src/output.ts';
import { commands } from '../client/src/cli/commands.ts';
import * as clientOutput from '../client/src/cli/output.ts';
import { findCommand, parse } from '../client/src/cli/parse.ts';
import * as clientValues from '../client/src/cli/values.ts';
import { bytes as bytesOfConsole } from '../console/src/format.ts';
import { canonicalAddress, parseNetworks } from '../kit/src/address.ts';
import { wrapped } from '../kit/src/cli/wrapped.ts';
import * as serverOutput from '../server/src/cli/output.ts';
import * as serverValues from '../server/src/cli/values.ts';
import {
  addresses,
  bytesInWords,
  faultOf,
  hostileText,
  hostileTextShown,
  misunderstood,
  moment,
  networks,
  type Program,
  programs,
  records,
  steering,
  times,
  timesInWords,
  wrongAddresses,
  wrongNetworks,
  wrongTimes,
} from './cli_cases.ts';
import { CommandHost } from './command_host.ts';

/** One value as a command shows it to a person, without its title. */
const shown = (kit: typeof serverOutput | typeof clientOutput, kind: 'bytes' | 'time') => {
  const columns = [['v', 'v', kind]] as const;
  return (value: number) => kit.textOf({ record: { v: value }, columns }, true).slice(3, -1);
};

describe.each([
  ['exitward', shown(serverOutput, 'bytes')],
  ['exw', shown(clientOutput, 'bytes')],
  ['the console', bytesOfConsole],
])('bytes, as %s shows them', (_, show) => {
  test.each(bytesInWords)('%i', (count, words) => {
    expect(show(count)).toBe(words);
  });
});

describe.each([
  ['exitward', shown(serverOutput, 'time')],
  ['exw', shown(clientOutput, 'time')],
  ['exitward-agent', agentOutput.timeInWords],
])('times, as %s shows them', (_, show) => {
  test.each(timesInWords)('%i', (seconds, words) => {
    expect(show(seconds)).toBe(words);
  });
});

describe.each([
  ['exitward', serverOutput.textOf],
  ['exw', clientOutput.textOf],
  [
    'exitward-agent',
    ({ record }: { record: Record<string, string> }, forPeople: boolean) =>
      agentOutput.textOf(Object.entries(record), forPeople),
  ],
] as const)('records, as %s shows them', (_, textOf) => {
  test.each(records)('$record', ({ record, people, pipe }) => {
    const columns = Object.keys(record).map((name) => [name, name] as const);
    expect(textOf({ record, columns }, true)).toBe(people);
    expect(textOf({ record, columns }, false)).toBe(pipe);
  });
});

describe.each([
  ['exitward', serverOutput.print],
  ['exw', clientOutput.print],
  ['exitward-agent', agentOutput.print],
] as const)('what %s prints', (_, print) => {
  afterEach(() => vi.restoreAllMocks());

  test('is JSON on standard output with --json; a sentence for people is on standard error', () => {
    const said = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      vi.spyOn(process[stream], 'write').mockImplementation((text) => {
        said[stream] += text;
        return true;
      });
    }
    // Text of others does not steer the terminal here, either, nor pass for another line; a list has lines.
    const value = { a: [1], [hostileText]: hostileText };
    print({ value, parts: [], lines: [], sentence: `${hostileText}\n- so` }, true);
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
    print({ value: text, parts: [{ text }], text }, false);
    process.stdout.isTTY = before;
    expect(said).toBe(isTerminal ? `a\\x09b\n${hostileTextShown.replace('\\x0a', '\n')}\n` : text);
  });
});

test.each([
  ['exitward', serverOutput.textOf],
  ['exw', clientOutput.textOf],
])(
  'lists of %s: a header in capitals for people, none for pipes; cells are escaped',
  (_, textOf) => {
    const columns = [
      ['name', 'name'],
      ['words', 'words', 'list'],
      ['on', 'on'],
      ['size', 'size', 'bytes'],
    ] as const;
    const rows = [
      { name: 'a', words: ['x\x1b', 'y'], on: true, size: 999_999 },
      { name: 'longer', words: [], on: false, size: null },
    ];
    expect(textOf({ rows, columns }, true)).toBe(
      'NAME    WORDS    ON   SIZE\na       x\\x1b,y  yes  1 MB\nlonger  -        no   -\n',
    );
    expect(textOf({ rows, columns }, false)).toBe('a\tx\\x1b,y\tyes\t999999\nlonger\t\tno\t\n');
    expect([textOf({ rows: [], columns }, true), textOf({ rows: [], columns }, false)]).toEqual([
      'none\n',
      '',
    ]);
  },
);

describe.each([
  ['exitward', serverOutput.textOf],
  ['exw', clientOutput.textOf],
])('a list of %s on a narrow terminal', (_, textOf) => {
  const columns = [
    ['name', 'name'],
    ['city', 'city'],
    ['status', 'status', 'state'],
    ['country', 'country'],
  ] as const;
  const rows = [{ name: 'fra1', city: 'Frankfurt', status: 'crit', country: 'DE' }];
  const at = (width: number) => textOf({ rows, columns }, true, width);

  test('is as wide as it, and names the columns that it leaves out: the state is the last to go', () => {
    expect(at(32)).toBe('NAME  CITY       STATUS  COUNTRY\nfra1  Frankfurt  crit    DE\n');
    expect(at(31)).toBe(
      'NAME  CITY       STATUS\nfra1  Frankfurt  crit\n--wide shows also: COUNTRY\n',
    );
    expect(at(20)).toBe('NAME  STATUS\nfra1  crit\n--wide shows also: CITY, COUNTRY\n');
    expect(at(5)).toBe('NAME\nfra1\n--wide shows also: CITY, STATUS, COUNTRY\n');
  });

  test('has its only column cut', () => {
    const one = {
      rows: [{ name: 'a long name of a server' }],
      columns: [['name', 'name']] as const,
    };
    expect(textOf(one, true, 12)).toBe('NAME\na long name…\n');
    expect(textOf(one, false, 12)).toBe('a long name of a server\n');
  });
});

test('help is broken below its column, and below the flag that leaves no room', () => {
  expect(wrapped('one two three four\n\n  --a  one two three', 13)).toBe(
    'one two three\nfour\n\n  --a  one\n       two\n       three',
  );
  expect(wrapped('  --a-long-flag  one two', 16)).toBe('  --a-long-flag\n      one two');
});

test('each example of exw is understood as the command that shows it, every flag as an option', () => {
  for (const { name, examples = [] } of commands) {
    for (const example of examples) {
      const words = example.split(' ').slice(1);
      const found = findCommand(commands, words);
      if (!found) throw new Error(example);
      const { options } = parse(found.command, found.rest)?.given ?? {};
      const end = words.indexOf('--');
      const flags = (end < 0 ? words : words.slice(0, end)).flatMap((word) =>
        word.startsWith('--') ? [word.slice(2).replace(/=.*/, '')] : [],
      );
      const given = Object.entries(options ?? {}).flatMap(([option, value]) =>
        value === undefined || value === false ? [] : [option],
      );
      expect([found.command.name, given], example).toEqual([name, expect.arrayContaining(flags)]);
    }
  }
});

describe.each([
  ['exitward', serverValues.timeFrom],
  ['exw', clientValues.timeFrom],
])('times, as %s reads them', (_, timeFrom) => {
  test.each(times)('%s', (text, iso) => {
    expect(new Date(timeFrom(text, moment) * 1000).toISOString()).toBe(iso);
  });

  test.each(wrongTimes)('%j is none', (text) => {
    expect(() => timeFrom(text, moment)).toThrow(
      `${JSON.stringify(text)} is no time; expected +8h, +30d, 2027-01-31, 2027-01-31T12:00Z or epoch seconds`,
    );
  });
});

describe.each([
  ['exitward and exitward-agent', canonicalAddress],
  ['exw', clientValues.canonicalAddress],
])('addresses, as %s reads them', (_, canonicalAddress) => {
  test.each(addresses)('%s', (text, canonical) => {
    expect(canonicalAddress(text)).toBe(canonical);
    expect(clientValues.address(text)).toBe(text);
  });

  test.each(wrongAddresses)('%j is none', (text) => {
    expect(canonicalAddress(text)).toBeUndefined();
    expect(() => clientValues.address(text)).toThrow('is no IP address');
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

const bins: Record<Program, string> = {
  exitward: fileURLToPath(new URL('../server/bin/exitward.js', import.meta.url)),
  'exitward-agent': fileURLToPath(new URL('../agent/bin/exitward-agent.js', import.meta.url)),
  exw: fileURLToPath(new URL('../client/bin/exw.js', import.meta.url)),
};

describe.each(programs)('%s as a process', (program) => {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-kits-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const host = new CommandHost(bins[program]);
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

  test.each(misunderstood)('$name is not understood: 2', async ({ args, says }) => {
    expect(await run(...args[program])).toEqual({
      code: 2,
      stdout: '',
      stderr: faultOf(program, says[program]),
    });
  });

  test.each([
    ['nothing', { exitward: [], 'exitward-agent': [], exw: [] }],
    ['a noun', { exitward: ['account'], 'exitward-agent': ['guard'], exw: ['authlist'] }],
  ])('%s alone is answered with the help, on standard error: 2', async (_, args) => {
    const { code, stdout, stderr } = await run(...args[program]);
    expect([code, stdout], stderr).toEqual([2, '']);
    expect(stderr).toMatch(new RegExp(`^Usage: ${program} (.|\n)*\n\n[A-Z][\\w ]+:\n {2}\\w`));
  });

  test('what fails is told in a sentence on standard error: 1', async () => {
    const { code, stdout, stderr } = await run(program === 'exw' ? 'whoami' : 'status', '--json');
    expect([code, stdout], stderr).toEqual([1, '']);
    expect(stderr).toMatch(new RegExp(`^${program}: [^\n]+\n$`));
  });

  test('the message of a hostile server is one line, and does not steer the terminal', async () => {
    const hostile = createServer((_, response) => {
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ message: hostileText, code: 'forbidden' }));
    }).listen(0, '127.0.0.1');
    await once(hostile, 'listening');
    const url = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`;
    const args = {
      exitward: ['status'],
      'exitward-agent': ['join', url, 'code'],
      exw: ['whoami', '--url', url],
    };
    const { code, stdout, stderr } = await runWith(
      { EXITWARD_ADMIN_URL: url },
      ...args[program],
    ).finally(() => hostile.close());
    expect([code, stdout, stderr]).toEqual([1, '', `${program}: ${hostileTextShown}\n`]);
  });

  test('help has the same layout, and is no fault: 0', async () => {
    const all = await run('--help');
    expect([all.code, all.stderr]).toEqual([0, '']);
    expect(all.stdout).toMatch(new RegExp(`^Usage: ${program} (.|\n)*\n\n[A-Z][\\w ]+:\n {2}\\w`));
    const args = { exitward: ['account', 'show'], 'exitward-agent': ['join'], exw: ['dns', 'add'] };
    const one = await run(...args[program], '--help');
    expect([one.code, one.stderr]).toEqual([0, '']);
    const words = args[program].join(' ');
    expect(one.stdout).toMatch(new RegExp(`^Usage: ${program} ${words} \\[options\\] <\\w+>`));
    expect(one.stdout).toMatch(/\n\nOptions:\n/);
    expect(one.stdout).toMatch(/\n {2}-h, --help +display help for command\n/);
    const after = one.stdout.slice(one.stdout.indexOf('Options:\n'));
    const columns = after.match(/^ {2}-.*? {2,}(?=\w)/gm) ?? [];
    expect(new Set(columns.map((text) => text.length)).size).toBe(1);
  });

  test.each(['-V', '--version'])('%s prints the version alone', async (option) => {
    const { code, stdout } = await run(option);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  });
});
