// /admin/connections: who is connected now, in the whole network, and ending that.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../../context.ts';
import { invalidField } from '../../errors.ts';
import { Digits, Integer, Named, Strict, Text } from '../../http/fields.ts';
import { wholeIn } from '../../http/paging.ts';
import { endConnections, openConnections } from '../../nodes/nodes.ts';
import {
  aboutConnections,
  aboutEnding,
  connectionFilters,
  EndedConnections,
  endFilters,
  OpenConnections,
  presentConnections,
  presentEnded,
  readAddresses,
  readFilters,
  summedBy,
} from '../connections.ts';
import { operatorWrite } from './checks.ts';
import { findNamed } from './named.ts';
import { operatorRoute } from './route.ts';

const Query = Strict({
  account: Type.Optional(Text('Of this account, by its name.')),
  ...connectionFilters,
  by: summedBy(['account', 'user', 'server', 'address']),
  user: Type.Optional(Text('Of this user of the account.')),
  node: Type.Optional(Digits('Of this node, by its id.', 1)),
});

/** At least one says which connections; a user or a service narrows that. */
const EndOrder = Named('EndOrder', {
  account: Type.Optional(Text('Those of this account, by its name.')),
  ...endFilters,
  user: Type.Optional(Text('Those of this user of the account.')),
  node: Type.Optional(Integer('Those of this node, by its id.', 1)),
});
const named = ['account', 'address', 'exit_ip', 'server', 'node'] as const;

export function connectionRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: nodes');
  const { db } = ctx;

  /** The ids of what is named, and the node. Errors: 400; 404. */
  const idsOf = async (names: Parameters<typeof findNamed>[1]) => {
    const { node, ...ids } = await findNamed(db, names);
    return {
      ids: { ...ids, server_id: ids.server_id ?? node?.server_id, node_id: node?.id },
      node,
    };
  };

  route('GET /admin/connections', {
    id: 'open_connections',
    summary: 'Who is connected now',
    description: aboutConnections,
    query: Query,
    answer: OpenConnections,
    statuses: {
      404: 'There is no such account, user, server or node.',
      429: 'Too many different filters are watched at once.',
    },
    handle: async ({ query }) => {
      const { filter, list } = readFilters(query);
      const of = await idsOf({ ...query, node_id: wholeIn('node', query.node, null, 1) });
      const looked = await openConnections(ctx, { ...filter, ...of.ids }, undefined, list);
      return presentConnections(db, looked, true);
    },
  });

  route('POST /admin/connections/end', {
    id: 'end_connections',
    summary: 'End open connections',
    description: `All that have in common what the body names: at least an account, an address, an exit IP, a server or a node. ${aboutEnding}`,
    body: EndOrder,
    answer: EndedConnections,
    statuses: {
      404: 'There is no such account, user, server or node.',
      429: 'This operator has ended connections too often within a minute.',
    },
    handle: async (request) => {
      const { body } = request;
      const { account, user, server, service, node: node_id = null } = body;
      if (named.every((name) => body[name] === undefined)) {
        throw invalidField(
          'account',
          `is missing; expected one of ${named.map((name) => `\`${name}\``).join(', ')}.`,
        );
      }
      const addresses = readAddresses(body);
      const { ids, node } = await idsOf({ account, user, server, node_id });
      const order = {
        filter: { ...addresses, ...ids, service },
        by: undefined,
        names: {
          ...(user === undefined ? { account } : { user }),
          ...{ ...addresses, server, node: node?.name, service },
        },
      };
      const ended = await endConnections(ctx, (give) =>
        operatorWrite(ctx, request, (tx) => give(tx, order)),
      );
      return presentEnded(ended, true);
    },
  });
}
