// The state of a list that the server sorts and filters: all of it in the address of the page.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useAddressState } from '../address.ts';
import { now } from '../now.ts';
import type { Sorting } from '../ui/ui.ts';

const pause_milliseconds = 200;

/** The text of a field that goes into the address when nobody has typed for a moment: the server is not asked at each letter. */
export function useTyped(
  name: string,
): [text: string, set: (text: string) => void, settled: string] {
  const [settled, settle] = useAddressState(name);
  const [text, setText] = useState(settled);
  const known = useRef(settled);
  useEffect(() => {
    // A link or "back" has changed the address.
    if (known.current !== settled) setText(settled);
    known.current = settled;
  }, [settled]);
  useEffect(() => {
    if (text === settled) return;
    const timer = setTimeout(() => {
      known.current = text;
      settle(text);
    }, pause_milliseconds);
    return () => clearTimeout(timer);
  }, [text]);
  return [text, setText, settled];
}

/** The order of a list: a name in the address, with a "-" before it where it is descending. */
export function useSorting<S extends string>(sorts: readonly S[], standard: S | `-${S}`) {
  const [text, set] = useAddressState('sort', standard);
  const asked = text.replace(/^-/, '') as S;
  const isKnown = sorts.includes(asked);
  const by = isKnown ? asked : (standard.replace(/^-/, '') as S);
  const isDescending = (isKnown ? text : standard).startsWith('-');
  const onSort = (name: string) => set(name === by && !isDescending ? `-${name}` : name);
  const order = isDescending ? ('desc' as const) : ('asc' as const);
  return { sorting: { by, isDescending, onSort } satisfies Sorting, query: { sort: by, order } };
}

/** Options of a filter by what ends soon: seconds from now. */
export const endingOptions = [
  { value: '', text: 'At any time' },
  { value: '3600', text: 'Within an hour' },
  { value: '86400', text: 'Within 24 hours' },
  { value: '604800', text: 'Within 7 days' },
  { value: '2592000', text: 'Within 30 days' },
];

/** The time before which such entries end, as seen when they were asked for; empty: at any time. */
export function useEndsBefore(seconds: string): string {
  return useMemo(
    () => (/^\d{1,9}$/.test(seconds) ? String(now.peek() + Number(seconds)) : ''),
    [seconds],
  );
}

/** The dialog that is open, by its name in the address, with the id of an entry behind it: `change-12`. */
export function useDialogName() {
  const [name, open] = useAddressState('dialog');
  const [, verb = '', id = ''] = /^(.+)-(\d+)$/.exec(name) ?? [];
  return { name, verb, id: Number(id), open, close: () => open('') };
}
