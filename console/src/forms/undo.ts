// The undo that a toast offers after a change.

import { explain } from '../api/sentences.ts';
import { now } from '../now.ts';
import { notify, notifyError } from '../ui/ui.ts';

interface Limits {
  /** Keys of what is undone: a later message about the same replaces this one. */
  about?: readonly string[];
  /** Epoch seconds after which it cannot be undone: an expired entry cannot be restored. */
  until?: number;
}

/** For `notify`: runs `action`, and shows the sentence that it returns, or the error. */
export function undoBy(action: () => Promise<string>, { about = [], until }: Limits = {}) {
  const undo = async () => {
    try {
      notify(await action(), { about });
    } catch (error) {
      notifyError(`Undo failed. ${explain(error).sentence}`);
    }
  };
  return { undo, about, ...(until === undefined ? {} : { undoSeconds: until - now.value }) };
}
