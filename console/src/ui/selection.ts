// Rows that are chosen: by a checkbox each, a range with shift, and from row to row by the arrow keys.
import { useEffect, useRef, useState } from 'preact/hooks';

export type RowKey = string | number;

export interface Selection {
  keys: ReadonlySet<RowKey>;
  /** Chooses a row or not; with `isRange` all from the one that was last chosen by hand up to it. */
  set: (key: RowKey, isChosen: boolean, isRange: boolean) => void;
  setAll: (isChosen: boolean) => void;
}

/** `keys`: those of the rows that are shown, in their order. A row that is no longer shown is no longer chosen. */
export function useSelection(keys: readonly RowKey[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<RowKey>>(new Set());
  const anchor = useRef<RowKey>();
  const shown = new Set(keys.filter((key) => chosen.has(key)));
  useEffect(() => {
    if (shown.size < chosen.size) setChosen(shown);
  }, [shown.size, chosen.size]);
  return {
    keys: shown,
    set: (key, isChosen, isRange) => {
      const [from, to] = [keys.indexOf(anchor.current ?? key), keys.indexOf(key)];
      const range =
        isRange && from >= 0 ? keys.slice(Math.min(from, to), Math.max(from, to) + 1) : [key];
      const next = new Set(shown);
      for (const one of range) {
        if (isChosen) next.add(one);
        else next.delete(one);
      }
      if (!isRange) anchor.current = key;
      setChosen(next);
    },
    setAll: (isChosen) => {
      anchor.current = undefined;
      setChosen(new Set(isChosen ? keys : []));
    },
  };
}
