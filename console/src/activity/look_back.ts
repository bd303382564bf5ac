// Looking further back in the audit log while nothing was found, page by page.
import { useEffect, useRef } from 'preact/hooks';
import type { Pages } from '../api/paging.ts';

const most_pages = 10;

/**
 * Reads on by itself while nothing was found: some pages, and then when it is asked. `search` names what is looked for,
 * `found` says how much of it there is. Returns the verb of a button for older records, and its action.
 */
export function useLookBack(pages: Pages<unknown>, search: string, found: number) {
  const { rows, hasMore, isReading, readMore } = pages;
  const left = useRef({ search, pages: most_pages });
  if (left.current.search !== search) left.current = { search, pages: most_pages };
  const isLooking = found === 0 && hasMore;
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
