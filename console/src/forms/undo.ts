// The way back that a toast offers after a change.

import { explain } from '../api/sentences.ts';
import { now } from '../now.ts';
import { notify, notifyError } from '../ui/ui.ts';

interface Limits {
  /** Keys of what is undone: a later message about the same takes the place of this one. */
  about?: readonly string[];
  /** Epoch seconds from which on it cannot be undone: an entry that has expired cannot come back. */
  until?: number;
}

/** For `notify`: does `action`, and shows the sentence that it returns, or why it did not work. */
export function undoBy(action: () => Promise<string>, { about = [], until }: Limits = {}) {
  const undo = async () => {
    try {
      notify(await action(), { about });
    } catch (error) {
      notifyError(`It could not be undone. ${explain(error).sentence}`);
    }
  };
  return { undo, about, ...(until === undefined ? {} : { undo_seconds: until - now.value }) };
}
