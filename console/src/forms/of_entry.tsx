// A dialog about one entry of a list that comes in pages, whose address names its id: also of one that no page has that was read.
import type { ComponentChildren } from 'preact';
import { ApiError } from '../api/api.ts';
import { type AccountResponse, useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { Dialog, Unread } from '../ui/ui.ts';
import { OfRecord } from './form_dialog.tsx';

interface OfEntryProps<Name extends keyof RowOf> {
  /** Reads one. */
  read: Name;
  /** Those that are shown already. */
  rows: ReadonlyArray<Row<Name>>;
  /** As the address has it. */
  id: string;
  /** Its key, if that is not its id: in a row, in the path, and in "alice is not there any more." */
  named?: { keyOf: (row: Row<Name>) => string; path: object; name: string };
  onClose: () => void;
  /** The dialog. */
  children: (entry: Row<Name>) => ComponentChildren;
}

interface RowOf {
  get_authlist_entry: AccountResponse<'list_authlist'>[number];
  get_override: AccountResponse<'list_overrides'>[number];
  get_user: AccountResponse<'list_users'>[number];
}
type Row<Name extends keyof RowOf> = RowOf[Name];

export function OfEntry<Name extends keyof RowOf>({
  read,
  rows,
  id,
  named = { keyOf: (row) => String(row.id), path: { id }, name: 'The entry' },
  onClose,
  children,
}: OfEntryProps<Name>) {
  const { keyOf, path, name } = named;
  const is = (one: Row<Name>) => keyOf(one) === id;
  const isShown = rows.some(is);
  const given = { path } as never;
  const reading = useReadIn(useScope(), read, given, { enabled: !isShown });
  const { data, error } = reading;
  const isGone = error instanceof ApiError && error.status === 404;
  const found = isGone ? [] : data && [data as Row<Name>];
  const unread = !isGone && Boolean(error) && (
    <Dialog title={name} onClose={onClose}>
      <Unread of={reading} what="it" />
    </Dialog>
  );
  return <OfRecord list={isShown ? rows : found} {...{ is, name, unread, onClose, children }} />;
}
