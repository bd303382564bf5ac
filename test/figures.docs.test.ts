// Sentences with figures, in SECURITY.md and docs/limits.md: each figure is the one of the program.
// A new one that is not in a table below fails.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { connectionCaps, maxAccepted } from '../agent/src/connection_caps.ts';
import { clientNetworks } from '../kit/src/client_networks.ts';
import { longestView, maxViews } from '../server/src/saved_views/saved_views.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const numbers: Record<string, number> = {
  ...Object.fromEntries(
    [
      ...['two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven'],
      ...['twelve', 'thirteen', 'fourteen', 'fifteen', 'sixteen', 'seventeen', 'eighteen'],
    ].map((word, index) => [word, index + 2]),
  ),
  twice: 2,
  half: 1 / 2,
  quarter: 1 / 4,
  eighth: 1 / 8,
  tenth: 1 / 10,
  million: 1e6,
};
const [KiB, MiB, minute, hour, day] = [1024, 1024 ** 2, 60, 3600, 86_400];
const units: Record<string, number> = {
  ...{ KiB, MiB, GiB: 1024 ** 3, KB: 1000, MB: 1e6, GB: 1e9 },
  ...{ ms: 1 / 1000, s: 1, second: 1, minute, hour, day },
};

/** Figures that are part of a name, or say no amount. "One" and "a" are articles. */
const names = [
  /`[^`]*`/g,
  /\[\d+\]\([^)]*\)|\]\([^)]*\)/g,
  /\bIPv[46]|\/(?:64|56|48)\b|\b1xx\b|HTTP\/1\.x|Debian 12|first second/g,
];
const word = `(\\d[\\d,]*(?:\\.\\d+)?(?!\\w)|\\b(?:${Object.keys(numbers).join('|')})\\b)`;
const figure = new RegExp(`${word}(?: (${Object.keys(units).join('|')})s?\\b)?`, 'gi');

/** The figures of a text, as seconds, bytes, shares or amounts. */
function figuresIn(text: string): number[] {
  const bare = names.reduce((rest, name) => rest.replaceAll(name, '·'), text);
  return [...bare.matchAll(figure)].map(([, digits = '', unit = '']) => {
    const number = numbers[digits.toLowerCase()] ?? Number(digits.replaceAll(',', ''));
    return number * (units[unit] ?? 1);
  });
}

/**
 * The number that a source file gives to a name: `const name = 16 * 1024`, `name: 5`, `name 20
 * seconds`. Milliseconds become seconds.
 */
function of(path: string, name: string): number {
  const file = read(path);
  const escaped = name.replace(/[^\w\s]/g, '\\$&');
  const value = '([\\d_.]+(?:e\\d+)?(?: (?:\\*\\*?|/|<<) [\\d_]+)*)';
  const given = new RegExp(`(?<![\\w.])${escaped}(?: =|:| \\*)? ${value}( minute| second)?`);
  const [, text, unit = ''] = given.exec(file) ?? [];
  if (text === undefined) throw new Error(`${path}: no number is given to ${name}`);
  const [first = '', ...rest] = text.replaceAll('_', '').split(' ');
  let number = Number(first);
  for (let at = 0; at < rest.length; at += 2) {
    const operand = Number(rest[at + 1]);
    if (rest[at] === '*') number *= operand;
    else if (rest[at] === '/') number /= operand;
    else if (rest[at] === '**') number **= operand;
    else number <<= operand;
  }
  return (number * (units[unit.trim()] ?? 1)) / (/m?Ms$|_ms$/.test(name) ? 1000 : 1);
}

/** The default of a setting in configuration.md: the program's, by `packaging.test.ts`. */
function setting(name: string): number {
  const [, text] =
    new RegExp(`^\\| \`EXITWARD_${name}\` *\\| \`(\\d+)\``, 'm').exec(settings) ?? [];
  if (text === undefined) throw new Error(`EXITWARD_${name} has no number as its default`);
  return Number(text);
}
const settings = read('docs/configuration.md');

