// Reads further back in the audit log, page by page, while there are no matches.
import { useEffect, useRef } from 'preact/hooks';
import type { Pages } from '../api/paging.ts';

const maxPages = 10;

/**
 * Reads more pages by itself while there are no matches, up to a limit, then on request. `search`
 * identifies the search, `matchCount` is its number of matches. Returns the verb of a button for
 * older records, and its action.
 */
export function useLookBack(pages: Pages<unknown>, search: string, matchCount: number) {
  const { rows, hasMore, isReading, readMore } = pages;
  const remaining = useRef({ search, pages: maxPages });
  if (remaining.current.search !== search) remaining.current = { search, pages: maxPages };
  const isLooking = matchCount === 0 && hasMore;
  useEffect(() => {
    if (!isLooking || isReading || rows.error || remaining.current.pages === 0) return;
    remaining.current.pages -= 1;
    readMore();
  });
  return {
    verb: isLooking ? 'Look further back' : 'Older',
    readOlder: () => {
      remaining.current.pages = maxPages;
      readMore();
    },
  };
}
