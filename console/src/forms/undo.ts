// The way back that a toast offers after a change.
import { explain } from '../sentences.ts';
import { complain, say } from '../ui/toast.tsx';

/** For `say`: does `action`, and says the words that it answers, or why it did not work. */
export function undoBy(action: () => Promise<string>): { undo: () => void } {
  const undo = async () => {
    try {
      say(await action());
    } catch (error) {
      complain(`It could not be undone. ${explain(error).sentence}`);
    }
  };
  return { undo: () => void undo() };
}
