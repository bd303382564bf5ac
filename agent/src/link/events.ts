// Server-sent events, read as they come: lines of any cut, bounded in length, one by one and together.

export interface ServerEvent {
  /** The last one that was sent; empty before the first. */
  id: string;
  event: string;
  /** Lines of data, joined. */
  data: string;
}

/** A line or an event that would have to be held in memory and is longer than is sensible. */
export class LineTooLong extends Error {}

const newline = 0x0a;
const carriageReturn = 0x0d;
const heldBytes = 4096;

export class EventReader {
  readonly #mostBytes: number;
  /** The line that has no end yet: so many bytes of this. */
  #line = Buffer.allocUnsafe(heldBytes);
  #bytes = 0;
  #id = '';
  #event = '';
  #data: string[] = [];
  /** Of the lines of data, with their ends. */
  #dataBytes = 0;

  /** `mostBytes`: of a line, and of the data of an event. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Of the event that is not whole yet. */
  get heldBytes(): number {
    return this.#dataBytes + this.#bytes;
  }

  /** The events that are whole by these bytes. Errors: LineTooLong. */
  *read(bytes: Uint8Array): Generator<ServerEvent> {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let start = 0;
    for (let end = piece.indexOf(newline); end >= 0; end = piece.indexOf(newline, start)) {
      this.#hold(piece.subarray(start, end));
      start = end + 1;
      const event = this.#takeLine();
      if (event) yield event;
    }
    this.#hold(piece.subarray(start));
  }

  /** Copies what is not a whole line yet: many small pieces would take more than their bytes. */
  #hold(piece: Buffer): void {
    const bytes = this.#bytes + piece.length;
    this.#limit('a line', bytes);
    if (bytes > this.#line.length) {
      const larger = Buffer.allocUnsafe(Math.max(bytes, 2 * this.#line.length));
      this.#line.copy(larger, 0, 0, this.#bytes);
      this.#line = larger;
    }
    piece.copy(this.#line, this.#bytes);
    this.#bytes = bytes;
  }

  #limit(what: string, bytes: number): void {
    if (bytes <= this.#mostBytes) return;
    throw new LineTooLong(`${what} of the stream is longer than ${this.#mostBytes} bytes`);
  }

  #takeLine(): ServerEvent | undefined {
    const held = this.#line.subarray(0, this.#bytes);
    const line = held.at(-1) === carriageReturn ? held.subarray(0, -1) : held;
    this.#bytes = 0;
    if (this.#line.length > heldBytes) this.#line = Buffer.allocUnsafe(heldBytes);
    if (line.length === 0) return this.#finish();
    const text = line.toString();
    const colon = text.indexOf(':');
    const name = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1);
    // A line that begins with a colon is a comment: its name is empty.
    if (name === 'id') this.#id = value;
    else if (name === 'event') this.#event = value;
    else if (name === 'data') {
      this.#dataBytes += Buffer.byteLength(value) + 1;
      this.#limit('an event', this.#dataBytes);
      this.#data.push(value);
    }
    return undefined;
  }

  /** The end of an event; one without data is none. */
  #finish(): ServerEvent | undefined {
    const [event, data] = [this.#event, this.#data];
    this.#event = '';
    this.#data = [];
    this.#dataBytes = 0;
    if (data.length === 0) return undefined;
    return { id: this.#id, event: event || 'message', data: data.join('\n') };
  }
}
