// The checks of an /admin request before its handler, and the operator's writes and responses.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { networkVersion } from '../../changes/changes.ts';
import type { Context } from '../../context.ts';
import type { Transaction } from '../../db/database.ts';
import { rehearse } from '../../db/rehearsal.ts';
import { forbidden, methodNotAllowed, unauthorized } from '../../errors.ts';
import { isUnder, namedMethod, rejectNul } from '../../http/routing.ts';
import { tokenTextIsPlausible } from '../../keys/token_text.ts';
import {
  findOperator,
  findToken,
  type Operator,
  type OperatorRight,
} from '../../operators/operators.ts';
import { newsOfNetwork, setAsOf } from '../news.ts';
import { isRevocation } from '../revocations.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The right that an operator token needs for this route. */
    operator_right?: OperatorRight;
  }
  interface FastifyRequest {
    /** The operator who calls, on every /admin path. */
    operator: Operator;
  }
}

const advice =
  'Send an operator token as "Authorization: Bearer ewo_…"; the first one is in the file that EXITWARD_ADMIN_TOKEN_FILE names.';

/** The operator of a request, looked up each time: a revoked token stops at once. Errors: 401. */
export async function authenticateOperator(
  ctx: Context,
  header: string | undefined,
): Promise<Operator> {
  const token = header && /^bearer +([^\s]+) *$/i.exec(header)?.[1];
  if (!token) throw unauthorized(`This request carries no operator token. ${advice}`, 'Bearer');
  const plausible = token.startsWith('ewo_') && tokenTextIsPlausible(token);
  const operator = plausible ? await findOperator(ctx.db, ctx.secrets.hashesOf(token)) : undefined;
  if (!operator) throw tokenUnknown();
  ctx.lastUsed.operator_tokens.note(networkVersion, operator.id, ctx.clock.now());
  return operator;
}

const tokenUnknown = () =>
  unauthorized(`The operator token was not recognised. ${advice}`, 'Bearer');

/** Errors: 403 when the operator's token lacks the right. */
function requireRight(operator: Operator, right: OperatorRight | undefined): void {
  if (right === undefined || operator[right] === 1) return;
  const option = `--${right.replaceAll('_', '-')}`;
  throw forbidden(
    `This operator token lacks the right ${right}; create one with "exitward operator-token create NAME ${option}".`,
    { code: 'flag_needed' },
  );
}

/**
 * Adds the checks, in their order: 401, 404 of a path, 403 without the right, 404 of a record, 405,
 * then the body's 400.
 */
export function addAdminChecks(app: FastifyInstance, ctx: Context): void {
  app.decorateRequest('operator', null as never);
  app.addHook('onRequest', async (request, reply) => {
    if (!isUnder('/admin', request)) return;
    // Responses contain tokens and whole accounts: no cache on the way may keep them.
    reply.header('cache-control', 'no-store');
    request.operator = await authenticateOperator(ctx, request.headers.authorization);
    if (request.is404) return;
    setAsOf(reply, await newsOfNetwork(ctx));
    const { allow, find, operator_right } = request.routeOptions.config;
    rejectNul(request, 'path');
    if (!allow) requireRight(request.operator, operator_right);
    rejectNul(request, 'query');
    await find?.(request);
    if (allow) throw methodNotAllowed(namedMethod(request), allow);
  });
}

/** The path of everything under one account. */
export const AccountPath = Type.Object({ account: Type.String({ description: 'Account name.' }) });
export type AccountPath = Static<typeof AccountPath>;

/**
 * Runs a change by the operator in one transaction; resolves when it is durable. Errors: those of
 * `action`; 401 when the token was revoked while the body was on its way.
 */
export function operatorWrite<T>(
  ctx: Context,
  request: FastifyRequest,
  action: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const actor = {
    kind: 'operator',
    name: request.operator.name,
    address: request.ip,
    request_id: request.id,
  } as const;
  return ctx.db.write(
    actor,
    async (tx) => {
      if (!(await findToken(tx, request.operator.id))) throw tokenUnknown();
      return action(tx);
    },
    { isUrgent: isRevocation(request) },
  );
}

/**
 * Runs a change by the operator, and undoes it: what it would do, and whether it would be refused.
 * Errors: as for `operatorWrite`.
 */
export const operatorRehearsal = <T>(
  ctx: Context,
  request: FastifyRequest,
  action: (tx: Transaction) => Promise<T>,
): Promise<T> => rehearse((act) => operatorWrite(ctx, request, act), action);
