// The bar with the actions on selected rows, which stays visible while rows are selected.
import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';
import type { Selection } from './selection.ts';

interface SelectionBarProps {
  selection: Selection;
  /** The buttons for the actions on selected rows. */
  children: ComponentChildren;
}

export function SelectionBar({ selection, children }: SelectionBarProps) {
  const { whole } = selection;
  const { size } = selection.keys;
  return (
    <section class="selection-bar" aria-label="Selected rows" hidden={size === 0}>
      <p role="status">{size > 0 && `${number(size)} selected`}</p>
      {size > 0 && (
        <div class="actions">
          {whole && size < whole.rows && (
            <Button kind="quiet" busy={whole.isReading} onClick={whole.select}>
              {whole.isAll
                ? `Select all ${number(whole.rows)}`
                : `Select the first ${number(whole.rows)}`}
            </Button>
          )}
          {children}
          <Button kind="quiet" onClick={() => selection.setAll(false)}>
            Clear
          </Button>
        </div>
      )}
    </section>
  );
}

const number = (value: number) => value.toLocaleString('en');
