// Revocations: the requests that take something away. Among the writes that wait they go ahead of other accounts' additions.
import type { FastifyRequest } from 'fastify';

/** True for a removal, a raised token_version, a suspension, and what makes a user inactive or takes a flag. */
export function isRevocation({ method, routeOptions, body }: FastifyRequest): boolean {
  if (method === 'DELETE' || routeOptions.url?.endsWith('/token_version')) return true;
  const { active, suspended, flags } = (body ?? {}) as {
    active?: unknown;
    suspended?: unknown;
    flags?: Record<string, unknown>;
  };
  const takesFlag = Object.values(flags ?? {}).includes(false);
  return method === 'PATCH' && (active === false || suspended === true || takesFlag);
}
