// The house rules as tests. Each rule names the file and line that breaks it, and is shown a bad sample that it must refuse.
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, posix } from 'node:path';
import { describe, expect, test } from 'vitest';

interface File {
  /** From the root of the repository, with slashes. */
  path: string;
  text: string;
}

interface Rule {
  name: string;
  /** Every breach as `path:line: what is wrong`. */
  check(files: File[]): string[];
  /** Files that break the rule: each must be refused on its own, with the others present. */
  bad: File[];
  /** Files that must be there, or that must pass. */
  good?: File[];
}

// ---- What the rules are about -------------------------------------------------------------

/** The rooms of the server: one may know those before it. */
const rooms = [
  'operators',
  'usage',
  'accounts',
  'servers',
  'users',
  'signin',
  'authlist',
  'overrides',
  'nodes',
];
/** Where a process begins: these may import anything, and only one another may import them. */
const programs = /^(main\.ts|process\.ts|cli\/.*)$/;
/** What puts the rooms together; everything else beside the rooms knows none of them. */
const assembly = ['app.ts', 'jobs.ts', 'network.ts'];
/** The HTTP side of a room: its paths and their fields. Only the app knows it, and only it knows HTTP. */
const httpFiles = /^(routes|admin|console|fields)(_\w+)?\.ts$/;
/** Who is calling is asked of these. */
const httpMayImport = ['accounts/accounts.ts', 'operators/operators.ts', 'signin/signin.ts'];
const httpPackages = /^(fastify|@fastify\/.*|fastify-.*)$/;

