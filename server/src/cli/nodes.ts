// exitward node …: the machines that serve.
import type { Noun } from './command.ts';
import { done, record, table } from './output.ts';
import { lifetime } from './values.ts';

type Row = Record<string, unknown>;

export const nodeNoun: Noun = {
  name: 'node',
  summary: 'machines that serve',
  verbs: [
    {
      usage: 'list',
      summary: 'list nodes with how far behind they are',
      run: async (_given, api) =>
        table(await api.get<Row[]>('/nodes'), [
          ['id', 'id'],
          ['server', 'server'],
          ['name', 'name'],
          ['live', 'live'],
          ['lag', 'lag'],
          ['revision', 'applied_revision'],
          ['seen', 'seen_at', 'time'],
          ['version', 'version'],
        ]),
    },
    {
      usage: 'invite <server>',
      summary: 'print a code with which one machine may join as a node of the server, once',
      options: [
        {
          flags: '--lifetime <lifetime>',
          description: 'how long the code can be used; a day when omitted',
          parse: lifetime,
          field: 'lifetime_seconds',
        },
      ],
      run: async (given, api) => {
        const value = await api.post<Row>('/invites', {
          server: given.word('server'),
          ...given.fields,
        });
        return record(value, [
          ['code', 'code'],
          ['expiry', 'expiry', 'time'],
        ]);
      },
    },
    {
      usage: 'invites',
      summary: 'list the invitations that can still be used',
      run: async (_given, api) =>
        table(await api.get<Row[]>('/invites'), [
          ['id', 'id'],
          ['server', 'server'],
          ['expiry', 'expiry', 'time'],
        ]),
    },
    {
      usage: 'uninvite <id>',
      summary: 'take an invitation back',
      question: (given) => `This ends invitation ${given.word('id')}: its code works no longer.`,
      run: async (given, api) => {
        await api.delete(`/invites/${given.part('id')}`);
        return done(`Invitation ${given.word('id')} is taken back.`, { removed: given.word('id') });
      },
    },
    {
      usage: 'revoke <id>',
      summary: 'revoke a node',
      question: (given) =>
        `This revokes node ${given.word('id')}: it gets no changes any more and must join again.`,
      run: async (given, api) => {
        await api.delete(`/nodes/${given.part('id')}`);
        return done(`Node ${given.word('id')} is revoked.`, { revoked: given.word('id') });
      },
    },
  ],
};
