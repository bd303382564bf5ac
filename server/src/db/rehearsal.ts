// Rehearsals: a change runs in a transaction that is then undone, to show its outcome.
import type { Transaction } from './database.ts';

type Action<T> = (tx: Transaction) => Promise<T>;

/** Ends a rehearsal: no error, but the way to undo its transaction. */
const undo = new Error('The transaction of a rehearsal is undone.');

/**
 * Runs an action with `write`, and undoes all that it wrote. Returns what the action returned.
 * Errors: those of the action, and of `write`.
 */
export async function rehearse<T>(
  write: (action: Action<never>) => Promise<never>,
  action: Action<T>,
): Promise<T> {
  const results: T[] = [];
  try {
    return await write(async (tx) => {
      results.push(await action(tx));
      throw undo;
    });
  } catch (error) {
    if (error !== undo) throw error;
  }
  return results.at(-1) as T;
}
