// The open connections as people see them: the filters, the records, and the names in them.
import { type Static, Type } from 'typebox';
import { vpnServices } from '../../../kit/src/vpn_password.ts';
import type { Reader } from '../db/database.ts';
import { Digits, Integer, Named, OneOf, Strict, Text, Timestamp } from '../http/fields.ts';
import { wholeIn } from '../http/paging.ts';
import {
  answerWaitSeconds,
  type EndedConnections as Ended,
  endWaitSeconds,
  type OpenConnections as Looked,
  maxGroupsOfNode,
  orderSeconds,
  type SummedBy,
} from '../nodes/nodes.ts';
import { parseAddress } from '../values/address.ts';
import { readNames } from './names.ts';

const connections = Integer('How many connections.');
const up = Integer('Bytes from clients, so far.');
const down = Integer('Bytes to clients, so far.');
const Sums = (description: string) =>
  Strict({ groups: Integer('How many groups.'), connections, up, down }, description);

const Group = Named('ConnectionGroup', {
  server: Type.String({ description: 'Server short name.' }),
  nodes: Type.Optional(
    Type.Array(Type.String(), { description: 'The nodes that have them; for operators.' }),
  ),
  service: Type.String({ description: 'proxy, proxy-https, or a VPN service.' }),
  account: Type.String({ description: 'Account name.' }),
  user: Type.String({ description: 'User name.' }),
  address: Type.String({ description: 'The IP address that they come from.' }),
  exit_ip: Type.String({ description: 'The exit IP that they leave from.' }),
  credentials: Type.Array(
    OneOf(['authlist', 'token', 'vpn'], 'The address, a proxy access token, a VPN password.'),
    { description: 'How the user was identified.' },
  ),
  authlist_entry: Type.Optional(Integer('Id of the authlist entry that let them in.')),
  connections,
  since: Timestamp('When the oldest began.'),
  last_byte_at: Timestamp('When a byte last moved, to a few seconds.'),
  up,
  down,
});

const Sum = Named('ConnectionSum', {
  account: Type.Optional(Type.String({ description: 'Account name, by account or user.' })),
  user: Type.Optional(Type.String({ description: 'User name, by user.' })),
  server: Type.Optional(Type.String({ description: 'Server short name, by server.' })),
  address: Type.Optional(
    Type.String({ description: 'The IP address that they come from, by address.' }),
  ),
  groups: Integer('How many groups.'),
  connections,
  since: Timestamp('When the oldest began.'),
  last_byte_at: Timestamp('When a byte last moved, to a few seconds.'),
  up,
  down,
});

export const OpenConnections = Named('OpenConnections', {
  connections: Type.Array(Group, {
    description: 'The largest groups, those first; none when they are summed.',
  }),
  sums: Type.Optional(
    Type.Array(Sum, { description: 'When they are summed: the largest sums, those first.' }),
  ),
  rest: Sums('The groups that are not listed.'),
  total: Sums('All groups.'),
  missing: Type.Array(
    Strict({
      server: Type.String({ description: 'Server short name.' }),
      node: Type.Optional(Type.String({ description: 'The node; for operators.' })),
      reason: OneOf(
        ['offline', 'outdated', 'no_answer'],
        'It is offline; its agent is older than this server and may not know the question; it has not answered, or not lately.',
      ),
    }),
    { description: 'Nodes whose connections are missing here.' },
  ),
});

const services = ['proxy', 'proxy-https', ...vpnServices] as const;
/** The connections that are ended have all of these in common. */
export const endFilters = {
  user: Type.Optional(Text('Those of this user.')),
  address: Type.Optional(Text('Those from this IP address.', 64)),
  exit_ip: Type.Optional(Text('Those to this exit IP.', 64)),
  server: Type.Optional(Text('Those of this server, by its short name.')),
  service: Type.Optional(OneOf(services, 'Those of this service.')),
};

