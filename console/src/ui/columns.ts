// The columns of a table: how each is laid out, and which are shown in the available room.
import type { ComponentChildren } from 'preact';

export interface Column<T> {
  heading: string;
  cell: (row: T) => ComponentChildren;
  /** Figures, aligned to the right. */
  numeric?: boolean;
  /** The cell that names the row. It is always shown. */
  names?: boolean;
  /** Text that may be cut. */
  cut?: boolean;
  /** The same; this column takes the remaining room. */
  grows?: boolean;
  /** Whether a row has a value in it; many may have none. */
  fills?: (row: T) => boolean;
  /** Columns with a rank leave a narrow table, the highest rank first. */
  rank?: number;
  /** The least room, in rem, in which it is worth showing. */
  needs?: number;
  /** Shown only when it is selected. */
  isExtra?: boolean;
  /**
   * On a phone: the word before the value, where the value alone is unclear: "expires". Figures
   * have one: their heading, if no other; none if it is empty.
   */
  word?: string;
  /** The name of the order by this column, if the table can be sorted. */
  sort?: string;
}

/** The columns that a person added or removed, as a text for the address, and its setter. */
export interface ColumnChoice {
  text: string;
  set: (text: string) => void;
}

/** The word before the value on a phone; a name or an abbreviation keeps its capitals. */
export function wordOf({
  heading,
  word,
  numeric,
}: Omit<Column<never>, 'cell' | 'fills'>): string | undefined {
  if (word !== undefined || !numeric) return word || undefined;
  return /^[A-Z][a-z]/.test(heading) ? heading[0]?.toLowerCase() + heading.slice(1) : heading;
}

/** The parts of a column that decide whether it is shown. */
type Fitting = Omit<Column<never>, 'cell' | 'fills'>;

const needsOf = ({ needs, names, grows, cut }: Fitting) =>
  needs ?? (names || grows ? 10 : cut ? 8 : 6.5);

const partsOf = (text: string) => new Set(text.split(',').filter(Boolean));

/** Whether a table with this choice and room for all its columns shows this one. */
export function isWanted({ heading, names, isExtra }: Fitting, choice: string): boolean {
  const parts = partsOf(choice);
  return names || (isExtra ? parts.has(heading) : !parts.has(`-${heading}`));
}

/** The choice after this column was added or removed. */
export function withColumn(column: Fitting, choice: string): string {
  const { heading, isExtra } = column;
  const parts = partsOf(choice);
  const part = isExtra ? heading : `-${heading}`;
  if (!parts.delete(part)) parts.add(part);
  return [...parts].join(',');
}

/**
 * The columns that are shown in `room` rem, in their order: those that no row fills leave first,
 * then the others by rank. An extra column that a person added stays, whatever its rank.
 */
export function columnsIn<C extends Fitting>(
  columns: readonly C[],
  choice: string,
  room: number,
  isFilled: (column: C) => boolean = () => true,
): C[] {
  const shown = new Set(columns.filter((column) => isWanted(column, choice)));
  let needed = [...shown].reduce((sum, column) => sum + needsOf(column), 0);
  const leaving = [...shown]
    .map((column) => ({ column, rank: isFilled(column) ? (column.rank ?? 0) : Infinity }))
    .filter(({ column, rank }) => rank > 0 && !column.isExtra)
    .reverse()
    .sort((a, b) => (a.rank === b.rank ? 0 : b.rank - a.rank))
    .map(({ column }) => column);
  for (const column of leaving) {
    if (needed <= room) break;
    shown.delete(column);
    needed -= needsOf(column);
  }
  return [...shown];
}

/**
 * The widths of columns for a grid: each as wide as its content, cut texts down to nothing. The
 * room that is left goes to the column that grows, or to all alike.
 */
export const gridOf = (columns: readonly Fitting[]) =>
  columns.map(({ grows }) => (grows ? 'minmax(9rem, 1fr)' : 'auto')).join(' ');
