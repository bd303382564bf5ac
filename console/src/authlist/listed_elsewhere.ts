// An address that cannot be listed because another account or user has listed it: what its reader can do.
import { ApiError } from '../api/api.ts';
import { explain } from '../api/sentences.ts';
import type { Fault } from '../ui/ui.ts';

/** Adds the way on for a reader who cannot remove the other entry, as admins can, and others the entries that they see. */
export function explainListed(error: unknown, isSeen: boolean): Fault {
  const explained = explain(error);
  const isTaken = error instanceof ApiError && error.code === 'address_taken';
  if (!isTaken || isSeen) return explained;
  return { ...explained, sentence: `${explained.sentence} Ask an admin, or use a token.` };
}
