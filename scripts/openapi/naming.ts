// The ids of operations, as far as they follow from method and path.
import { singular } from './samples.ts';

const verbs: Record<string, string> = {
  get: 'get',
  post: 'create',
  put: 'set',
  patch: 'change',
  delete: 'remove',
};

/**
 * `get /admin/accounts/{account}/tokens` that lists: `admin_list_account_tokens`; with the name
 * `revoke_tokens` of its own:
 * `admin_revoke_account_tokens`. An operation on one user of an account does not name the account.
 */
export function operationIdOf(method: string, path: string, lists: boolean, own?: string): string {
  const [audience = '', ...nouns] = path
    .split('/')
    .filter((part) => part !== '' && !part.startsWith('{'))
    .map((part) => part.replaceAll('-', '_'));
  const last = nouns.length - 1;
  const words = nouns.map((noun, at) => (lists && at === last ? noun : singular(noun)));
  const usual = [lists ? 'list' : (verbs[method] ?? method), ...words].join('_');
  const isOfAccount = path.includes('/{account}/') && !path.includes('/{user}');
  const name = isOfAccount ? own?.replace(/^(remove_all|[a-z]+)_/, '$&account_') : own;
  return [...(audience === 'v0' ? [] : [audience]), name ?? usual].join('_');
}
