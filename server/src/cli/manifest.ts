// The file of "exitward apply": YAML, read with the line of each field, so that a fault names its
// place.
import {
  type Document,
  type ErrorCode,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
} from 'yaml';
import { Failure, UsageFault } from '../../../kit/src/cli/failures.ts';
import { readInput } from '../../../kit/src/cli/input.ts';
import { timeFrom } from '../../../kit/src/cli/values.ts';
import { FaultyFile } from './failures.ts';
import { size } from './values.ts';

/** The document as the API takes it, and the line of each path in it (`accounts/0/limit`). */
export interface ManifestFile {
  /** Undefined where the file has none, which is one of its faults. */
  name: string | undefined;
  body: Record<string, unknown>;
  lineOf(path: string): number | undefined;
  /** Faults found without the server, each with its line and field. */
  faults: string[];
}

/** Fields that people write in words, and the corresponding fields of the API. */
const inWords: Record<string, readonly [field: string, read: (text: string) => number]> = {
  limit: ['limit_bytes', size],
  expiry: ['expiry', moment],
  start: ['start', moment],
  active_until: ['active_until', moment],
};

/** The commonest faults of the library's reader; its own sentences are about its parts. */
const syntaxFaults: Partial<Record<ErrorCode, string>> = {
  BAD_DQ_ESCAPE: 'a backslash escapes nothing here; expected single quotes around the text',
  BAD_INDENT: 'the indentation is that of no line above',
  BAD_SCALAR_START: 'a text that begins with @ or ` is expected in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a second colon; expected each field on its own line, or the text in quotes',
  DUPLICATE_KEY: 'a field is given twice; expected it once',
  MISSING_CHAR: 'a quote, a bracket, a comma or a colon is missing',
  MULTILINE_IMPLICIT_KEY: 'a colon is missing, or quotes around a text of several lines',
  MULTIPLE_DOCS: 'a second document begins; expected one',
  TAB_AS_INDENT: 'indented by a tab; expected spaces',
};

/** A fixed time: "+30d" would change with every application. */
function moment(text: string): number {
  if (text.startsWith('+')) {
    throw new UsageFault(
      `${JSON.stringify(text)} is another time each day; expected such as 2027-01-31`,
    );
  }
  return timeFrom(text, 0);
}

/**
 * Errors: a failure when the file cannot be read, or is not YAML; it names the line of each fault.
 */
export function readManifest(file: string): ManifestFile {
  const text = readInput(file);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineOf = (path: string) => lineAt(document, lines, path);
  if (document.errors.length > 0) {
    throw new FaultyFile(
      file,
      document.errors.map(
        ({ pos: [at], code }) =>
          `line ${lines.linePos(at).line}: ${syntaxFaults[code] ?? 'this is not valid YAML'}`,
      ),
    );
  }
  const faults: string[] = [];
  const read = converted(plainValue(document, file), [], (path, message) => {
    faults.push(`line ${lineOf(path) ?? 1}, ${path}: ${message}`);
  });
  const { manifest: name, ...body } = (read ?? {}) as Record<string, unknown>;
  if (isNamed(name)) return { name, body, lineOf, faults };
  const line = lineOf('manifest') ?? 1;
  faults.unshift(`line ${line}, manifest: expected a short name, by which the file is known again`);
  return { name: undefined, body, lineOf, faults };
}

/** Errors: a failure for aliases that stand for too much, or for nothing. */
function plainValue(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch {
    throw new Failure(`${file}: its aliases (*name) stand for nothing, or for too much.`);
  }
}

const isNamed = (name: unknown): name is string =>
  typeof name === 'string' && /^[\w.@-]{1,63}$/.test(name);

type Report = (path: string, message: string) => void;

/** The value with its words parsed: sizes and times. */
function converted(value: unknown, path: readonly string[], report: Report): unknown {
  if (Array.isArray(value)) {
    return value.map((item, at) => converted(item, [...path, String(at)], report));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, item]) => {
      const [name, read] = inWords[field] ?? [];
      if (!name || !read || item === null)
        return [name ?? field, converted(item, [...path, field], report)];
      try {
        return [name, read(String(item))];
      } catch (error) {
        if (!(error instanceof UsageFault)) throw error;
        report([...path, field].join('/'), error.message);
        return [name, 0];
      }
    }),
  );
}

/** The line of a path, or of the nearest element around it. */
function lineAt(document: Document, lines: LineCounter, path: string): number | undefined {
  let node: unknown = document.contents;
  let at: number | undefined;
  for (const word of path.split('/').filter(Boolean)) {
    let next: unknown;
    if (isSeq(node)) next = node.items[Number(word)];
    else if (isMap(node)) {
      const written = Object.entries(inWords).find(([, [field]]) => field === word)?.[0];
      const pair = node.items.find(
        ({ key }) => isScalar(key) && (key.value === word || key.value === written),
      );
      if (isScalar(pair?.key)) at = pair.key.range?.[0] ?? at;
      next = pair?.value;
    }
    if (next === undefined) break;
    node = next;
    if (isMap(node) || isSeq(node)) at = isSeq(node) ? at : (node.range?.[0] ?? at);
  }
  return at === undefined ? undefined : lines.linePos(at).line;
}
