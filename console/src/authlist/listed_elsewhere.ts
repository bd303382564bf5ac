// Explains that an address is already listed: by which account, and the next step.
import { ApiError } from '../api/api.ts';
import { readPage } from '../api/paging.ts';
import type { Scope } from '../api/scope.ts';
import { explain } from '../api/sentences.ts';
import type { Fault } from '../ui/ui.ts';

/** Whether an address that is taken is on the list that the client sees. */
export async function isOnOwnList(scope: Scope, error: unknown, ip: string): Promise<boolean> {
  if (!isTaken(error)) return false;
  const query = { limit: 100, search: ip };
  const { rows } = await readPage('console_list_authlist', query, {}, scope.base);
  return rows.some((entry) => entry.ip === ip);
}

export const isTaken = (error: unknown) =>
  error instanceof ApiError && error.code === 'address_taken';

type Reader = Pick<Scope, 'isOperator'> & { flags: { admin: boolean } };

/**
 * `isSeen`: the reader sees the other entry, and can remove it. Operators and admins see the whole
 * list of their account: what they do not see is another account's.
 */
export function explainListed(error: unknown, isSeen: boolean, reader: Reader): Fault {
  const explained = explain(error);
  if (!isTaken(error) || isSeen) return explained;
  return { ...explained, sentence: wayOn(explained.sentence, reader) };
}

function wayOn(sentence: string, { isOperator, flags }: Reader): string {
  if (isOperator) return 'Another account lists this address. Look it up under Addresses.';
  if (!flags.admin) return `${sentence} Ask an admin, or use a token.`;
  return 'Another account lists this address. If it is yours, verify it: open this page from there and press “Use my address”, or run “exw authlist add --user NAME” there. It then moves to you, unless the other account has verified it, too.';
}
