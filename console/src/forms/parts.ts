// Many rows at once: the server takes a thousand in a request, so that others needn't wait. Each
// part is done as a whole or not at all.
import { notifyError } from '../ui/ui.ts';

const maxInPart = 1000;

/**
 * Sends the items part by part; returns the responses. When a part fails, the parts before it stay
 * done, and a message says how many they are. Errors: that of the part.
 */
export async function inParts<T, R>(
  items: readonly T[],
  send: (part: T[]) => Promise<R>,
  max = maxInPart,
): Promise<R[]> {
  const responses: R[] = [];
  for (let at = 0; at < items.length; at += max) {
    try {
      responses.push(await send(items.slice(at, at + max)));
    } catch (error) {
      if (at > 0) {
        const [done, all] = [at, items.length].map((count) => count.toLocaleString('en'));
        notifyError(`The first ${done} of ${all} are done; the others aren’t.`);
      }
      throw error;
    }
  }
  return responses;
}
