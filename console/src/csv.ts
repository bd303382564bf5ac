// Tables as CSV files: RFC 4180, and safe to open in a spreadsheet.

type Cell = string | number;

/** A spreadsheet would read such a cell as a formula; the quote makes it text. Numbers are none. */
const isFormula = /^[=+\-@\t\r]/;

function cellText(cell: Cell): string {
  if (typeof cell === 'number') return String(cell);
  const text = isFormula.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Rows; lines end in CRLF, the last one too. */
export const csvLines = (rows: ReadonlyArray<readonly Cell[]>) =>
  rows.map((row) => `${row.map(cellText).join(',')}\r\n`).join('');

/** A header and its rows. */
export const csv = (header: readonly string[], rows: ReadonlyArray<readonly Cell[]>) =>
  csvLines([header, ...rows]);

/** The type of tables. */
const ofTables = 'text/csv;charset=utf-8';
/** Without it spreadsheets read a table by the encoding of their system. */
const byteOrderMark = '\ufeff';

/** Hands a file to the browser's downloads. */
export function download(
  name: string,
  content: BlobPart | BlobPart[],
  type: string = ofTables,
): void {
  const parts = [...(type === ofTables ? [byteOrderMark] : []), ...[content].flat()];
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