const caps = connectionCaps({}, 65_536);
const ofAll = (part: number) => part / caps.all;
const [, of56 = 0, of48 = 0] = clientNetworks('2001:db8::1').map(({ share }) => share);
/** The kernel's own range of ports for outgoing connections. */
const outgoingPorts = 60_999 - 32_768 + 1;
const sharingSquid = of('agent/src/doctor/kernel.ts', 'sharingSquid');
const closedSeconds = of('agent/src/doctor/kernel.ts', 'closedSeconds');
const headBytes = of('agent/src/failures.ts', 'longestHeaderBytes');
const squidConf = 'agent/src/squid/conf/squid_conf.ts';
const engine = 'agent/src/embedded/engine.ts';
const census = 'agent/src/squid/decider/census.ts';
const link = 'agent/src/squid/agent/decider_link.ts';
const meterLog = 'agent/src/squid/agent/meter_log.ts';
const cacheLog = 'agent/src/squid/agent/cache_log.ts';
const claims = 'agent/src/squid/agent/claims.ts';
const small = 'kit/src/client_networks.ts';
const app = 'server/src/app.ts';
const descriptors = 'server/src/bounds/descriptors.ts';
const otherDescriptors = of(descriptors, 'maxOtherDescriptors');
const connections = 'server/src/http/connections.ts';
const connection = 'server/src/http/connection.ts';
const largeBodies = 'server/src/http/large_bodies.ts';
const largeBodyBytes = of('server/src/http/fields.ts', 'largeBodyLimit');
const bodyBytes = of(app, 'bodyLimit');
const downloads = 'server/src/bounds/downloads.ts';
const downloadsOfNetwork = of(downloads, 'maxPerNetwork');
const eventStreams = 'server/src/http/event_streams.ts';
const removals = 'server/src/lists/removals.ts';
const throttle = 'server/src/sign_in/throttle.ts';
const hashQueue = 'server/src/sign_in/hash_queue.ts';
const nodePace = 'server/src/api/node/pace.ts';
const reports = 'server/src/api/node/reports.ts';
const held = 'server/src/nodes/held_usage.ts';
const watches = 'server/src/nodes/watches.ts';
const endOrders = 'server/src/nodes/end_orders.ts';
const exitUses = 'server/src/nodes/exit_uses.ts';
const applied = 'server/src/nodes/applied.ts';
const group = 'server/src/db/group.ts';
const reserveShare = of('server/src/bounds/write_budget.ts', 'reserveShare');
const requestSeconds = setting('REQUEST_SECONDS');
const headersSeconds = (requestSeconds * of(app, 'headersTimeout: request_seconds')) / 1000;
const firstRequestSeconds = of(engine, 'first_request_ms');
const nextRequestSeconds = of(engine, 'next_request_ms');

