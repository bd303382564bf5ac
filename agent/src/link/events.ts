// Server-sent events, read as they arrive: eventsource-parser, with a bound on what it holds.
import { createParser, type EventSourceMessage } from 'eventsource-parser';

export type ServerEvent = EventSourceMessage;

/** An event that is longer than may be held in memory. */
export class EventTooLong extends Error {}

export class EventReader {
  readonly #decoder = new TextDecoder();
  readonly #parser;
  #events: ServerEvent[] = [];
  #heldBytes = 0;

  /** `maxCharacters`: how much of an unfinished event may be held, in characters of its lines. */
  constructor(maxCharacters: number) {
    const begin = () => {
      this.#heldBytes = 0;
    };
    this.#parser = createParser({
      maxBufferSize: maxCharacters,
      onEvent: (event) => {
        this.#events.push(event);
        begin();
      },
      onComment: begin,
      onRetry: begin,
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded') {
          throw new EventTooLong(
            `an event of the stream is longer than ${maxCharacters} characters`,
          );
        }
        // Other lines are unknown fields, which the standard ignores.
        begin();
      },
    });
  }

  /** Bytes since the last event or comment, of an event that is not complete yet. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** The events that these bytes complete; the stream may be cut anywhere. Errors: EventTooLong. */
  read(bytes: Uint8Array): ServerEvent[] {
    this.#events = [];
    this.#heldBytes += bytes.length;
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }));
    return this.#events;
  }
}
