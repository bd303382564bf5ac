// The filters of a list. On a phone they are folded behind a button that says how many are active.
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { Button } from './button.tsx';

interface FilterBarProps {
  /** The field that is always there, such as the search. */
  first?: ComponentChildren;
  /** The values of the folded filters: empty ones filter nothing. */
  values: ReadonlyArray<string | undefined>;
  /** A class of the bar. */
  look?: string;
  /** The fields. */
  children: ComponentChildren;
  /** Fields that are seldom needed: behind a button on wide screens too, until one is filled in. */
  rareFields?: ComponentChildren;
  /** The values of these, which are among `values`. */
  rareValues?: ReadonlyArray<string | undefined>;
}

export function FilterBar(props: FilterBarProps) {
  const { first, values, look = '', children, rareFields, rareValues = [] } = props;
  const id = useId();
  const moreId = useId();
  const [isOpen, setIsOpen] = useState(false);
  const [isMore, setIsMore] = useState(rareValues.some(Boolean));
  const active = values.filter(Boolean).length;
  return (
    <search class={`filters ${look}`}>
      {first}
      <span class="filters-button">
        <Button aria-expanded={isOpen} aria-controls={id} onClick={() => setIsOpen(!isOpen)}>
          {active > 0 ? `Filters (${active})` : 'Filters'}
        </Button>
      </span>
      <div id={id} class="filters-folded" data-open={isOpen}>
        {children}
        {rareFields && (
          <>
            <span class="filters-more-button">
              <Button
                aria-expanded={isMore}
                aria-controls={moreId}
                onClick={() => setIsMore(!isMore)}
              >
                {isMore ? 'Fewer filters' : 'More filters'}
              </Button>
            </span>
            <div id={moreId} class="filters-more" data-open={isMore}>
              {isMore && rareFields}
            </div>
          </>
        )}
      </div>
    </search>
  );
}
