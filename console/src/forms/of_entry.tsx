// A dialog about one entry of a list in pages, whose id is in the address. The entry need not be on
// a page that was read.
import type { ComponentChildren } from 'preact';
import { ApiError } from '../api/api.ts';
import { type AccountResponse, useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { Dialog, Unread } from '../ui/ui.ts';
import { OfRecord } from './form_dialog.tsx';

interface OfEntryProps<Name extends keyof RowOf> {
  /** The operation that reads one entry. */
  read: Name;
  /** The rows that are shown already. */
  rows: ReadonlyArray<Row<Name>>;
  /** The id from the address. */
  id: string;
  /** The key, if it is not the id: in a row, in the path, and in "alice no longer exists." */
  named?: { keyOf: (row: Row<Name>) => string; path: object; name: string };
  onClose: () => void;
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
  const is = (row: Row<Name>) => keyOf(row) === id;
  const isShown = rows.some(is);
  const given = { path } as never;
  const reading = useReadIn(useScope(), read, given, { enabled: !isShown });
  const { data, error } = reading;
  const isGone = error instanceof ApiError && error.status === 404;
  const records = isGone ? [] : data && [data as Row<Name>];
  const unread = !isGone && Boolean(error) && (
    <Dialog title={name} onClose={onClose}>
      <Unread reading={reading} name="it" />
    </Dialog>
  );
  return <OfRecord list={isShown ? rows : records} {...{ is, name, unread, onClose, children }} />;
}