/** The figures of each row of limits.md in their order, from the code. */
const limits: Record<string, readonly number[]> = {
  'uses of an exit that a node names': [
    ...[of(exitUses, 'maxUses'), of(reports, 'usesBodyLimit'), of(nodePace, "'/node/exit-uses'")],
    of(exitUses, 'maxUses'),
  ],
  'questions about exits at once': [
    ...[of(exitUses, 'maxQuestions'), of(exitUses, 'useAnswerSeconds')],
    of('agent/src/link/exit_use_questions.ts', 'maxWaiting'),
  ],
  "bytes of a node's connection log": [setting('AGENT_CONNECTION_LOG_MB') * MiB],
  'connections that have ended and are not in that log yet': [
    of('agent/src/exit_use.ts', 'maxHeld'),
    ...['writeSeconds', 'maxWaiting'].map((name) =>
      of('agent/src/connection_log/connection_log.ts', name),
    ),
  ],
  'saved views of lists in the console': [
    ...[maxViews.page, maxViews.all, longestView.name, longestView.query],
  ],
  'connections to a node with an accepted request': [caps.all, 65_536],
  '… of one account': [ofAll(caps.account)],
  '… of one user': [ofAll(caps.user)],
  '… of one address (IPv6: /64; twice as many of a /56, four times of a /48)': [
    ...[of56, of48, ofAll(caps.address)],
    ...[maxAccepted({ address: 8000 }) / 8000 - 1, maxAccepted({ address: 0 })],
  ],
  'requests that wait on one connection to a node (embedded; Squid reads one at a time)': [
    of('agent/src/embedded/connections.ts', 'maxWaiting'),
  ],
  'connections to a node without an accepted request': [
    ...[caps.waiting / (2 * caps.all + caps.waiting), caps.waiting, 65_536],
  ],
  'time until the first request on a connection to a node': [
    ...[firstRequestSeconds, of(squidConf, 'request_timeout')],
  ],
  'time until the next request on it': [nextRequestSeconds],
  'time in which nothing moves in a tunnel': [setting('AGENT_IDLE_SECONDS')],
  'the head of a request to a node': [headBytes],
  "requests to a decider that wait for the kernel's list of connections": [
    of(census, 'maxWaiting'),
  ],
  'time of a TLS handshake with a node (embedded)': [of(engine, 'handshake_ms')],
  'connections from an exit (embedded, Squid from version 6)': [sharingSquid, outgoingPorts],
  'connections from an exit (Squid 5, as in Debian 12)': [
    ...[sharingSquid - 1, outgoingPorts, Math.floor(outgoingPorts / closedSeconds)],
  ],

  'interim responses (1xx) before a response (embedded)': [
    of('agent/src/embedded/forward.ts', 'maxInterim'),
  ],
  'the head of a response': [headBytes],

  'the head of a request': [of(app, 'maxHeaderSize')],
  'the body of a request': [bodyBytes, largeBodyBytes],
  'connections in all': [
    ...[of(descriptors, 'connectionBytes') / of(descriptors, 'memoryShare')],
    of(descriptors, 'leastByMemory'),
    ...[of(descriptors, 'maxDescriptors') - otherDescriptors, otherDescriptors],
  ],
  'connections of one address (IPv6: /64; twice as many of a /56, four times of a /48)': [
    ...[of56, of48, of(connections, 'usualPerAddress')],
  ],
  'places reserved for operators on loopback, and for streams of nodes': [
    ...['operatorShare', 'maxOperatorPlaces', 'nodeShare'].map((name) => of(connections, name)),
  ],
  'time for a request, its headers, a TLS handshake': [
    ...[requestSeconds, headersSeconds, headersSeconds],
  ],
  'time to read an error answer before the connection is closed': [of(connection, 'lingerMs')],
  'requests that wait on one connection': [
    ...[of(connection, 'maxWaiting'), of(connection, 'maxWaitingInAll')],
  ],
  'downloads of agent packages': [
    ...[of(downloads, 'maxDownloads'), of(downloads, 'maxShare')],
    ...[1, of56, of48].map((share) => share * downloadsOfNetwork),
    of(downloads, 'minBytesPerSecond'),
  ],
  'connections to a listener for ACME or metrics alone, also of a node': [
    ...[of(small, 'maxConnections'), of(small, 'maxPerNetwork'), of(small, 'requestMs')],
  ],
  'time without reading any of a response': [
    ...[setting('UNREAD_SECONDS'), of(largeBodies, 'sliceBytes')],
  ],
  'bytes of large responses while they are read': [setting('UNREAD_BYTES')],
  'bytes of large responses written in one turn of the event loop': [
    ...[of(largeBodies, 'slicesInATurn'), of(largeBodies, 'sliceBytes')],
  ],

  'requests that wait for nodes (`Prefer: wait`)': [
    ...[of(applied, 'maxWaitingOfAccount'), of(applied, 'maxWaiting')],
    of('server/src/api/account/responses.ts', 'maxWaitSeconds'),
  ],
  'entries of the authlist': [setting('MAX_AUTHLIST_ENTRIES')],
  'custom DNS entries': [setting('MAX_OVERRIDES')],
  'answers "already on the authlist"': [setting('CONFLICTS_PER_HOUR')],
  'waiting writes': [of(group, 'longestGroup_seconds'), of(group, 'largestGroup')],
  'entries restored by undo': [setting('RESTORED_ENTRIES_PER_HOUR')],
  'claims of other accounts that an undo reveals': [setting('CONFLICTS_PER_HOUR')],
  'servers added to the contract': [setting('SERVER_ADDITIONS_PER_HOUR')],
  'waiting long lists and reports': [of('server/src/api/long_reads.ts', 'maxWaitingOfAccount')],
  'running long lists and reports': [
    ...[
      of('server/src/db/slices.ts', 'slice'),
      hour * of('server/src/usage/store.ts', 'bucketsOfSlice'),
    ],
  ],
  'records in one event of the change stream': [of('server/src/nodes/records.ts', 'piece')],
  'unverified addresses on the authlist': [setting('MAX_AUTHLIST_ENTRIES')],
  'addresses that an account calls from, in memory until they are checked': [
    of('server/src/observed/callers.ts', 'maxAddressesOfAccount'),
    of('server/src/jobs.ts', 'callersSeconds'),
  ],
  'limits of a user: servers; source addresses at once; the time for which an address counts': [
    of('server/src/users/limits.ts', 'maxServers'),
    of('server/src/users/limits.ts', 'maxAddresses'),
    of('server/src/users/limits.ts', 'maxAddressSeconds'),
  ],
  'users, inactive ones included': [setting('MAX_USERS')],
  'API tokens': [setting('MAX_API_TOKENS')],
  'changes on a day (UTC), through `/v0` and in the console; so also the log of changes (7 days)': [
    ...[setting('CHANGES_KEPT_SECONDS'), setting('WRITES_PER_DAY')],
    ...[reserveShare, reserveShare, reserveShare, reserveShare],
  ],
  'responses kept for idempotency keys (24 hours)': [
    of('server/src/changes/stored_responses.ts', 'keptSeconds'),
    setting('IDEMPOTENCY_KEYS_PER_DAY'),
  ],
  'records of the audit log (400 days)': [
    ...[setting('AUDIT_KEPT_SECONDS'), setting('AUDIT_RECORDS_PER_ACCOUNT')],
    of('server/src/jobs.ts', 'auditBoundSeconds'),
  ],
  'removals that can be undone': [of(removals, 'maxUndoable'), of(removals, 'keptSeconds')],
  'batches of a list, after removals and undos in turn': [
    ...[of(removals, 'maxBatches'), of(removals, 'maxBatches')],
  ],
  'entries of a removal whose addresses other accounts have listed since': [
    of(removals, 'maxKept'),
  ],

  'live pages': ['maxPerOwner', 'maxPerAccount', 'maxStreamsInAll'].map((name) =>
    of(eventStreams, name),
  ),
  'unread bytes of a live page': [of(eventStreams, 'maxUnreadBytes')],
  'filters by which somebody watches the open connections': [
    ...['person', 'operators', 'all', 'leaseSeconds'].map((name) => of(watches, name)),
  ],
  'orders to end connections': [
    ...['user', 'users', 'admins', 'operator', 'shared', 'orderSeconds'].map((name) =>
      of(endOrders, name),
    ),
  ],
  'attempts to sign in': ['Name', 'Address', 'Site', 'Name']
    .map((whose) => of(throttle, `freeOf${whose}`))
    .concat(of(throttle, 'longestWaitSeconds')),
  'passwords that wait to be checked': [
    ...['maxAtWork', 'maxWaiting', 'maxWaiting', 'maxWaitingOfPrefix'],
  ].map((name) => of(hashQueue, name)),
  'remembered turns of addresses and accounts': [of(hashQueue, 'maxRemembered')],
  sessions: [of('server/src/sign_in/sessions.ts', 'maxPerUser')],

  'snapshots that a node reads at once': [of('server/src/nodes/snapshot.ts', 'maxRunning')],
  'snapshot records written in one turn of the event loop': [
    of('server/src/nodes/snapshot.ts', 'recordsInATurn'),
  ],
  'streams of changes that a node opens': [
    of('server/src/nodes/open_streams.ts', 'maxStreamsPerNode'),
  ],
  'unread bytes of a stream of a node': [
    of('server/src/nodes/node_stream.ts', 'maxUnreadBytes'),
    of('server/src/nodes/backpressure.ts', 'maxStalledSeconds'),
  ],
  'size of `cache.log`': [of(cacheLog, 'maxBytes')],
  'last lines of a Squid that are reported': [
    ...[of(cacheLog, 'maxWordsLength'), of(cacheLog, 'endBytes')],
  ],
  'last uses that a decider reports to the agent': [
    of('agent/src/policy/last_used.ts', 'defaultMaxEntries'),
    ...[of(link, 'maxRoundsOfUses'), of(link, 'maxUsesAtOnce')],
  ],
  "bytes that lines of Squid's log claim": [of(claims, 'windowSeconds')],
  "lines of Squid's log": [of(claims, 'minChargeBytes'), of(meterLog, 'maxUnreadBytes')],
  "a line of Squid's log without an end": [of(meterLog, 'longestLineBytes')],
  "connections to the agent's socket for deciders": [of(link, 'deciders')],
  'a message on it; messages in a second; unrequested messages in a second': [
    ...['message_bytes', 'bytes_a_second', 'messages_a_second'].map((name) => of(link, name)),
  ],
  'unread bytes there, except changes that are not on a disk yet': [of(link, 'unread_bytes')],
  'time until a decider answers': [of(link, 'responseMs')],
  'held usage of a node': [of(held, 'maxBatches'), of(held, 'maxRows')],
  'reports of a node': [
    ...['usage', 'last-used', 'faults', 'refusals', 'acks'].map((path) =>
      of(nodePace, `'/node/${path}'`),
    ),
    ...[1 / of(nodePace, 'back'), of(nodePace, 'bytesOfReport'), of(nodePace, 'maxLong')],
  ],
  'size of a report': [
    ...[of('server/src/nodes/usage_reports.ts', 'maxRowsOfBatch'), largeBodyBytes],
    ...[...itemsOf('NewLastUsed', 'uses'), largeBodyBytes],
    ...[...itemsOf('HealthReport', 'exit_ips'), ...itemsOf('HealthReport', 'vpn')],
    of(reports, 'healthBodyLimit'),
    ...[...itemsOf('FaultReport', 'faults'), of(reports, `'A sentence for people.',`)],
    ...[...itemsOf('NewRefusals', 'refusals'), of(reports, 'refusalsBodyLimit')],
    ...[of(reports, `'What the client would be answered.',`), bodyBytes],
  ],
  'open connections that a node reports': [
    ...[of(watches, 'maxGroupsOfNode'), of(reports, 'connectionsBodyLimit')],
    of(nodePace, "'/node/connections'"),
  ],
  'orders to end connections that a node takes': [of(nodePace, "'/node/end-orders'")],
  'orders that wait in a node': [
    ...['maxWaiting', 'maxTakingSeconds'].map((name) => of('agent/src/link/end_orders.ts', name)),
  ],
  'watches that a node answers': [
    ...['maxWatches', 'longestLeaseSeconds'].map((name) => of('agent/src/link/watches.ts', name)),
  ],
  'users with limits, their connections and addresses, that a node reports': [
    ...[
      of('server/src/nodes/holdings.ts', 'maxHoldingsOfReport'),
      of(reports, 'holdingsBodyLimit'),
    ],
    ...[of('server/src/nodes/holdings.ts', 'maxNetworksOfUser'), of(nodePace, "'/node/holdings'")],
  ],
  'users with limits whom a decider reports to the agent': [
    of('agent/src/squid/agent/decider_link.ts', 'maxHoldings'),
    of('agent/src/user_counts.ts', 'maxNetworksOfUser'),
  ],
  'connections, or addresses, by which a user passes a limit': [
    of('agent/src/link/holdings_reporter.ts', 'rememberedSeconds'),
    ...['longestSeconds', 'settledSeconds'].map((name) => of('test/simulation/limits.ts', name)),
    of('agent/src/user_counts.ts', 'leaseSeconds'),
  ],
  'reasons for rejected connections that a node reports': [
    // The words of the list, and "other".
    (read('server/src/nodes/rejection_reasons.ts').match(/'\w+'/g)?.length ?? 0) - 1,
  ],
  'ports that a client of the VPN has at its exit, while connections are logged': [
    ...['portsInBlock', 'portBlocks'].map((name) => of('agent/src/vpn/port_blocks.ts', name)),
  ],
  'refusals that a node holds until they are reported': [
    ...['all', 'unnamed', 'account', 'guesses'].map((name) =>
      of('agent/src/policy/refusals.ts', name),
    ),
  ],
  'refusals that a decider sends to the agent': [
    of('agent/src/squid/decider/main.ts', 'maxRefusalsAtOnce'),
  ],
  'refusals that are stored': [
    ...['node', 'unnamed', 'account', 'guesses'].map((name) =>
      of('server/src/nodes/refusals.ts', name),
    ),
  ],
  'addresses that left an authlist, by which refusals concern the account': [
    of('server/src/authlist/past_store.ts', 'maxPast'),
  ],
  'usage journals that a node names': [of('server/src/usage/store.ts', 'maxJournalsOfNode')],
};

