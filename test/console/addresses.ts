// The address of every page of both consoles, from the console's own table of paths: a page that is
// added is among them, or has to be named here.
import { paths } from '../../console/src/paths.ts';

const { operator, ...ofAccount } = paths;

/** Those of a table whose addresses hold a name. */
type Named<T> = {
  [K in keyof T as T[K] extends (...args: never) => string ? K : never]: string[];
};

function addresses(table: object, named: Record<string, string[]>): string[] {
  return Object.entries(table).flatMap(([name, path]) => {
    const paths = typeof path === 'string' ? [path] : named[name];
    if (!paths) throw new Error(`The page "${name}" has no example of its address.`);
    return paths;
  });
}

/** The pages of an account; those with a server's name are of this one. */
export function addressesOfAccount(server: string): string[] {
  return addresses(ofAccount, {
    server: ['', 'exits', 'connected', 'usage', 'test'].map((tab) => ofAccount.server(server, tab)),
    user: [ofAccount.user('alice')],
    // One-time links, for people who are not signed in.
    invite: [],
    enter: [],
  } satisfies Named<typeof ofAccount>);
}

/** The operator's pages, without the parts of an account, which its page names in a menu. */
export function addressesOfOperator(server: string): string[] {
  return addresses(operator, {
    account: [],
    server: [operator.server(server)],
    node: [operator.node(1)],
  } satisfies Named<typeof operator>);
}
