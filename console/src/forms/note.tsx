// The note of an entry, and who added it when: in forms, tables and exports.
import { actorName, dateTime } from '../format.ts';
import { Since } from '../relative_time.tsx';
import { type Column, TextField } from '../ui/ui.ts';
import { CutText, Nothing } from './columns.tsx';

interface Noted {
  note: string;
  added_by_kind: string | null;
  added_by: string | null;
  added_at: number | null;
}

interface NoteFieldProps {
  /** The entry that is changed; undefined: a new one. */
  entry?: Noted | undefined;
  hint?: string;
}

export function NoteField({ entry, hint }: NoteFieldProps) {
  const added = entry && entry.added_at !== null && (
    <>
      Added <Added entry={entry} at={entry.added_at} />.
    </>
  );
  return (
    <TextField
      label="Note"
      name="note"
      defaultValue={entry?.note ?? ''}
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
export const noteColumns: Column<Noted>[] = [
  {
    heading: 'Note',
    grows: true,
    fills: ({ note }) => note !== '',
    rank: 1,
    cell: ({ note }) => (note ? <span title={note}>{note}</span> : <Nothing />),
  },
  {
    heading: 'Added',
    rank: 3,
    word: 'added',
    // Ids grow in the order in which entries are added.
    sort: 'id',
    cell: ({ added_at }) => (added_at === null ? <Nothing /> : <Since at={added_at} />),
  },
  {
    heading: 'Added by',
    rank: 4,
    cut: true,
    word: 'by',
    cell: (entry) => <CutText text={adderOf(entry)} />,
  },
];

/** The time and the person, in a sentence. */
const Added = ({ entry, at }: { entry: Noted; at: number }) => (
  <span title={dateTime(at)}>
    <Since at={at} /> by {adderOf(entry)}
  </span>
);
