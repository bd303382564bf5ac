// The scope of a page: whose account it shows, to whom, and what they may do. People and operators share the pages of an account.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { paths } from '../paths.ts';
import { flags, readOnlyReason, type Session, session } from './session.ts';

export interface Scope {
  account: string;
  /** The paths of the account's resources begin with it. */
  base: '/console' | `/admin/accounts/${string}`;
  isOperator: boolean;
  /** The user who is signed in; operators are none. */
  user: string | undefined;
  flags: Session['user']['flags'];
  /** Why the account's records cannot be changed now, in words; operators can always change them. */
  readOnlyReason: string | undefined;
  /** Where this console shows things of the account. */
  paths: { server: (name: string) => string; authlist: string };
}

/** The scope of whoever is signed in; it follows the session. */
export function personScope(): Scope {
  const { account, user } = session.value as Session;
  return {
    account,
    base: '/console',
    isOperator: false,
    user: user.name,
    flags: flags.value,
    readOnlyReason: readOnlyReason.value || undefined,
    paths,
  };
}

/** The scope of an operator who looks at an account. */
export function operatorScope(account: string): Scope {
  return {
    account,
    base: `/admin/accounts/${encodeURIComponent(account)}`,
    isOperator: true,
    user: undefined,
    flags: { admin: true, billing: true, proxy: true },
    readOnlyReason: undefined,
    paths: {
      server: paths.operator.server,
      authlist: paths.operator.account(account, 'authlist'),
    },
  };
}

export const ScopeContext = createContext<Scope | undefined>(undefined);

/** The scope of the page around. */
export function useScope(): Scope {
  const scope = useContext(ScopeContext);
  if (!scope) throw new Error('there is no scope around this page');
  return scope;
}
