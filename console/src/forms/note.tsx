// The note of an entry, and who added the entry when: in forms, tables and exports.
import { actorName } from '../activity/sentences.ts';
import { Since } from '../relative_time.tsx';
import { TextField } from '../ui/ui.ts';

interface Noted {
  note: string;
  added_by_kind: string | null;
  added_by: string | null;
  added_at: number | null;
}

export function NoteField({ note = '', hint }: { note?: string | undefined; hint?: string }) {
  return (
    <TextField
      label="Note"
      name="note"
      defaultValue={note}
      maxLength={200}
      placeholder="Office Berlin, ticket 4711"
      hint={hint}
    />
  );
}

/** The name of whoever added an entry, in words; empty where it is not known. */
export const adderOf = ({ added_by_kind, added_by }: Noted): string =>
  added_by === null ? '' : actorName({ actor_kind: added_by_kind ?? '', actor: added_by });

/** Columns of a table of entries. */
export const noteColumns = [
  {
    heading: 'Note',
    long: true,
    cell: ({ note }: Noted) => (note ? <span title={note}>{note}</span> : <None />),
  },
  {
    heading: 'Added',
    long: true,
    // Ids are given in the order in which entries are added.
    sort: 'id',
    cell: (entry: Noted) =>
      entry.added_at === null ? (
        <None />
      ) : (
        <span title={adderOf(entry)}>
          <Since at={entry.added_at} />
          <span class="note"> by {adderOf(entry)}</span>
        </span>
      ),
  },
];

const None = () => <span class="note">–</span>;
