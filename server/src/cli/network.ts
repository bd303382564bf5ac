// exitward status, usage, audit, maintenance, operator-token: the network as a whole.
import type { Noun, Verb } from './command.ts';
import { type Column, done, record, type Shown, table } from './output.ts';
import { time, whole } from './values.ts';

type Row = Record<string, unknown>;

export const statusVerb: Verb = {
  usage: 'status',
  summary: 'how the network and the server stand',
  run: async (_given, api) => {
    const value = await api.get<Row & { geoip: Row[] }>('/status');
    const shown = record(value, [
      ['version', 'version'],
      ['time', 'now', 'time'],
      ['maintenance', 'maintenance'],
      ['database', 'database.engine'],
      ['schema', 'database.schema'],
      ['revision', 'database.revision'],
      ['epoch', 'database.epoch'],
      ['accounts', 'accounts'],
      ['servers', 'servers'],
      ['nodes', 'nodes.all'],
      ['nodes live', 'nodes.live'],
      ['nodes lagging', 'nodes.lagging'],
    ]);
    if (value.geoip.length === 0) return shown;
    return { ...shown, parts: [...shown.parts, { rows: value.geoip, columns: geoipColumns }] };
  },
};

const geoipColumns: Column[] = [
  ['geo-IP provider', 'provider'],
  ['file', 'file'],
  ['type', 'type'],
  ['built', 'built_at', 'time'],
  ['fault', 'fault'],
];

const bytes: Column[] = [
  ['from clients', 'up', 'bytes'],
  ['to clients', 'down', 'bytes'],
  ['total', 'total', 'bytes'],
];

export const usageVerb: Verb = {
  usage: 'usage',
  summary:
    'traffic of all accounts in their billing periods, or of one by hour, day, server or user',
  options: [
    { flags: '--account <account>', description: 'only this one, in detail' },
    {
      flags: '--by <hour|day|server|user>',
      description: 'with --account: what the rows are; day when omitted',
    },
    {
      flags: '--from <time>',
      description: 'with --account: from when on; the billing period when omitted',
      parse: time,
    },
    {
      flags: '--to <time>',
      description: 'with --account: until when; now when omitted',
      parse: time,
    },
  ],
  run: async (given, api): Promise<Shown> => {
    if (!given.has('account')) {
      return table(await api.list<Row>('/usage?limit=1000'), [
        ['account', 'account'],
        ['period from', 'period.start', 'time'],
        ['to', 'period.end', 'time'],
        ['usage', 'usage', 'bytes'],
        ['limit', 'limit', 'bytes'],
        ['over', 'over_limit'],
      ]);
    }
    const account = encodeURIComponent(String(given.option('account')));
    const value = await api.get<{ by: string; rows: Row[] }>(
      `/accounts/${account}/usage${given.query('by', 'from', 'to')}`,
    );
    const { by } = value;
    const isTime = by === 'hour' || by === 'day';
    const columns: Column[] = [[by, by, isTime ? 'time' : 'text'], ...bytes];
    return { value, parts: [{ rows: value.rows, columns }] };
  },
};

export const auditVerb: Verb = {
  usage: 'audit',
  summary: 'the audit log, newest first',
  options: [
    { flags: '--account <account>', description: 'only what concerns this account' },
    { flags: '--before <id>', description: 'only entries older than this one', parse: whole },
    { flags: '--limit <count>', description: 'how many; 100 when omitted', parse: whole },
  ],
  run: async (given, api) => {
    const most = (given.option('limit') as number | undefined) ?? 100;
    const query = new URLSearchParams(given.query('account', 'before'));
    query.set('limit', String(Math.min(Math.max(most, 1), 1000)));
    return table(await api.list<Row>(`/audit?${query}`, most), [
      ['id', 'id'],
      ['at', 'at', 'time'],
      ['kind', 'actor_kind'],
      ['who', 'actor'],
      ['from', 'address'],
      ['account', 'account'],
      ['action', 'action'],
      ['target', 'target'],
    ]);
  },
};

const turn = (on: boolean): Verb => ({
  usage: on ? 'on' : 'off',
  summary: on ? 'answer 503 on every path under /v0; nodes go on serving' : 'end the maintenance',
  run: async (_given, api) =>
    done(
      `Maintenance is ${on ? 'on: /v0 answers 503' : 'off'}.`,
      await api.put('/maintenance', { on }),
    ),
});

export const maintenanceNoun: Noun = {
  name: 'maintenance',
  summary: 'take the account API down and up again',
  verbs: [
    turn(true),
    turn(false),
    {
      usage: 'status',
      summary: 'whether it is on',
      run: async (_given, api) => record(await api.get<Row>('/maintenance'), [['on', 'on']]),
    },
  ],
};

export const operatorTokenNoun: Noun = {
  name: 'operator-token',
  summary: 'who may operate this network',
  verbs: [
    {
      usage: 'list',
      summary: 'list operator tokens',
      run: async (_given, api) =>
        table(await api.get<Row[]>('/tokens'), [
          ['id', 'id'],
          ['name', 'name'],
          ['created', 'created_at', 'time'],
          ['last used', 'last_used_at', 'time'],
        ]),
    },
    {
      usage: 'create <name>',
      summary: 'create an operator token and print it, this once',
      run: async (given, api) => {
        const value = await api.post<Row>('/tokens', { name: given.word('name') });
        return record(value, [
          ['id', 'id'],
          ['name', 'name'],
          ['operator token', 'admin_token'],
        ]);
      },
    },
    {
      usage: 'revoke <id>',
      summary: 'revoke an operator token',
      question: (given) => `This revokes operator token ${given.word('id')} at once.`,
      run: async (given, api) => {
        await api.delete(`/tokens/${given.part('id')}`);
        return done(`Operator token ${given.word('id')} is revoked.`, {
          revoked: given.word('id'),
        });
      },
    },
  ],
};
