// /admin/authlist: who holds an address, in the whole network.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { findClaims, proofState } from '../../authlist/authlist.ts';
import type { Context } from '../../context.ts';
import { Integer, Strict, Text, Timestamp } from '../../http/fields.ts';
import { Proof } from '../manage/authlist.ts';
import { operatorRoute } from './route.ts';

const Claim = Strict({
  ip: Type.String({ description: 'IP address.' }),
  port_scheme: Type.String({ description: 'Port scheme on which the address is claimed.' }),
  account: Type.String({ description: 'Account that holds it.' }),
  id: Integer('Id of the entry on that account.', 1),
  user: Type.String({ description: 'User that its connections are assigned to.' }),
  expiry: Timestamp('When the entry expires.'),
  proof: Proof,
});
const ClaimQuery = Strict({ ip: Text('One IP address, in any spelling.', 64) });

export function claimRoutes(app: FastifyInstance, ctx: Context): void {
  operatorRoute(app, 'Operator: authlist and custom DNS')('GET /admin/authlist', {
    summary: 'Who holds an address: one entry at most for each port scheme',
    query: ClaimQuery,
    answer: Type.Array(Claim),
    handle: async ({ query }) => {
      const claims = await findClaims(ctx.db, query.ip, ctx.clock.now());
      return claims.map(({ proven_at, waits, ...claim }) => ({
        ...claim,
        proof: proofState({ proven_at, waits }, ctx.config.authlist_proof),
      }));
    },
  });
}
