// Explains an address that another account or user has listed: what its reader can do.
import { ApiError } from '../api/api.ts';
import { explain } from '../api/sentences.ts';
import type { Fault } from '../ui/ui.ts';

/**
 * Adds the next step for readers who cannot remove the other entry. Admins can, and other users can
 * remove the entries that they see (`isSeen`).
 */
export function explainListed(error: unknown, isSeen: boolean): Fault {
  const explained = explain(error);
  const isTaken = error instanceof ApiError && error.code === 'address_taken';
  if (!isTaken || isSeen) return explained;
  return { ...explained, sentence: `${explained.sentence} Ask an admin, or use a token.` };
}
