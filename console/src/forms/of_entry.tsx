// A dialog about one entry of a list that comes in pages, whose address names its id: also of one that no page has that was read.
import type { ComponentChildren } from 'preact';
import { ApiError } from '../api/api.ts';
import { type AccountResponse, useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { OfRecord } from './form_dialog.tsx';

interface OfEntryProps<Name extends 'get_authlist_entry' | 'get_override'> {
  /** Reads one. */
  read: Name;
  /** Those that are shown already. */
  rows: ReadonlyArray<Row<Name>>;
  /** As the address has it. */
  id: string;
  onClose: () => void;
  /** The dialog. */
  children: (entry: Row<Name>) => ComponentChildren;
}

interface RowOf {
  get_authlist_entry: AccountResponse<'list_authlist'>[number];
  get_override: AccountResponse<'list_overrides'>[number];
}
type Row<Name extends keyof RowOf> = RowOf[Name];

export function OfEntry<Name extends keyof RowOf>({
  read,
  rows,
  id,
  onClose,
  children,
}: OfEntryProps<Name>) {
  const is = (one: Row<Name>) => String(one.id) === id;
  const isShown = rows.some(is);
  const given = { path: { id } } as never;
  const { data, error } = useReadIn(useScope(), read, given, { enabled: !isShown });
  const isGone = error instanceof ApiError && error.status === 404;
  const found = isGone ? [] : data && [data as Row<Name>];
  return <OfRecord list={isShown ? rows : found} {...{ is, onClose, children }} name="The entry" />;
}
