// The scope of a request: its account, and the client's rights there, person or operator.
import type { FastifyRequest } from 'fastify';
import { requireAccountNamed } from '../../accounts/accounts.ts';
import type { AuthlistRules } from '../../authlist/authlist.ts';
import type { Context } from '../../context.ts';
import { requireContractServer } from '../../contract_servers/contract_servers.ts';
import type { Reader, Transaction } from '../../db/database.ts';
import { forbidden } from '../../errors.ts';
import type { OverrideRules } from '../../overrides/overrides.ts';
import { requireServer, type Server } from '../../servers/servers.ts';
import type { Person } from '../../sign_in/sign_in.ts';
import { operatorWrite } from '../operator/checks.ts';
import type { operatorTags } from '../operator/route.ts';
import { consoleWrite, requirePassword } from './checks.ts';

/** The nouns of /console in the API document, in its order. */
export const consoleTags = {
  'Console: sign-in':
    'Signing in with a password and a second factor, by invitation, or by a link; sessions.',
  'Console: account': 'The contract, its usage, and what was changed.',
  'Console: servers': 'The servers of the contract and of the whole network.',
  'Console: users': 'The users of the account, their proxy access tokens, and how they sign in.',
  'Console: API tokens': 'The API tokens of the account.',
  'Console: authlist and custom DNS': "The account's lists, and undoing a removal of all entries.",
  'Console: saved views': 'The views of lists that one has saved in the console.',
  'Console: live': 'Hearing of changes.',
};

/** The account of a request, and how much of it the client may see and change. */
export interface Scope {
  account_id: number;
  account_name: string;
  /** The path above the account's records. */
  path: string;
  /** The one user whose entries are seen and changed, for a person without the admin flag. */
  only_user?: { id: number; name: string } | undefined;
}

/** The nouns of the API document that group the routes. */
export type Noun = 'account' | 'servers' | 'users' | 'sign_in' | 'tokens' | 'lists' | 'usage';

/** Everything that differs between people and operators, except the flags that each route names. */
export interface Audience {
  prefix: '/console' | '/admin/accounts/:account';
  is_operator: boolean;
  tags: Record<Noun, keyof typeof consoleTags | keyof typeof operatorTags>;
  /** Limits and addresses of the lists; whether suspended or expired contracts can be changed. */
  rules: AuthlistRules & OverrideRules & { any_contract: boolean };
  /** Whether the client decides which servers are on the contract, and how much each may carry. */
  chooses_servers: boolean;
  sets_limits: boolean;
  /** Whether one active user with the admin flag must be left: else only an operator could help. */
  keeps_an_admin: boolean;
  makes_sign_in_links: boolean;
  /** Whether an authlist entry without an address lists the client's own; never for operators. */
  lists_own_address: boolean;
  /** Whether the audit log shows the addresses of operators and nodes. */
  sees_all_addresses: boolean;
  scopeOf(request: FastifyRequest): Promise<Scope>;
  /**
   * Runs a change in one transaction; resolves when it is durable. `action` gets the scope as of
   * this transaction. Errors: those of `action`; 401 or 403 when the client's session, flags or
   * token ended while the body was on its way; 404 when the account did; 429 for a person whose
   * account has fewer than `amount` writes (1 by default) left for the day.
   */
  write<T>(request: FastifyRequest, action: Action<T>, amount?: number): Promise<T>;
  /** Asks for the password again, before what a borrowed browser must not do; not for operators. */
  confirmPassword?(request: FastifyRequest, password: string): Promise<void>;
}

type Action<T> = (tx: Transaction, scope: Scope) => Promise<T>;

/** The people of an account, at /console: by a session, each with flags. */
export function people(ctx: Context, rules: AuthlistRules): Audience {
  return {
    prefix: '/console',
    is_operator: false,
    tags: {
      account: 'Console: account',
      servers: 'Console: servers',
      users: 'Console: users',
      sign_in: 'Console: sign-in',
      tokens: 'Console: API tokens',
      lists: 'Console: authlist and custom DNS',
      usage: 'Console: account',
    },
    rules: { ...ctx.config, ...rules, any_contract: false },
    chooses_servers: ctx.config.contract_servers === 'account',
    sets_limits: false,
    keeps_an_admin: true,
    makes_sign_in_links: false,
    lists_own_address: true,
    sees_all_addresses: false,
    scopeOf: async ({ person }) => scopeOfPerson(person),
    write: (request, action, amount) =>
      consoleWrite(ctx, request, (tx, person) => action(tx, scopeOfPerson(person)), amount),
    confirmPassword: (request, password) => requirePassword(ctx, request, password),
  };
}

function scopeOfPerson({ account_id, account_name, flags, user_id, user_name }: Person): Scope {
  const only_user = flags.admin ? undefined : { id: user_id, name: user_name };
  return { account_id, account_name, path: '/console', only_user };
}

/** Operators, at /admin/accounts/{account}: by an operator token, for any account. */
export function operators(ctx: Context): Audience {
  return {
    prefix: '/admin/accounts/:account',
    is_operator: true,
    tags: {
      account: 'Operator: accounts',
      servers: 'Operator: contract servers',
      users: 'Operator: users',
      sign_in: 'Operator: users',
      tokens: 'Operator: API tokens',
      lists: 'Operator: authlist and custom DNS',
      usage: 'Operator: usage',
    },
    rules: { ...ctx.config, any_contract: true, vouches: true },
    chooses_servers: true,
    sets_limits: true,
    keeps_an_admin: false,
    makes_sign_in_links: true,
    lists_own_address: false,
    sees_all_addresses: true,
    scopeOf: (request) => scopeOfPath(ctx.db, request),
    write: (request, action) =>
      operatorWrite(ctx, request, async (tx) => action(tx, await scopeOfPath(tx, request))),
  };
}

async function scopeOfPath(db: Reader, { params }: FastifyRequest): Promise<Scope> {
  const { id, name } = await requireAccountNamed(db, (params as { account: string }).account);
  return { account_id: id, account_name: name, path: `/admin/accounts/${name}` };
}

/** The 403 of routes that call `requireSelf`. */
export const onlyOneself =
  'Without the admin flag: a user other than oneself; or the contract takes no changes.';

/** Errors: 403 when a person without the admin flag names another user, for what `verb` says. */
export function requireSelf(
  { only_user }: Scope,
  user: string | undefined,
  verb: 'name' | 'list addresses for',
): void {
  if (!only_user || user === undefined || user === only_user.name) return;
  throw forbidden(
    `you may ${verb} yourself alone, ${JSON.stringify(only_user.name)}; ask an admin of your account.`,
    { code: 'flag_needed', field: 'user' },
  );
}

/** The server that a filter names. Errors: 404; 403 for people when it is not on the contract. */
export const requireFilterServer = (
  { is_operator }: Audience,
  db: Reader,
  account_id: number,
  name: string,
): Promise<Server> =>
  is_operator ? requireServer(db, name) : requireContractServer(db, account_id, name);