/** The bounds on the items of a field in the API document, and of what it consists of. */
function itemsOf(name: string, field: string): number[] {
  const { schemas } = JSON.parse(read('docs/openapi.json')).components;
  const text = JSON.stringify(schemas[name].properties[field]);
  return [...text.matchAll(/"maxItems":(\d+)/g)].map(([, digits]) => Number(digits));
}

/** The cells of each row of a table, without the heads. */
function rowsOf(text: string): string[][] {
  return [...text.matchAll(/^\| (.*) \|$/gm)]
    .map(([, cells = '']) => cells.split(' | ').map((cell) => cell.trim()))
    .filter(([first = '']) => !/^(---|what others choose$|limit$)/.test(first));
}
/** A status, with the word for programs that may follow it. */
const status = /\b([45]\d\d)\b(?: `(\w+)`)?/g;
const limitsText = read('docs/limits.md');
const rows = rowsOf(limitsText).map(([what = '', , limit = '', , beyond = '']) => ({
  what,
  figures: figuresIn(`${what} | ${limit} | ${beyond.replaceAll(status, '')}`),
  statuses: [...beyond.matchAll(status)].map(([, digits = '', code = digits]) => [digits, code]),
}));

test.each(rows.filter(({ figures }) => figures.length > 0))(
  'docs/limits.md: the figures of "$what" are those of the program',
  ({ what, figures }) => {
    expect(figures).toEqual(limits[what] ?? 'a row in the table of this test');
  },
);

