// The open connections as people see them: the filters, the records, and the names in them.
import { type Static, Type } from 'typebox';
import { accountNames } from '../accounts/accounts.ts';
import type { Reader } from '../db/database.ts';
import { Digits, Integer, Named, OneOf, Strict, Text, Timestamp } from '../http/fields.ts';
import { wholeIn } from '../http/paging.ts';
import {
  answerWaitSeconds,
  type OpenConnections as Looked,
  maxGroupsOfNode,
} from '../nodes/nodes.ts';
import { usersByKey } from '../users/users.ts';
import { parseAddress } from '../values/address.ts';

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

export const OpenConnections = Named('OpenConnections', {
  connections: Type.Array(Group, { description: 'The largest groups, those first.' }),
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

const defaultGroups = 100;
/** The filters of every audience. */
export const connectionFilters = {
  user: Type.Optional(Text('Of this user.')),
  address: Type.Optional(Text('From this IP address.', 64)),
  exit_ip: Type.Optional(Text('To this exit IP.', 64)),
  server: Type.Optional(Text('Of this server, by its short name.')),
  limit: Type.Optional(
    Digits(`How many groups to list; ${defaultGroups} when omitted.`, 1, maxGroupsOfNode),
  ),
};

export const aboutConnections = `Live nodes are asked, and repeat their answers every few seconds while somebody looks: ask again as often as a page is to move. The first request waits up to ${answerWaitSeconds} seconds for them. Connections of one user from one address to one exit IP by one service are a group. Nothing is stored for longer than a minute.`;

/** The addresses among the filters, and how many groups to list. Errors: 400. */
export function readFilters(query: { address?: string; exit_ip?: string; limit?: string }) {
  const { address, exit_ip, limit } = query;
  const of = (field: string, text: string | undefined) =>
    text === undefined ? undefined : parseAddress(field, text, { addresses: 'any' });
  return {
    filter: { address: of('address', address), exit_ip: of('exit_ip', exit_ip) },
    maxGroups: wholeIn('limit', limit, defaultGroups, 1, maxGroupsOfNode),
  };
}

/** With names in place of ids; names of nodes are for operators. */
export async function presentConnections(
  db: Reader,
  { groups, rest, total, missing }: Looked,
  isOperator: boolean,
): Promise<Static<typeof OpenConnections>> {
  const [accountName, userOf] = await Promise.all([
    accountNames(
      db,
      groups.map(({ account }) => account),
    ),
    usersByKey(
      db,
      groups.map(({ account, user }) => [account, user]),
    ),
  ]);
  return {
    connections: groups.flatMap(({ account, user, nodes, by, entry, ...group }) => {
      const [names, userRow] = [accountName.get(account), userOf(account, user)];
      // They were removed a moment ago.
      if (names === undefined || !userRow) return [];
      return [
        {
          ...group,
          account: names,
          user: userRow.name,
          credentials: by,
          ...(entry === undefined ? {} : { authlist_entry: entry }),
          ...(isOperator ? { nodes } : {}),
        },
      ];
    }),
    rest,
    total,
    missing: missing.map(({ node, ...other }) => (isOperator ? { node, ...other } : other)),
  };
}
