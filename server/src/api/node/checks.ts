// The checks of a /node request before its handler: token, path and query; and a report's actor.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Context } from '../../context.ts';
import type { Actor } from '../../db/database.ts';
import { methodNotAllowed } from '../../errors.ts';
import { isUnder, namedMethod, rejectNul } from '../../http/routing.ts';
import { authenticateNode, connectionLogModes, type Node } from '../../nodes/nodes.ts';
import type { Pace } from './pace.ts';

declare module 'fastify' {
  interface FastifyRequest {
    node: Node;
  }
}

/** Joining needs a code; the others show no secret: the caller's address, a node's programs. */
const withoutToken = ['/node/join', '/node/echo', '/node/install.sh', '/node/packages/:file'];

/** Adds the checks, in their order: 401, 404, 405, 429, then the body's 400. */
export function addNodeChecks(app: FastifyInstance, ctx: Context, pace: Pace): void {
  app.decorateRequest('node', null as never);
  app.addHook('onRequest', async (request, reply) => {
    if (!isUnder('/node', request)) return;
    if (withoutToken.includes(request.routeOptions.url ?? '')) return;
    const token = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    request.node = await authenticateNode(ctx.db, ctx.secrets, token);
    const { allow } = request.routeOptions.config;
    rejectNul(request, 'path');
    if (allow) throw methodNotAllowed(namedMethod(request), allow);
    rejectNul(request, 'query');
    pace.admit(request, reply);
  });
}

/**
 * An agent's version, its open requests and tunnels, and how it logs connections, from headers;
 * older servers ignore them.
 */
export function agentHeaders({ headers }: FastifyRequest) {
  const connections = /^\d{1,9}$/.exec(String(headers['exitward-connections']))?.[0];
  return {
    version: /^exitward-agent\/([\w.+-]{1,64})$/.exec(headers['user-agent'] ?? '')?.[1],
    connections: connections === undefined ? undefined : Number(connections),
    connection_log: connectionLogModes.find((mode) => mode === headers['exitward-connection-log']),
  };
}

/** The node that made a request; a machine that joins has no name yet. */
export function actorOf(request: FastifyRequest): Actor {
  const name = request.node?.name ?? 'joining';
  return { kind: 'node', name, address: request.ip, request_id: request.id };
}