/** The agent's engines: they know the agent, not each other, and only these know them. */
const engines = ['squid', 'embedded'];
const knowEngines = ['main.ts', 'firewall.ts'];
/** The process that a file of the Squid engine runs in; files beside these folders are shared by both. */
const squidProcesses = { agent: /^squid\/(agent|conf)\//, decider: /^squid\/decider\// };

const readsEnvironment = ['server/src/config.ts', 'agent/src/config.ts'];
const readsClock = ['server/src/clock.ts', 'agent/src/clock.ts', 'console/src/now.ts'];
/** The browser's ways to a server. */
const reachesServer = ['console/src/api.ts', 'console/src/live.ts'];
/** How long something took is no point in time. */
const measuresTime =
  /^(server\/src\/(http\/.*|metrics\.ts)|agent\/src\/.*|console\/src\/live\.ts)$/;

const emptyNames = ['util', 'utils', 'helper', 'helpers', 'common', 'types'];
const longest = 400;
/** Generated, or data. */
const mayBeLong = [
  'package-lock.json',
  'docs/openapi.json',
  'demo/network.json',
  'console/src/openapi.ts',
];
const isTest = (path: string) => /\.(test|e2e)\.ts$/.test(path) || /(^|\/)test\//.test(path);

// ---- Reading ------------------------------------------------------------------------------

const root = join(import.meta.dirname, '..');
const textual = /(\.(ts|tsx|js|mjs|json|md|sql|css|html|csv|sh)|\.ci\/run)$/;

/** Every file of the project that a person reads; what .gitignore names is not part of it. */
function readProject(): File[] {
  const ignored = readFileSync(join(root, '.gitignore'), 'utf8')
    .split('\n')
    .filter((line) => line.endsWith('/'))
    .map((line) => line.slice(0, -1));
  const isIgnored = (path: string) =>
    ignored.some((name) => name === path || (!name.includes('/') && name === basename(path)));
  return globSync(['**/*', '.ci/*'], { cwd: root, exclude: isIgnored })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => textual.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** Each line of a file that the pattern finds, as `path:line: what`. */
function findLines(file: File, pattern: RegExp, what: string): string[] {
  return file.text
    .split('\n')
    .flatMap((line, index) => (pattern.test(line) ? [`${file.path}:${index + 1}: ${what}`] : []));
}

/** The sources of what is published. */
const inPrograms = (files: File[]) =>
  files.filter(({ path }) => /^(server|agent)\/src\/.*\.ts$/.test(path));

/** The console's sources, which run in a browser. */
const inConsole = (files: File[]) =>
  files.filter(({ path }) => /^console\/src\/.*\.tsx?$/.test(path));

interface Import {
  program: 'server' | 'agent';
  /** From the program's src. */
  file: string;
  line: number;
  /** A package, or a path from the program's src. */
  target: string;
  isOurs: boolean;
}

/** What a source file imports, in any of the ways to write it. */
function findImports({ path, text }: File): Import[] {
  const program = path.startsWith('agent/') ? 'agent' : 'server';
  const file = path.slice(`${program}/src/`.length);
  const written = /(?:\bfrom\s*|\bimport\s*\(?\s*)(['"])([^'"\n]+)\1/g;
  return [...text.matchAll(written)].map((match) => {
    const name = match[2] ?? '';
    const isOurs = name.startsWith('.');
    return {
      program,
      file,
      line: text.slice(0, match.index).split('\n').length,
      target: isOurs ? posix.join(dirname(file), name) : name,
      isOurs,
    };
  });
}

// ---- Imports point one way ----------------------------------------------------------------

const roomOf = (path: string) => rooms.find((room) => path.startsWith(`${room}/`));
const isHttp = (path: string) =>
  path.startsWith('http/') || (roomOf(path) !== undefined && httpFiles.test(basename(path)));

/** What is wrong with this import, if anything. */
function judgeImport(one: Import): string | undefined {
  if (one.isOurs ? one.target.startsWith('../') : /^@?exitward\b/.test(one.target)) {
    return 'server and agent know nothing of each other, nor of what is not shipped with them';
  }
  return one.program === 'agent' ? judgeAgentImport(one) : judgeServerImport(one);
}

const engineOf = (path: string) => engines.find((engine) => path.startsWith(`${engine}/`));

function judgeAgentImport({ file, target }: Import): string | undefined {
  const [from, to] = [engineOf(file), engineOf(target)];
  if (from === 'squid' && to === 'squid') {
    for (const folders of Object.values(squidProcesses)) {
      if (folders.test(target) && !folders.test(file)) return 'it runs in another process';
    }
  }
  if (!to || from === to || knowEngines.includes(file)) return undefined;
  return from ? 'engines know nothing of each other' : 'only what starts the engines knows them';
}

function judgeServerImport({ file, target, isOurs }: Import): string | undefined {
  const [from, to] = [roomOf(file), roomOf(target)];
  if (!isOurs) {
    if (from && !isHttp(file) && httpPackages.test(target)) return 'rules and SQL know no HTTP';
    return undefined;
  }
  const isTop = programs.test(file);
  if (programs.test(target) && !isTop) return 'nothing imports the program that it is in';
  if (/^(app|jobs)\.ts$/.test(target) && !isTop) return 'only main imports the app and the jobs';
  if (from && !isHttp(file) && target.startsWith('http/')) return 'rules and SQL know no HTTP';
  if (!to) {
    const knowsHttp = isTop || from || isHttp(file) || [...assembly, 'context.ts'].includes(file);
    if (target.startsWith('http/') && !knowsHttp) return 'what lies below HTTP does not know it';
    return undefined;
  }
  if (from === to) {
    if (isHttp(target) && !isHttp(file)) return 'only the app imports routes';
    if (basename(file) === 'store.ts' && target === `${to}/${to}.ts`) return 'SQL knows no rules';
    if (isHttp(file) && basename(target) === 'store.ts')
      return 'routes reach SQL through the rules';
    return undefined;
  }
  if (isHttp(target)) return file === 'app.ts' ? undefined : 'only the app imports routes';
  if (target !== `${to}/${to}.ts`) return `a room is known by ${to}/${to}.ts alone`;
  if (from) {
    if (basename(file) === 'store.ts') return 'SQL knows no other room';
    return rooms.indexOf(to) < rooms.indexOf(from) ? undefined : `${from} comes before ${to}`;
  }
  if (isTop || assembly.includes(file)) return undefined;
  if (file.startsWith('http/') && httpMayImport.includes(target)) return undefined;
  return 'this knows no room';
}

// ---- The rules ----------------------------------------------------------------------------

/** A sample file of the server, or of the agent. */
const source = (path: string, ...lines: string[]): File => ({
  path: `server/src/${path}`,
  text: ['// A sample.', ...lines].join('\n'),
});
const agentSource = (path: string, ...lines: string[]): File => ({
  ...source(path, ...lines),
  path: `agent/src/${path}`,
});
// Written in two pieces, so that this file does not break its own rules.
const dotSkip = `${'test'}.${'skip'}('later', () => {});`;
const lockAddress = `"resolved": "${'https'}://registry.example/a.tgz"`;

const rules: Rule[] = [
  {
    name: 'imports point one way',
    check: (files) =>
      inPrograms(files)
        .flatMap(findImports)
        .flatMap((one) => {
          const fault = judgeImport(one);
          return fault
            ? [`${one.program}/src/${one.file}:${one.line}: imports ${one.target}: ${fault}`]
            : [];
        }),
    bad: [
      source('app.ts', "import { main } from './main.ts';"),
      source('users/routes.ts', "import { app } from '../app.ts';"),
      source('usage/usage.ts', "import { find } from '../accounts/accounts.ts';"),
      source('users/users.ts', "import type { A } from '../authlist/authlist.ts';"),
      source('users/users.ts', "import * as store from '../accounts/store.ts';"),
      source('users/users.ts', "import { present } from './routes.ts';"),
      source('users/users.ts', "import { text } from '../http/fields.ts';"),
      source('users/users.ts', "import type { FastifyRequest } from 'fastify';"),
      source('users/routes.ts', "import * as store from './store.ts';"),
      source('users/store.ts', "import { text } from '../http/fields.ts';"),
      source('users/store.ts', "import { rule } from './users.ts';"),
      source('users/store.ts', "import { find } from '../accounts/accounts.ts';"),
      source('db/database.ts', 'export {', '  find,', "} from '../users/users.ts';"),
      source('db/sqlite.ts', "const late = await import('../http/fields.ts');"),
      source('clock.ts', "import './usage/usage.ts';"),
      source('http/caching.ts', "import { find } from '../users/users.ts';"),
      source('app.ts', "import { decide } from '../../agent/src/policy/decide.ts';"),
      source('db/sqlite.ts', "import { url } from '../../test/databases.ts';"),
      agentSource('link.ts', "import type { Node } from '../../server/src/nodes/nodes.ts';"),
      agentSource('squid/conf.ts', "import { find } from '../../../server/src/address.ts';"),
      agentSource('link.ts', "import { serve } from 'exitward';"),
      agentSource('squid/conf.ts', "import { tunnel } from '../embedded/tunnel.ts';"),
      agentSource('embedded/dial.ts', "import { sockets } from '../squid/sockets.ts';"),
      agentSource('link.ts', "const { start } = await import('./squid/engine.ts');"),
      agentSource('squid/decider/main.ts', "import { Fleet } from '../agent/fleet.ts';"),
      agentSource('squid/agent/fleet.ts', "import { connections } from '../decider/main.ts';"),
      agentSource('squid/sockets.ts', "import { Fleet } from './agent/fleet.ts';"),
    ],
    good: [
      source('main.ts', "import { app } from './app.ts';"),
      source('app.ts', "import { routes } from './users/routes.ts';"),
      source('jobs.ts', "import { purge } from './authlist/authlist.ts';"),
      source('http/auth.ts', "import { find } from '../accounts/accounts.ts';"),
      source('users/routes.ts', "import Fastify from 'fastify';"),
      source('users/users.ts', "import { find } from '../accounts/accounts.ts';"),
      source('users/users.ts', "import * as store from './store.ts';"),
      source('users/admin_tokens.ts', "import { present } from './admin.ts';"),
      agentSource('squid/conf.ts', "import { decide } from '../decide.ts';"),
      agentSource('squid/agent/engine.ts', "import { conf } from '../conf/squid_conf.ts';"),
      agentSource('squid/decider/main.ts', "import { sockets } from '../sockets.ts';"),
      agentSource('main.ts', "const { start } = await import('./embedded/engine.ts');"),
    ],
  },
  {
    name: 'the client library imports nothing but its own files',
    check: (files) =>
      files
        .filter(({ path }) => /^client\/src\/\w+\.ts$/.test(path))
        .flatMap((file) =>
          findLines(
            file,
            /(?:\bfrom\s*|\bimport\s*\(?\s*)(['"])(?!\.\/\w+\.ts\1)/,
            'the library is of one piece',
          ),
        ),
    bad: [
      { path: 'client/src/users.ts', text: "import { isIP } from 'node:net';" },
      { path: 'client/src/users.ts', text: "import type { A } from '../../server/src/app.ts';" },
      { path: 'client/src/users.ts', text: "const late = await import('./cli/main.ts');" },
    ],
    good: [
      { path: 'client/src/users.ts', text: "import { listing } from './records.ts';" },
      { path: 'client/src/cli/main.ts', text: "import { argv } from 'node:process';" },
    ],
  },
  {
    name: 'the console imports its own files, and its parts know neither places nor requests',
    check: (files) =>
      inConsole(files).flatMap((file) =>
        [...file.text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)(['"])([^'"\n]+)\1/g)].flatMap(
          ({ index, 2: name = '' }) => {
            const isPart = file.path.startsWith('console/src/ui/');
            const target = name.startsWith('.') ? posix.join(dirname(file.path), name) : '';
            const line = `${file.path}:${file.text.slice(0, index).split('\n').length}`;
            if (target && !target.startsWith('console/src/')) {
              return [`${line}: imports ${name}: the console is of one piece`];
            }
            const knowsMore = target
              ? !/^console\/src\/(ui\/|style\/.*\.css$)/.test(target)
              : !/^(preact|@preact)\b/.test(name);
            return isPart && knowsMore
              ? [`${line}: imports ${name}: a part knows parts alone`]
              : [];
          },
        ),
      ),
    bad: [
      { path: 'console/src/api.ts', text: "import { find } from '../../server/src/address.ts';" },
      { path: 'console/src/ui/card.tsx', text: "import { call } from '../api.ts';" },
      { path: 'console/src/ui/card.tsx', text: "import { Link } from 'wouter-preact';" },
    ],
    good: [
      { path: 'console/src/pages/dns.tsx', text: "import { call } from '../api.ts';" },
      { path: 'console/src/ui/card.tsx', text: "import { Icon } from './icon.tsx';" },
    ],
  },
  {
    name: 'the console reaches the server in one place',
    check: (files) =>
      inConsole(files)
        .filter(({ path }) => !reachesServer.includes(path))
        .flatMap((file) =>
          findLines(
            file,
            /\bfetch\(|\b(XMLHttpRequest|EventSource|WebSocket|sendBeacon)\b/,
            'requests go through api.ts',
          ),
        ),
    bad: [{ path: 'console/src/pages/dns.tsx', text: "await fetch('/console/overrides');" }],
    good: [{ path: 'console/src/api.ts', text: "await fetch('/console');" }],
  },
  {
    name: 'the environment is read in one place',
    check: (files) =>
      inPrograms(files)
        .filter(({ path }) => !readsEnvironment.includes(path))
        .flatMap((file) => findLines(file, /\bprocess\.env\b/, 'reads the environment')),
    bad: [
      source('jobs.ts', 'const { HOME } = process.env;'),
      agentSource('squid/conf.ts', 'const { HOME } = process.env;'),
    ],
    good: [agentSource('config.ts', 'const { HOME } = process.env;')],
  },
  {
    name: 'the clock is read in one place',
    check: (files) =>
      [...inPrograms(files), ...inConsole(files)]
        .filter(({ path }) => !readsClock.includes(path))
        .flatMap((file) => {
          const moment =
            /\bDate\.now\b|\bnew Date(\(\s*\)|(?!\s*\())|\bhrtime\b|\bprocess\.uptime\b/;
          return [
            ...findLines(file, moment, 'reads the clock'),
            ...(measuresTime.test(file.path)
              ? []
              : findLines(file, /\bperformance\.now\b/, 'reads the clock')),
          ];
        }),
    bad: [
      source('jobs.ts', 'const now = Date.now();'),
      source('jobs.ts', 'const today = new Date();'),
      source('http/answers.ts', 'const today = new Date( );'),
      source('usage/usage.ts', 'const start = performance.now();'),
      agentSource('link.ts', 'const now = Date.now();'),
      { path: 'console/src/live.ts', text: '// Live.\nconst now = Date.now();' },
    ],
    good: [
      agentSource('replica.ts', 'const start = performance.now();'),
      source('http/answers.ts', 'const start = performance.now();'),
      source('usage/usage.ts', 'const day = new Date(now * 1000);'),
    ],
  },
  {
    name: 'each source file opens with a sentence that says what it is for',
    check: (files) =>
      [...inPrograms(files), ...inConsole(files)]
        .filter(({ text }) => !/^(\/\/|\/\*\*?) ?\S+ \S+/.test(text))
        .map(({ path }) => `${path}:1: opens without a comment`),
    bad: [
      { path: 'server/src/jobs.ts', text: "import { app } from './app.ts';\n// Late." },
      { path: 'agent/src/link/link.ts', text: 'export const link = 1;' },
      { path: 'console/src/pages/dns.tsx', text: 'export const page = 1;' },
    ],
  },
  {
    name: 'no file or folder has a name that says nothing',
    check: (files) =>
      files.flatMap(({ path }) => {
        const empty = path.split('/').find((part) => emptyNames.includes(part.replace(/\..*/, '')));
        return empty ? [`${path}:1: ${empty} says nothing`] : [];
      }),
    bad: [source('http/utils.ts'), source('common/money.ts'), source('users/types.d.ts')],
  },
  {
    name: 'no test is left out',
    check: (files) =>
      files
        .filter(({ path }) => isTest(path))
        .flatMap((file) =>
          findLines(file, /\.(only|skip|todo|skipIf|runIf)\b\s*[.(`]/, 'leaves tests out'),
        ),
    bad: [
      { path: 'server/test/users.test.ts', text: dotSkip },
      { path: 'test/spec.test.ts', text: `\n${dotSkip.replace('skip', 'only')}` },
      { path: 'test/spec.test.ts', text: dotSkip.replace('skip', 'todo') },
    ],
  },
  {
    name: 'every setting is documented, and every documented setting exists',
    check: (files) => {
      const settings = (...paths: string[]) => {
        const lines = files
          .filter(({ path }) => paths.includes(path))
          .flatMap(({ path, text }) =>
            text.split('\n').map((line, index) => ({ line, place: `${path}:${index + 1}` })),
          );
        return new Map(
          lines
            .flatMap(({ line, place }) =>
              [...line.matchAll(/EXITWARD_[A-Z0-9_]*[A-Z0-9]/g)].map(([name]) => ({ name, place })),
            )
            .reverse()
            .map(({ name, place }) => [name, place]),
        );
      };
      const code = settings('server/src/config.ts', 'agent/src/config.ts', 'demo/node.ts');
      const docs = settings('docs/configuration.md');
      const missing = (these: Map<string, string>, those: Map<string, string>) =>
        [...these].filter(([name]) => !those.has(name));
      return [
        ...missing(code, docs).map(
          ([name, at]) => `${at}: ${name} is not in docs/configuration.md`,
        ),
        ...missing(docs, code).map(([name, at]) => `${at}: ${name} is not read by config.ts`),
      ];
    },
    bad: [
      source('config.ts', "text('EXITWARD_SECRET_WISH', '')"),
      agentSource('config.ts', "text('EXITWARD_AGENT_SECRET_WISH', '')"),
      { path: 'docs/configuration.md', text: '`EXITWARD_FORGOTTEN`' },
    ],
  },
  {
    name: `no file is longer than ${longest} lines`,
    check: (files) =>
      files
        .filter(({ path }) => !mayBeLong.includes(path) && !isTest(path))
        .filter(({ text }) => text.split('\n').length > longest + 1)
        .map(({ path }) => `${path}:${longest + 1}: too long`),
    bad: [source('jobs.ts', '\n'.repeat(longest))],
    good: [source('jobs.ts', '\n'.repeat(longest - 2))],
  },
  {
    name: 'the lock file holds no download addresses',
    check: (files) =>
      files
        .filter(({ path }) => path === 'package-lock.json')
        .flatMap((file) => findLines(file, /"resolved": "(?:http)/, 'a download address')),
    bad: [{ path: 'package-lock.json', text: `{\n${lockAddress}\n}` }],
  },
];

const project = readProject();

test('the project was found', () => {
  const paths = project.map(({ path }) => path);
  for (const one of [
    'package-lock.json',
    '.ci/run',
    'server/src/config.ts',
    'agent/src/config.ts',
    'test/tidy.test.ts',
  ]) {
    expect(paths).toContain(one);
  }
  expect(paths.filter((path) => /(^|\/)(node_modules|vendor|data)\//.test(path))).toEqual([]);
});

for (const { name, check, bad, good = [] } of rules) {
  describe(name, () => {
    test('holds in this tree', () => {
      expect(check(project)).toEqual([]);
    });

    test.each(bad)('refuses a bad sample of $path', (sample) => {
      expect(check([sample])).toEqual([expect.stringMatching(`^${sample.path}:\\d+: .`)]);
    });

    test.each(good)('accepts a good sample of $path', (sample) => {
      expect(check([sample])).toEqual([]);
    });
  });
}
