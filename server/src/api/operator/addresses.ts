// /admin/addresses: where an address or a network is used: authlists, custom DNS, exits.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { findClaims, proofState } from '../../authlist/authlist.ts';
import type { Context } from '../../context.ts';
import { ipOrder } from '../../db/ip_order.ts';
import { Integer, Named, OneOf, Strict, Text, Timestamp } from '../../http/fields.ts';
import { limitIn, PageQuery } from '../../http/paging.ts';
import { findPointing } from '../../overrides/overrides.ts';
import { findExits } from '../../servers/servers.ts';
import { networkIn } from '../../values/address.ts';
import { operatorRoute } from './route.ts';

export const Proof = Type.Union(
  [OneOf(['proven', 'unproven', 'waits'], 'Whether the entry is verified.'), Type.Null()],
  {
    description:
      'proven: verified, by a request of the account from the address or by an operator; unproven: not verified, so that a verified entry of another account replaces it; waits: not verified, and nodes let no client in by it; null: entries need not be verified (EXITWARD_AUTHLIST_PROOF).',
  },
);
const ip = Type.String({ description: 'IP address.' });
const expiry = Timestamp('When the entry expires.');
const Claim = Strict({
  ip,
  port_scheme: Type.String({ description: 'Port scheme on which the address is claimed.' }),
  account: Type.String({ description: 'Account that holds it.' }),
  id: Integer('Id of the entry on that account.', 1),
  user: Type.String({ description: 'User that its connections are assigned to.' }),
  expiry,
  proof: Proof,
});
const Pointing = Strict({
  ip,
  account: Type.String({ description: 'Account whose entry it is.' }),
  id: Integer('Id of the entry on that account.', 1),
  hostname: Type.String({ description: 'Hostname that resolves to the address.' }),
  server: Type.String({ description: 'Server on which it does.' }),
  expiry,
});
const Exit = Strict({
  ip,
  server: Type.String({ description: 'Server that has it.' }),
  port_base: Integer('Port base of the exit IP.'),
});
const parts = ['authlist', 'overrides', 'exits'] as const;
const Uses = Named('AddressUses', {
  network: Type.String({ description: 'The address, or the network in CIDR notation.' }),
  authlist: Type.Array(Claim, { description: 'Authlist entries that hold.' }),
  overrides: Type.Array(Pointing, { description: 'Custom DNS entries in force that point there.' }),
  exits: Type.Array(Exit, { description: 'Exit IPs.' }),
  more: Type.Array(OneOf([...parts], 'One of the lists.'), {
    description:
      'The lists that have more than is shown: ask for a smaller network, or more of it.',
  }),
});
const Query = Strict({
  ip: Text(
    'One IP address in any spelling, or a network in CIDR notation: at least /8 of IPv4, /16 of IPv6.',
    64,
  ),
  limit: PageQuery.limit,
});

const order = (first: { ip: string }, second: { ip: string }) => {
  const [a, b] = [ipOrder(first.ip), ipOrder(second.ip)];
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
};

export function addressRoutes(app: FastifyInstance, ctx: Context): void {
  operatorRoute(app, 'Operator: authlist and custom DNS')('GET /admin/addresses', {
    id: 'find_address',
    summary: 'Where an address or a network is used: on authlists, in custom DNS, as an exit IP',
    description: 'Of each at most as many as the limit, in the order of the addresses.',
    query: Query,
    answer: Uses,
    handle: async ({ query }) => {
      const network = networkIn('ip', query.ip);
      const limit = limitIn(query.limit);
      const now = ctx.clock.now();
      const [claims, overrides, exits] = await Promise.all([
        findClaims(ctx.db, network, limit + 1, now),
        findPointing(ctx.db, network, limit + 1, now),
        findExits(ctx.db, network, limit + 1),
      ]);
      const authlist = claims.map(({ proven_at, waits, ...claim }) => ({
        ...claim,
        proof: proofState({ proven_at, waits }, ctx.config.authlist_proof),
      }));
      const matches = { authlist, overrides, exits };
      const [base, bits] = network;
      const isOne = bits === 8 * base.toByteArray().length;
      return {
        network: isOne ? base.toString() : `${base}/${bits}`,
        authlist: authlist.slice(0, limit).sort(order),
        overrides: overrides
          .slice(0, limit)
          .sort(order)
          .map(({ account_id: _, ...entry }) => entry),
        exits: exits.slice(0, limit).sort(order),
        more: parts.filter((part) => matches[part].length > limit),
      };
    },
  });
}