test('each row that this test knows is one of docs/limits.md', () => {
  const named = new Set(rows.map(({ what }) => what));
  expect(Object.keys(limits).filter((what) => !named.has(what))).toEqual([]);
  expect(named.size).toBe(rows.length);
});

/** The test files of each limit, as how-it-is-tested.md names them. */
const tested = new Map(
  rowsOf(sectionOf(read('docs/how-it-is-tested.md'), 'The limits')).map(
    ([what = '', files = '']) => [what, files],
  ),
);
function sectionOf(text: string, title: string): string {
  return text.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
}

test('how-it-is-tested.md names a test for each limit, in the same order', () => {
  expect([...tested.keys()]).toEqual(rows.map(({ what }) => what));
});

test.each(rows)(
  'the status beyond "$what" stands in a test that reaches it',
  ({ what, statuses }) => {
    const cell = tested.get(what) ?? '';
    const files = [...cell.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path);
    expect(files.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    if (files.length === 0) expect(cell).toMatch(/^none: \w/);
    const texts = files.map(read).join('\n');
    expect(statuses.filter((names) => !names.some((name) => texts.includes(name)))).toEqual([]);
  },
);

/** How many packages an installation of a workspace brings, and how many of them it names. */
function packagesOf(workspace: string): { all: number; direct: number } {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { dependencies?: object; optionalDependencies?: object }>;
  };
  const brought = new Set<string>();
  const bring = (path: string): number => {
    const { dependencies, optionalDependencies } = packages[path] ?? {};
    const direct = Object.keys({ ...dependencies, ...optionalDependencies });
    for (const name of direct) {
      let folder = path;
      while (folder && !packages[`${folder}/node_modules/${name}`]) {
        folder = folder.replace(/(^|\/)(node_modules\/)?(@[^/]+\/)?[^/]+$/, '');
      }
      const place = `${folder && `${folder}/`}node_modules/${name}`;
      if (!packages[place] || brought.has(place)) continue;
      brought.add(place);
      bring(place);
    }
    return direct.length;
  };
  const direct = bring(workspace);
  return { all: brought.size, direct };
}
const [inServer, inAgent, inClient] = ['server', 'agent', 'client'].map(packagesOf);
const rights = /^CapabilityBoundingSet=(.*)$/m.exec(
  read('packaging/exitward-agent/exitward-agent.service'),
);

