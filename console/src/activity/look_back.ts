// Looking for older records of one kind in the audit log, page by page.
import { useEffect, useRef } from 'preact/hooks';
import type { Pages } from '../api/paging.ts';

const most_pages = 10;

/**
 * Reads on by itself while none of the records read is of the chosen kind (empty: all): some pages, and then
 * when it is asked. `found`: how many of the records read are of it. Returns the verb of a button for older
 * records, and its action.
 */
export function useLookBack(pages: Pages<unknown>, kind: string, found: number) {
  const { rows, hasMore, isReading, readMore } = pages;
  const left = useRef({ kind, pages: most_pages });
  if (left.current.kind !== kind) left.current = { kind, pages: most_pages };
  const isLooking = kind !== '' && found === 0 && hasMore;
  useEffect(() => {
    if (!isLooking || isReading || rows.error || left.current.pages === 0) return;
    left.current.pages -= 1;
    readMore();
  });
  return {
    verb: isLooking ? 'Look further back' : 'Older',
    readOlder: () => {
      left.current.pages = most_pages;
      readMore();
    },
  };
}
