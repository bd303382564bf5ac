// The scope of a page: the account that it shows, the viewer, and what they may do. Users and
// operators share the pages of an account.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { addressOf, paths } from '../paths.ts';
import { flags, readOnlyReason, type Session, session } from './session.ts';

export interface Scope {
  account: string;
  /** The beginning of the paths of the account's resources. */
  base: '/console' | `/admin/accounts/${string}`;
  isOperator: boolean;
  /** The user who is signed in; undefined for operators. */
  user: string | undefined;
  flags: Session['user']['flags'];
  /** The reason why the account's records cannot be changed now; operators always can. */
  readOnlyReason: string | undefined;
  /** The paths of this console's pages for the account. */
  paths: {
    server: (name: string) => string;
    authlist: string;
    users: string;
    user: (name: string) => string;
    activity: string;
    refusalsOf: (user: string) => string;
    usage: string;
    connections: string;
  };
}

/** The scope of the user who is signed in; it follows the session. */
export function personScope(): Scope {
  const { account, user } = session.value as Session;
  return {
    account,
    base: '/console',
    isOperator: false,
    user: user.name,
    flags: flags.value,
    readOnlyReason: readOnlyReason.value || undefined,
    paths: { ...paths, refusalsOf: (user) => addressOf(paths.refusals, { user }) },
  };
}

/** The scope of an operator who looks at an account. */
export function operatorScope(account: string): Scope {
  const at = (part: string) => paths.operator.account(account, part);
  return {
    account,
    base: `/admin/accounts/${encodeURIComponent(account)}`,
    isOperator: true,
    user: undefined,
    flags: { admin: true, billing: true, proxy: true },
    readOnlyReason: undefined,
    paths: {
      server: paths.operator.server,
      authlist: at('authlist'),
      users: at('users'),
      user: (name) => at(`users/${encodeURIComponent(name)}`),
      activity: at('audit'),
      refusalsOf: (user) => addressOf(at('refusals'), { user }),
      usage: at('usage'),
      connections: at('connections'),
    },
  };
}

export const ScopeContext = createContext<Scope | undefined>(undefined);

/** The scope of the surrounding page. */
export function useScope(): Scope {
  const scope = useContext(ScopeContext);
  if (!scope) throw new Error('there is no scope around this page');
  return scope;
}
