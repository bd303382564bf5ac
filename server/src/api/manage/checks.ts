// The checks of a /console request before its handler: the session, and what the page may do.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { rejectUnlessWritable } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import type { Transaction } from '../../db/database.ts';
import { conflict, forbidden, methodNotAllowed } from '../../errors.ts';
import { isSecure, readCookie } from '../../http/cookies.ts';
import { knownAddress } from '../../http/own_address.ts';
import { isUnder, namedMethod, rejectIfAbsent, rejectNul } from '../../http/routing.ts';
import {
  confirmPassword,
  findPerson,
  type Person,
  requirePerson,
  sessionEnded,
  type Visitor,
} from '../../sign_in/sign_in.ts';
import { newsOfAccount, setAsOf } from '../news.ts';
import { isRevocation } from '../revocations.ts';

export type Flag = keyof Person['flags'];

/**
 * The people who may call a route: all, or those signed in with one of these flags (none: everyone
 * who is signed in). `record`: it changes the account's records, which needs a contract that holds.
 * `own_sign_in`: it changes how the person signs in, which is not counted as a write of the
 * account.
 */
export type ConsoleAccess =
  | { open: true }
  | { may: readonly Flag[]; record?: boolean; own_sign_in?: boolean };

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Every route under /console has it. */
    console?: ConsoleAccess;
  }
  interface FastifyRequest {
    /** The person who is signed in, on every /console path that is not open. */
    person: Person;
  }
}

const reads = new Set(['GET', 'HEAD']);

/**
 * Adds the checks, in their order: 401 (409 of another session), 404 of a path, 405, 403 without
 * the flags, 404 of a record, 403 for other reasons, then the body's 400. Without the flags, the
 * answer is the same whether a record exists or not.
 */
export function addConsoleChecks(app: FastifyInstance, ctx: Context): void {
  app.decorateRequest('person', null as never);
  app.addHook('onRoute', ({ url, config }) => {
    if (/^\/console(?:\/|$)/.test(url) && !config?.console) {
      throw new Error(`The route ${url} does not say who may call it (config.console).`);
    }
  });
  app.addHook('onRequest', async (request, reply) => {
    if (!isUnder('/console', request)) return;
    // No cache on the way may store a person's records.
    reply.headers({ 'cache-control': 'no-store', vary: 'cookie' });
    const { allow, console: access, find } = request.routeOptions.config;
    const isOpen = access !== undefined && 'open' in access;
    if (!isOpen) {
      request.person = await signedIn(ctx, request);
      rejectOtherSession(request);
      setAsOf(reply, await newsOfAccount(ctx, request.person.account_id));
    }
    if (request.is404) return;
    rejectNul(request, 'path');
    const may = access && 'may' in access ? access.may : [];
    if (allow) {
      if (hasFlags(request.person, may)) await rejectIfAbsent(request, find);
      throw methodNotAllowed(namedMethod(request), allow);
    }
    requireFlags(request.person, may);
    await find?.(request);
    if (!reads.has(request.method)) requireOurPage(ctx, request);
    if (access && 'may' in access && access.record) {
      rejectUnlessWritable(request.person.contract, ctx.clock.now());
    }
    rejectNul(request, 'query');
  });
}

/** Errors: 401 when the cookie has no session, or one that has ended. */
async function signedIn(ctx: Context, request: FastifyRequest): Promise<Person> {
  const token = readCookie(request, 'session', isSecure(ctx.config));
  const person = token && (await findPerson(ctx.db, ctx.secrets, token, ctx.clock.now()));
  if (!person) throw sessionEnded();
  ctx.lastUsed.sessions.note(person.account_id, person.session_id, ctx.clock.now());
  const address = knownAddress(request);
  if (address !== undefined) ctx.callers.note(person.account_id, address);
  return person;
}

/**
 * All tabs of a browser share one cookie: after a second sign-in, a page of the first person would
 * show and change the second's data. So a page names its session in `exitward-session`, as
 * ACCOUNT/SESSION_ID (ids are counted in each account); without the header nothing is checked.
 * Errors: 409 when that is not the session of the cookie.
 */
