// The note of an entry, and who added it when: in forms, tables and exports.
import { actorName, dateTime } from '../format.ts';
import { Since } from '../relative_time.tsx';
import { type Column, TextField } from '../ui/ui.ts';

interface Noted {
  note: string;
  added_by_kind: string | null;
  added_by: string | null;
  added_at: number | null;
}

interface NoteFieldProps {
  /** The entry that is changed; undefined: a new one. */
  of?: Noted | undefined;
  hint?: string;
}

export function NoteField({ of, hint }: NoteFieldProps) {
  const added = of && of.added_at !== null && (
    <>
      Added <Added of={of} at={of.added_at} />.
    </>
  );
  return (
    <TextField
      label="Note"
      name="note"
      defaultValue={of?.note ?? ''}
      maxLength={200}
      placeholder="Office Berlin, ticket 4711"
      hint={hint ?? added}
    />
  );
}

/** The name of the actor who added an entry; empty if unknown. */
export const adderOf = ({ added_by_kind, added_by }: Noted): string =>
  added_by === null ? '' : actorName({ actor_kind: added_by_kind ?? '', actor: added_by });

/** Columns of a table of entries. */
export const noteColumn: Column<Noted> = {
  heading: 'Note',
  long: true,
  cell: ({ note }) => (note ? <span title={note}>{note}</span> : <None />),
};
export const addedColumn: Column<Noted> = {
  heading: 'Added',
  long: true,
  // Ids grow in the order in which entries are added.
  sort: 'id',
  cell: (entry) => (entry.added_at === null ? <None /> : <Added of={entry} at={entry.added_at} />),
};

const Added = ({ of, at }: { of: Noted; at: number }) => (
  <span title={`${dateTime(at)}, by ${adderOf(of)}`}>
    <Since at={at} />
    <span class="note"> by {adderOf(of)}</span>
  </span>
);

const None = () => <span class="note nothing">–</span>;