/** The passages with figures outside of tables, and where each figure comes from. */
const passages: Record<string, Record<string, readonly number[]>> = {
  'SECURITY.md': {
    // People promise these, no program.
    'within three working days': [3],
    'up to 90 days before you publish': [90 * day],
    // Words of speech and of HTTP: something done again, a body with more than one length.
    'a code of the second factor twice': [2],
    'count usage twice': [2],
    'two lengths of one body': [2],
    // The version that was seen to do so.
    'Squid 5.7 takes': [5.7],
    // `agent/test/limits.test.ts` holds it, in bytes that pass.
    'more than a quarter of a second': [1 / 4],
    'wait for up to 15 minutes': [of(throttle, 'longestWaitSeconds')],
    'A million changes': [setting('AUDIT_RECORDS_PER_ACCOUNT')],
    'for longer than 5 seconds at a time': [of(link, 'responseMs')],
    'with nine capabilities': [rights?.[1]?.split(' ').length ?? 0],
    'The server has fourteen direct dependencies and brings 79 packages, the agent four and 19': [
      inServer,
      inAgent,
    ].flatMap((brought) => [brought?.direct ?? 0, brought?.all ?? 0]),
  },
  'docs/limits.md': {
    'with traffic for 92 days, by day for 400 days': [
      ...[setting('USAGE_HOURS_KEPT_SECONDS'), setting('USAGE_DAYS_KEPT_SECONDS')],
    ],
    'or 100 Gbit/s': [(of(claims, 'plausibleBytesPerSecond') * 8) / 1e9],
  },
};

