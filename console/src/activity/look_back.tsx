// A list that is read back in time, such as the audit log: further, page by page, while nothing
// matches.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Pages } from '../api/paging.ts';
import { count } from '../format.ts';
import { Button, Empty, Loaded } from '../ui/ui.ts';

const maxPages = 10;

/**
 * Reads more pages by itself while there are no matches, up to a limit, then on request. `search`
 * identifies the search, `matchCount` is its number of matches. Returns the verb of a button for
 * older records, and its action.
 */
function useLookBack(pages: Pages<unknown>, search: string, matchCount: number) {
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

interface LookBackProps {
  pages: Pages<unknown>;
  /** Identifies the search. */
  search: string;
  /** "the activity" */
  name: string;
  /** "record" */
  noun: string;
  isFiltering: boolean;
  onClear: () => void;
  /** Saves the matches in a file. */
  exporter: ComponentChildren;
  /** The texts for an empty list without filters, and for no matches. */
  empty: { title: string; text: string; noMatch: string };
  children: ComponentChildren;
}

/** How many rows match, the rows, and a button for older ones. */
export function LookBack(props: LookBackProps) {
  const { pages, search, name, noun, isFiltering, onClear, exporter, empty, children } = props;
  const rowCount = pages.rows.data?.length ?? 0;
  const { verb, readOlder } = useLookBack(pages, search, rowCount);
  const noMatch = pages.hasMore
    ? `No matches so far. Older ${noun}s haven’t been searched yet.`
    : empty.noMatch;
  return (
    <Loaded reading={pages.rows} name={name}>
      {() => (
        <div class="paged-table" aria-busy={pages.isOld || undefined}>
          <div class="row">
            <p class="note" role="status">
              {(rowCount > 0 || isFiltering) &&
                `${count(rowCount, noun)}${pages.hasMore ? ' so far' : isFiltering ? ' found' : ''}.`}
            </p>
            {isFiltering && (
              <Button kind="quiet" onClick={onClear}>
                Clear the filters
              </Button>
            )}
            {rowCount > 0 && <span class="row-end">{exporter}</span>}
          </div>
          {rowCount === 0 ? (
            <Empty title={isFiltering ? 'No matches' : empty.title}>
              {isFiltering ? noMatch : empty.text}
            </Empty>
          ) : (
            children
          )}
          {pages.hasMore && (
            <p>
              <Button busy={pages.isReading} onClick={readOlder}>
                {verb}
              </Button>
            </p>
          )}
        </div>
      )}
    </Loaded>
  );
}
