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
}

export function FilterBar({ first, values, look = '', children }: FilterBarProps) {
  const id = useId();
  const [isOpen, setIsOpen] = useState(false);
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
      </div>
    </search>
  );
}