export const EndedConnections = Named('EndedConnections', {
  ended: Integer('How many connections were ended, as the nodes say.'),
  acknowledged: Type.Array(
    Strict({
      server: Type.String({ description: 'Server short name.' }),
      node: Type.Optional(Type.String({ description: 'The node; for operators.' })),
      ended: Integer('How many it ended.'),
    }),
    { description: 'The nodes that carried it out.' },
  ),
  missing: Type.Array(
    Strict({
      server: Type.String({ description: 'Server short name.' }),
      node: Type.Optional(Type.String({ description: 'The node; for operators.' })),
      reason: OneOf(
        ['offline', 'outdated', 'no_answer', 'unfinished'],
        'It is offline; its agent is older than this server and may not know the order; it has not taken it; it took it, and has not said how many it ended.',
      ),
    }),
    { description: 'Nodes that have not said that they carried it out.' },
  ),
  until: Timestamp('A node that has not taken the order by then never does.'),
});

export const aboutEnding = `The nodes end what is open when they take the order, and nothing that begins later: a user whose right stands may connect again at once. Take the right away first to keep a user out. The answer comes when all live nodes have carried it out, or after ${endWaitSeconds} seconds; a node that is not reached within ${orderSeconds} seconds ends nothing.`;

/** Names of nodes are for operators. */
export function presentEnded(
  { acknowledged, missing, ...sums }: Ended,
  isOperator: boolean,
): Static<typeof EndedConnections> {
  const shown = <T extends { node: string }>({ node, ...other }: T) =>
    isOperator ? { node, ...other } : other;
  return { ...sums, acknowledged: acknowledged.map(shown), missing: missing.map(shown) } as never;
}

const defaultGroups = 100;
/** Asks for sums of the groups, by one of these. */
export const summedBy = <T extends SummedBy[]>(by: readonly [...T]) =>
  Type.Optional(OneOf(by, 'Sums instead of groups, by this.'));

/** The filters of every audience. */
export const connectionFilters = {
  by: summedBy(['user', 'server', 'address']),
  user: Type.Optional(Text('Of this user.')),
  address: Type.Optional(Text('From this IP address.', 64)),
  exit_ip: Type.Optional(Text('To this exit IP.', 64)),
  server: Type.Optional(Text('Of this server, by its short name.')),
  limit: Type.Optional(
    Digits(`How many groups or sums to list; ${defaultGroups} when omitted.`, 1, maxGroupsOfNode),
  ),
};

export const aboutConnections = `Live nodes are asked, and repeat their answers every few seconds while somebody looks: ask again as often as a page is to move. The first request waits up to ${answerWaitSeconds} seconds for them. Connections of one user from one address to one exit IP by one service are a group. Nothing is stored for longer than a minute.`;

/** The addresses among filters, in their one spelling. Errors: 400. */
export function readAddresses({ address, exit_ip }: { address?: string; exit_ip?: string }) {
  const of = (field: string, text: string | undefined) =>
    text === undefined ? undefined : parseAddress(field, text, { addresses: 'any' });
  return { address: of('address', address), exit_ip: of('exit_ip', exit_ip) };
}

/** The addresses among the filters, and how the list is to be. Errors: 400. */
export function readFilters(query: {
  address?: string;
  exit_ip?: string;
  limit?: string;
  by?: SummedBy;
}) {
  const { limit, by } = query;
  return {
    filter: readAddresses(query),
    list: { maxRows: wholeIn('limit', limit, defaultGroups, 1, maxGroupsOfNode), by },
  };
}

/** With names in place of ids; names of nodes are for operators. */
export async function presentConnections(
  db: Reader,
  { groups, sums, rest, total, missing }: Looked,
  isOperator: boolean,
): Promise<Static<typeof OpenConnections>> {
  const keys = [...groups, ...(sums ?? [])].map(({ account, user }) => [account, user] as const);
  const namesOf = await readNames(db, keys);
  return {
    connections: groups.flatMap(({ account, user, nodes, by, entry, ...group }) => {
      const names = namesOf(account, user);
      if (names.account === undefined || names.user === undefined) return [];
      return [
        {
          ...group,
          ...{ account: names.account, user: names.user },
          credentials: by,
          ...(entry === undefined ? {} : { authlist_entry: entry }),
          ...(isOperator ? { nodes } : {}),
        },
      ];
    }),
    ...(sums && {
      sums: sums.flatMap(({ account, user, ...sum }) => {
        if (account === undefined) return [sum];
        const names = namesOf(account, user);
        const isRemoved = user !== undefined && names.user === undefined;
        return names.account === undefined || isRemoved ? [] : [{ ...sum, ...names }];
      }),
    }),
    rest,
    total,
    missing: missing.map(({ node, ...other }) => (isOperator ? { node, ...other } : other)),
  };
}