describe.each(Object.entries(passages))('%s', (path, figuresOf) => {
  const text = read(path)
    .replaceAll(/^(?:\|.*\||\d\.)(?=$| )/gm, '')
    .replaceAll(/\s+/g, ' ');

  test.each(Object.entries(figuresOf))('"%s" is so', (passage, figures) => {
    expect(text).toContain(passage);
    expect(figuresIn(passage)).toEqual(figures);
  });

  test('has no figure that this test does not know', () => {
    const rest = Object.keys(figuresOf).reduce(
      (before, passage) => before.replace(passage, '·'),
      text,
    );
    const sentences = rest
      .split(/(?<=[.:;])\s/)
      .filter((sentence) => figuresIn(sentence).length > 0);
    expect(sentences).toEqual([]);
  });
});

test('the client library has no dependencies, as SECURITY.md says', () => {
  expect(inClient).toEqual({ all: 0, direct: 0 });
});

test('a bound of bytes that is a power of two is in KiB and MiB, and a thousand bytes are kB', () => {
  const files = globSync(
    ['*.md', 'docs/*.md', '{agent,client,console,kit,server}/src/**/*.{ts,tsx}'],
    {
      cwd: root,
      // Squid's own units.
      exclude: ['CHANGELOG.md', 'agent/src/squid/conf/squid_conf.ts'],
    },
  );
  const misnamed = files.flatMap((file) =>
    [
      ...read(file).matchAll(/(?<![\w.])(?:(?:8|16|32|64|128|256|512|1,?024) [kM]B|[\d.,]+ KB)\b/g),
    ].map(([text]) => `${file}: ${text}`),
  );
  expect(misnamed).toEqual([]);
});
