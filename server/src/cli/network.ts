// exitward status, usage, history, audit, maintenance: the network as a whole.

import { UsageFault } from '../../../kit/src/cli/failures.ts';
import {
  type Column,
  done,
  type Part,
  record,
  type Shown,
  table,
} from '../../../kit/src/cli/output.ts';
import { count } from '../../../kit/src/cli/values.ts';
import { terminalWidth, wrapped } from '../../../kit/src/cli/wrapped.ts';
import { showAt } from './actions.ts';
import type { AdminApi } from './api.ts';
import { type AuditRecord, auditInWords } from './audit_words.ts';
import type { Row } from './columns.ts';
import { nounOf, type Verb } from './command.ts';
import { type History, historyInWords } from './history_words.ts';
import { type Notices, type Status, statusInWords } from './status_words.ts';
import { nodeId, past, time } from './values.ts';

export const statusVerb: Verb = {
  usage: 'status',
  list: true,
  summary: 'show the status of the network and the server',
  run: async (_given, api) => {
    const value = await api.get<
      Row & {
        database: { fault: string | null };
        geoip: Row[];
        tls: (Row & { names: string[] }) | null;
        backups: Row | null;
      }
    >('/status');
    const shown = record(value, [
      'version',
      ['time', 'now', 'time'],
      'maintenance',
      ['database', 'database.engine'],
      ['schema', 'database.schema'],
      ['revision', 'database.revision'],
      ['epoch', 'database.epoch'],
      'accounts',
      'servers',
      ['nodes', 'nodes.all'],
      ['nodes live', 'nodes.live'],
      ['nodes lagging', 'nodes.lagging'],
    ]);
    const { tls, backups, geoip } = value;
    if (process.stdout.isTTY) return { value, parts: [await forPeople(value, api)] };
    const parts = [...shown.parts];
    if (value.database.fault !== null) parts.push(...record(value, [databaseFault]).parts);
    if (tls) {
      parts.push({
        rows: [{ ...tls, names: tls.names.join(', ') }],
        columns: certificateColumns,
        empty: undefined,
      });
    }
    if (backups) parts.push(...record(backups, backupFields).parts);
    if (geoip.length > 0) parts.push({ rows: geoip, columns: geoipColumns, empty: undefined });
    return { ...shown, parts };
  },
};

const databaseFault: Column = ['database fault', 'database.fault'];

/** With the traffic of the last minutes and the notices, where these can be read. */
async function forPeople(value: Row, api: AdminApi): Promise<Part> {
  const status = value as unknown as Status;
  const recent = await api
    .get<History>(`/history?from=${status.now - recentSeconds}`)
    .catch(() => undefined);
  const latest = recent?.points.findLast(({ measured_seconds }) => measured_seconds > 0);
  const notices = await api.get<Notices>('/notices').catch(() => undefined);
  return { text: wrapped(statusInWords(status, latest, notices), terminalWidth()) };
}

const recentSeconds = 900;

const certificateColumns: Column[] = [
  ['certificate', 'names'],
  'source',
  ['ends', 'not_after', 'time'],
  ['next try', 'next_try', 'time'],
  ['fault', 'last_error'],
  ['rejected', 'rejection'],
];

const backupFields: Column[] = [
  ['backups', 'folder'],
  ['last backup', 'last.at', 'time'],
  ['its size', 'last.bytes', 'bytes'],
  ['last verified', 'last_verified.at', 'time'],
  ['backup late', 'late'],
  ['backup fault', 'fault'],
];

const geoipColumns: Column[] = [
  ['geo-IP provider', 'provider'],
  'file',
  'type',
  ['built', 'built_at', 'time'],
  'fault',
];

const bytes: Column[] = [
  ['from clients', 'up', 'bytes'],
  ['to clients', 'down', 'bytes'],
  ['total', 'total', 'bytes'],
];

export const usageVerb: Verb = {
  usage: 'usage',
  list: true,
  summary: 'show the traffic of all accounts by billing period, or of one account in detail',
  filters: [
    ['--account <account>', 'only this account, in detail'],
    ['--from <time>', 'with --account: start (default: start of the billing period)', 'from', time],
    ['--to <time>', 'with --account: end (default: now)', 'to', time],
  ],
  options: [
    [
      '--by <hour|day|server|user>',
      'with --account: show a row for each of these (default: day)',
      'by',
    ],
  ],
  examples: ['exitward usage', 'exitward usage --account acme --by server --from 2027-01-01'],
  run: async (given, api): Promise<Shown> => {
    if (!given.has('account')) {
      const [ofAccount] = ['by', 'from', 'to'].filter((option) => given.has(option));
      if (ofAccount) throw new UsageFault(`--${ofAccount}: expected with --account`);
      return table(
        await api.list('/usage?limit=1000'),
        [
          'account',
          ['period from', 'period.start', 'day'],
          ['to', 'period.end', 'day'],
          ['usage', 'usage', 'bytes'],
          ['limit', 'limit', 'bytes'],
          ['over', 'over_limit', 'alarm'],
        ],
        { noun: 'accounts', next: 'exitward account create <name>' },
      );
    }
    const path = given.path('/accounts/<account>/usage') + given.query();
    const value = await api.get<{ by: string; rows: Row[] }>(path);
    const { by } = value;
    const kind = by === 'hour' ? 'time' : by === 'day' ? 'day' : 'text';
    const columns: Column[] = [[by, by, kind], ...bytes];
    return { value, parts: [{ rows: value.rows, columns, empty: { noun: 'usage records' } }] };
  },
};

