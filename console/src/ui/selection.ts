// Selected rows: by a checkbox each, a range with shift, and from row to row by the arrow keys.
import { useEffect, useRef, useState } from 'preact/hooks';

export type RowKey = string | number;

export interface Selection {
  keys: ReadonlySet<RowKey>;
  /** Selects or deselects a row; with `isRange` all from the row that was last selected by hand. */
  set: (key: RowKey, isSelected: boolean, isRange: boolean) => void;
  setAll: (isSelected: boolean) => void;
  /** The rows that match, if more than those shown can be selected. */
  whole?: WholeList | undefined;
}

/** All matches of a list, read to be selected. */
export interface WholeList {
  /** How many can be selected at once. */
  rows: number;
  /** Whether these are all. */
  isAll: boolean;
  isReading: boolean;
  select: () => void;
}

/**
 * `keys`: those of the rows that can be selected, in order. A row that is no longer among them is
 * deselected.
 */
export function useSelection(keys: readonly RowKey[]): Selection {
  const [selected, setSelected] = useState<ReadonlySet<RowKey>>(new Set());
  const anchor = useRef<RowKey>();
  const shown = new Set(keys.filter((key) => selected.has(key)));
  useEffect(() => {
    if (shown.size < selected.size) setSelected(shown);
  }, [shown.size, selected.size]);
  return {
    keys: shown,
    set: (key, isSelected, isRange) => {
      const [from, to] = [keys.indexOf(anchor.current ?? key), keys.indexOf(key)];
      const range =
        isRange && from >= 0 ? keys.slice(Math.min(from, to), Math.max(from, to) + 1) : [key];
      const next = new Set(shown);
      for (const key of range) {
        if (isSelected) next.add(key);
        else next.delete(key);
      }
      if (!isRange) anchor.current = key;
      setSelected(next);
    },
    setAll: (isSelected) => {
      anchor.current = undefined;
      setSelected(new Set(isSelected ? keys : []));
    },
  };
}
