// Server-sent events, read as they come: eventsource-parser, fed with bytes and bounded in what it holds.
import { createParser, type EventSourceMessage } from 'eventsource-parser';

export type ServerEvent = EventSourceMessage;

/** An event that would have to be held in memory and is longer than is sensible. */
export class EventTooLong extends Error {}

export class EventReader {
  readonly #decoder = new TextDecoder();
  readonly #parser;
  #events: ServerEvent[] = [];
  #heldBytes = 0;

  /** `most`: characters of the lines of one event that are held until its end has come. */
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
        // The others are fields that are not known; the standard passes them over.
        begin();
      },
    });
  }

  /** Bytes since the last event or comment: of an event that is not whole yet. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** The events that are whole by these bytes, a piece of the stream cut anywhere. Errors: EventTooLong. */
  read(bytes: Uint8Array): ServerEvent[] {
    this.#events = [];
    this.#heldBytes += bytes.length;
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }));
    return this.#events;
  }
}