function rejectOtherSession({ headers, person }: FastifyRequest): void {
  const shown = headers['exitward-session'];
  if (shown === undefined || shown === `${person.account_name}/${person.session_id}`) return;
  throw conflict('This page was opened in another session; reload it.', { code: 'other_session' });
}

const hasFlags = (person: Pick<Person, 'flags'>, may: readonly Flag[]): boolean =>
  may.length === 0 || may.some((flag) => person.flags[flag]);

/** Errors: 403 when a person has none of the flags. */
export function requireFlags(person: Pick<Person, 'flags'>, may: readonly Flag[]): void {
  if (hasFlags(person, may)) return;
  throw forbidden(`This needs the ${may.join(' or ')} flag; ask an admin of your account.`, {
    code: 'flag_needed',
  });
}

/** Errors: 403 for a change that does not come from a page of this server. */
function requireOurPage(ctx: Context, request: FastifyRequest): void {
  const { origin, host } = request.headers;
  const site = request.headers['sec-fetch-site'];
  const here = `${isSecure(ctx.config) ? 'https' : 'http'}://${host}`;
  const code = 'origin_rejected';
  if (origin !== undefined && (origin === here || origin === ctx.config.public_url)) {
    if (site === undefined || site === 'same-origin') return;
    throw forbidden('Sec-Fetch-Site: only a page of this server may make changes here.', { code });
  }
  throw forbidden(
    `Origin: expected ${ctx.config.public_url}, as a page of this server sends it; EXITWARD_PUBLIC_URL says where that is.`,
    { code },
  );
}

/** Where a request comes from. */
export function visitorOf(ctx: Context, request: FastifyRequest): Visitor {
  const secure = isSecure(ctx.config);
  return {
    address: request.ip,
    browser: request.headers['user-agent'] ?? '',
    request_id: request.id,
    earlier: readCookie(request, 'session', secure),
    device: readCookie(request, 'device', secure),
  };
}

/**
 * Asks for the password again, before something that a borrowed browser must not do. Errors: 401
 * when the session has ended; 403 when the password is wrong; 409 when the person has none; 429
 * when throttled; 503.
 */
export async function requirePassword(
  ctx: Context,
  request: FastifyRequest,
  password: string,
): Promise<void> {
  await confirmPassword(ctx, visitorOf(ctx, request), request.person, password);
}

/**
 * Runs a change by the person in one transaction; resolves when it is durable. `action` gets the
 * person as of this transaction: session and flags may have ended while the body was on its way. It
 * counts as `amount` writes. Errors: those of `action`; 401 when the session has ended; 403 when
 * the route's flags were removed; 429 when the account's writes of the day are used up.
 */
export function consoleWrite<T>(
  ctx: Context,
  request: FastifyRequest,
  action: (tx: Transaction, person: Person) => Promise<T>,
  amount = 1,
): Promise<T> {
  const { account_name, user_name } = request.person;
  const actor = {
    kind: 'user',
    name: `${account_name}/${user_name}`,
    address: request.ip,
    request_id: request.id,
  } as const;
  const { console: access } = request.routeOptions.config;
  const isOwnSignIn = access && 'may' in access && access.own_sign_in;
  const isUrgent = isRevocation(request);
  return ctx.writes.within(request.person.account_id, (spend) =>
    ctx.db.write(
      actor,
      async (tx) => {
        const person = await requirePerson(tx, request.person, tx.now);
        if (access && 'may' in access) requireFlags(person, access.may);
        const { flags, user_id } = person;
        const revocation = flags.admin ? 'revocation by an admin' : 'revocation';
        const kind = isUrgent ? revocation : 'addition';
        if (!isOwnSignIn) {
          const user = flags.admin ? undefined : user_id;
          spend(tx.now, { kind, amount, is_kept: false, user_id: user });
        }
        return action(tx, person);
      },
      { isUrgent },
    ),
  );
}