export const historyVerb: Verb = {
  usage: 'history',
  list: true,
  summary: 'show traffic, connections, rejections, lag and problems over time',
  filters: [
    ['--server <server>', 'only the nodes of this server', 'server'],
    ['--node <id>', 'only this node', 'node', nodeId],
    [
      '--since <time>',
      'start, such as 2027-01-31, or 2h for two hours ago (default: 1d)',
      'from',
      past,
    ],
    ['--until <time>', 'end (default: now)', 'to', past],
  ],
  examples: ['exitward history', 'exitward history --server fra1 --since 7d'],
  run: async (given, api): Promise<Shown> => {
    const value = await api.get<History>(`/history${given.query()}`);
    if (process.stdout.isTTY) {
      const width = terminalWidth();
      return { value, parts: [{ text: wrapped(historyInWords(value, width), width) }] };
    }
    const rows = value.points.map(({ rejected, ...point }) => ({
      ...point,
      rejected: Object.entries(rejected).map(([reason, count]) => `${reason}:${count}`),
    }));
    const columns: Column[] = [
      ['from', 'at', 'time'],
      ['from clients', 'up', 'bytes'],
      ['to clients', 'down', 'bytes'],
      'connections',
      ['at most', 'connections_peak'],
      ['lag seconds', 'lag_peak'],
      ['faults', 'faults_peak'],
      ['rejected', 'rejected', 'list'],
    ];
    return { value, parts: [{ rows, columns, empty: { noun: 'measurements' } }] };
  },
};

export const auditVerb: Verb = {
  usage: 'audit',
  list: true,
  summary: 'show or search the audit log, newest first',
  filters: [
    ['--search <words>', 'only entries that contain all these words', 'search'],
    [
      '--actor <name>',
      'only by this user, token, node or job, such as alice or acme/alice',
      'actor',
    ],
    ['--action <names>', 'only these actions or kinds, such as authlist.remove,override', 'action'],
    ['--account <account>', 'only entries about this account', 'account'],
    [
      '--since <time>',
      'only at or after this time, such as 2027-01-31, or 2h for two hours ago',
      'since',
      past,
    ],
    ['--until <time>', 'only before this time', 'until', past],
    ['--before <id>', 'only entries older than this one', 'before'],
  ],
  options: [['--limit <count>', 'maximum number (default: 100)', 'limit', count]],
  run: async (given, api) => {
    const limit = (given.option('limit') as number | undefined) ?? 100;
    const query = new URLSearchParams(given.query());
    query.set('limit', String(Math.min(limit, 1000)));
    const records = await api.list<AuditRecord & { id: string }>(`/audit?${query}`, limit);
    const { length } = records;
    if (process.stdout.isTTY && length > 0) {
      const width = terminalWidth();
      const more =
        length < limit ? '' : `\nOlder: the same command with --before=${records.at(-1)?.id}\n`;
      const text = wrapped(auditInWords(records, width >= 100), width);
      return { value: records, parts: [{ text: text + more }] };
    }
    return table(
      records,
      [
        'id',
        ['at', 'at', 'time'],
        ['kind', 'actor_kind', 'detail'],
        ['who', 'actor'],
        ['from', 'address', 'detail'],
        'account',
        ['action', 'action', 'event'],
        ['target', 'target', 'event'],
      ],
      { noun: 'audit entries' },
    );
  },
};

const turn = (on: boolean): Verb => ({
  usage: on ? 'on' : 'off',
  summary: on ? 'return 503 for all /v0 requests; nodes continue to serve' : 'end maintenance',
  run: async (_given, api) => {
    const value = await api.put('/maintenance', { on });
    return done(`Maintenance is ${on ? 'on: /v0 answers 503' : 'off'}.`, value);
  },
});

export const maintenanceNoun = nounOf('maintenance', 'maintenance mode of the account API', [
  turn(true),
  turn(false),
  {
    usage: 'status',
    summary: 'show whether maintenance is on',
    run: showAt('/maintenance', ['on']),
  },
]);
