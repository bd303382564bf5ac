// Revocations: requests that take something away. They go before other accounts' additions.
import type { FastifyRequest } from 'fastify';

/** Lists of records, and fields of one; a change of them may let through less than before. */
const listFields = ['entries', 'users', 'accounts'];
const recordFields = ['ip', 'user', 'expiry', 'limit_bytes', 'limits', 'hostname', 'server'];
/** A saved view lets no connection through. */
const viewPath = /\/views\/:id$/;

/**
 * True for a removal, a raised token_version, a suspension, a withdrawn verification, a changed
 * password, ended connections, a user made inactive or losing a flag, a drained node, and a change
 * by which an entry, a contract or a limit may let through less than before.
 */
export function isRevocation({ method, routeOptions, body }: FastifyRequest): boolean {
  const url = routeOptions.url ?? '';
  if (viewPath.test(url)) return false;
  if (
    method === 'DELETE' ||
    /\/(token_version|erase|password|remove|end_sessions|connections\/end)$/.test(url)
  )
    return true;
  if (method !== 'PATCH' && method !== 'PUT') return false;
  const fields = (body ?? {}) as Record<string, unknown>;
  const removesFlag = Object.values((fields.flags as object | undefined) ?? {}).includes(false);
  const isWithdrawn =
    fields.active === false ||
    fields.proven === false ||
    fields.suspended === true ||
    fields.drained === true ||
    removesFlag;
  return (
    isWithdrawn ||
    listFields.some((name) => Array.isArray(fields[name])) ||
    recordFields.some((name) => fields[name] !== undefined && fields[name] !== null)
  );
}
