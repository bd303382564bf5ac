// Adds a route of /admin, for operators only.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { addRoute, type Endpoint, type Route } from '../../http/route.ts';
import type { OperatorRight } from '../../operators/operators.ts';

/** The nouns of /admin in the API document, in its order. */
export const operatorTags = {
  'Operator: network': 'How the network stands, maintenance, and the audit log.',
  'Operator: accounts': 'Accounts and their contracts.',
  'Operator: API tokens': 'The API tokens of an account.',
  'Operator: users': 'The users of an account.',
  'Operator: servers': 'Servers of the network and their exit IPs.',
  'Operator: manifests': 'Parts of the network as one document declares them.',
  'Operator: geo-IP': 'Where geo-IP providers see the exit IPs, and the feed that states it.',
  'Operator: contract servers': 'Which servers are on which contract.',
  'Operator: port schemes': 'Which ports lead to the exit IPs, and with which service.',
  'Operator: authlist and custom DNS': "An account's lists, and undoing a removal of all entries.",
  'Operator: usage': 'Traffic by account, hour, day, server and user.',
  'Operator: nodes':
    'Agents on servers: invitations, lag, revocation, and what one would do with a connection.',
  'Operator: operator tokens': 'Who may use this interface.',
  'Operator: saved views': 'The views of lists that were saved in the console with this token.',
};

interface OperatorRoute<Params extends TSchema, Body extends TSchema, Query extends TSchema>
  extends Route<Params, Body, Query> {
  /** The right that the operator token needs in addition. */
  may?: OperatorRight;
  /** Throws 404 if the path's record does not exist; before the body is read. */
  find?: (names: Static<Params>) => Promise<unknown>;
}

/** Answers a function that adds a route under this tag of the API document. */
export function operatorRoute(app: FastifyInstance, tag: keyof typeof operatorTags) {
  return <
    Params extends TSchema = TSchema,
    Body extends TSchema = TSchema,
    Query extends TSchema = TSchema,
  >(
    endpoint: Endpoint,
    route: OperatorRoute<Params, Body, Query>,
  ): void => {
    const { may, find } = route;
    const usual = {
      tag,
      config: {
        ...(may ? { operator_right: may } : {}),
        ...(find ? { find: async ({ params }: FastifyRequest) => find(params as never) } : {}),
      },
      errors: may ? [403] : [],
    };
    addRoute(app, endpoint, usual, route);
  };
}
