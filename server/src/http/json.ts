// Reads a JSON body strictly: a text that readers could understand differently gets a 400.
import { isUtf8 } from 'node:buffer';
import { quoted } from '../../../kit/src/quoted.ts';
import { badRequest, invalidField } from '../errors.ts';

const deepest = 16;
/** A string, and the colon after it if it is a name. */
const stringToken = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g;
const stringOrMark = new RegExp(`${stringToken.source}|[{}[\\],]`, 'g');
/** The first bytes of each gzip stream. */
const gzip = Buffer.from([0x1f, 0x8b]);
const [quote, colon, backslash] = [0x22, 0x3a, 0x5c];

/**
 * Parses a JSON text in UTF-8.
 * @throws 400 for invalid JSON, more than 16 levels, a repeated field, a NUL or half a surrogate
 * pair (the databases would not keep them alike), a number beyond ±(2^53 - 1) (it would be
 * rounded), or a field named `__proto__`, `constructor` or with quotes, backslashes or control
 * characters.
 */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) {
    const fault = bytes.subarray(0, 2).equals(gzip) ? 'compressed (gzip)' : 'not valid UTF-8';
    throw badRequest(`body: ${fault}; expected JSON encoded as UTF-8, not compressed`);
  }
  const text = bytes.toString('utf8');
  const parsed = parse(text);
  const plain = text.includes('\\') ? withPlainNames(text) : text;
  const value = plain === text ? parsed : JSON.parse(plain);
  // JSON.parse keeps the last of equal names, so a repeated name leaves fewer than were written.
  if (countFields(value, []) !== countColons(plain)) {
    throw invalidField(shown(repeatedName(plain)), `given twice; expected each field once`);
  }
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badRequest(`body: ${syntaxFault(text, (error as Error).message)}`);
  }
}

/** The engine's message without the parts of the body that it quotes: they may end up in a log. */
function syntaxFault(text: string, message: string): string {
  if (text.trim() === '') return 'empty; expected JSON';
  if (text.includes('\0')) return 'contains NUL, as UTF-16 does; expected JSON encoded as UTF-8';
  if (text.startsWith('\ufeff')) return 'starts with a byte order mark; expected JSON without one';
  const [, line, column] = /\(line (\d+) column (\d+)\)$/.exec(message) ?? [];
  const place = line ? ` at line ${line}, column ${column}` : '';
  const cause = message.replace(/^".*|, (?:\.\.\.)?".*| (?:in|after) JSON.*/s, '');
  return `not valid JSON${place}${cause && `: ${cause}`}`;
}

/**
 * A valid JSON text with its names spelled without escapes. V8 13 and 14 read an escaped name
 * wrongly once an earlier text, of any client, had a name like its raw spelling
 * (nodejs/node#63785): after `{"a":0,"us\\u":0}` the second name of `{"a":0,"us\u0065r":0}` comes
 * out as `us\u`.
 */
function withPlainNames(text: string): string {
  return text.replace(stringToken, (token: string, spelling: string, colon: string | undefined) => {
    if (!colon || !spelling.includes('\\')) return token;
    const name = JSON.parse(spelling) as string;
    checkText(name, [name]);
    const plain = JSON.stringify(name);
    if (plain.includes('\\')) {
      throw invalidField(
        quoted(name),
        `not a field; a quote, backslash or control character is in its name`,
      );
    }
    return plain + colon;
  });
}

/** Names of fields and places in lists, from the outermost to the innermost. */
type Path = ReadonlyArray<string | number>;

/**
 * Counts the fields of all objects, and checks depth, names, strings and numbers. `path`: the
 * place of the value, where those of the values in it are written while they are checked.
 */
function countFields(value: unknown, path: Array<string | number>): number {
  if (typeof value === 'string') checkText(value, path);
  if (typeof value === 'number') checkNumber(value, path);
  if (typeof value !== 'object' || value === null) return 0;
  if (path.length >= deepest) {
    throw invalidField(shown(path), `nested too deep; expected at most ${deepest} levels`);
  }
  let fields = 0;
  const inner = path.push(0) - 1;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      path[inner] = at;
      fields += countFields(value[at], path);
    }
  } else {
    for (const [name, item] of Object.entries(value)) {
      path[inner] = name;
      if (name === '__proto__' || name === 'constructor') {
        throw invalidField(shown(path), `not a field that can be given`);
      }
      fields += 1 + countFields(item, path);
    }
  }
  path.pop();
  return fields;
}

function checkText(text: string, path: Path): void {
  if (text.includes('\0') || !text.isWellFormed()) {
    throw invalidField(
      shown(path),
      `holds a NUL or half a surrogate pair; expected Unicode text without them`,
    );
  }
}

function checkNumber(number: number, path: Path): void {
  if (Math.abs(number) > Number.MAX_SAFE_INTEGER) {
    throw invalidField(
      shown(path),
      `number out of range; expected at most ${Number.MAX_SAFE_INTEGER} either way`,
    );
  }
}

/** A place as messages begin with it, `limits.max_connections`; quoted where a name is no word. */
function shown(path: Path): string {
  if (path.length === 0) return 'body';
  const text = path.join('.');
  return path.every((part) => /^\w{1,64}$/.test(String(part))) ? text : quoted(text);
}

/** How many names a valid JSON text contains: its colons outside strings. */
function countColons(text: string): number {
  let colons = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) inString = !inString;
    else if (code === backslash) at++;
    else if (code === colon && !inString) colons += 1;
  }
  return colons;
}

/** The place of the first name that an object repeats, in a valid JSON text with plain names. */
function repeatedName(text: string): Path {
  const open: Array<{ names: Set<string>; at: string | number }> = [];
  for (const [token, spelling, colon] of text.matchAll(stringOrMark)) {
    const innermost = open.at(-1);
    if (token === '{') open.push({ names: new Set(), at: '' });
    else if (token === '[') open.push({ names: new Set(), at: 0 });
    else if (token === '}' || token === ']') open.pop();
    else if (token === ',' && typeof innermost?.at === 'number') innermost.at += 1;
    else if (innermost && spelling && colon) {
      const name = spelling.slice(1, -1);
      innermost.at = name;
      if (innermost.names.has(name)) return open.map(({ at }) => at);
      innermost.names.add(name);
    }
  }
  return [];
}
