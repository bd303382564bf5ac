// A page that listens: opens a stream of server-sent events and keeps what it hears.
import { until } from './waiting.ts';

/** The versions in an event: opaque for accounts, numbers for operators. */
export type Heard = Record<string, string | number>;

export class EventStream {
  /** The data of the `change` events, in order. */
  readonly heard: Heard[] = [];
  readonly headers: Headers;
  comments = 0;
  /** Set when the server ended the stream. */
  hasEnded = false;
  readonly #controller: AbortController;

  private constructor(response: Response, controller: AbortController) {
    this.headers = response.headers;
    this.#controller = controller;
    void this.#read(response.body as ReadableStream<Uint8Array>).catch(() => {
      this.hasEnded = true;
    });
  }

  /** Errors: an Error with status and body for any answer but 200. */
  static async open(url: string, headers: Record<string, string>): Promise<EventStream> {
    const controller = new AbortController();
    const response = await fetch(url, { headers, signal: controller.signal });
    if (response.status === 200) return new EventStream(response, controller);
    throw new Error(`${response.status} ${await response.text()}`);
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    let text = '';
    for await (const chunk of body) {
      text += new TextDecoder().decode(chunk);
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        this.#take(text.slice(0, end));
        text = text.slice(end + 2);
      }
    }
    this.hasEnded = true;
  }

  #take(block: string): void {
    if (block.startsWith(':')) this.comments += 1;
    const data = /^event: change\ndata: (.*)$/.exec(block)?.[1];
    if (data !== undefined) this.heard.push(JSON.parse(data));
  }

  /** Resolves when `met` holds. Errors: after ten seconds, with what was heard. */
  async until(met: (stream: EventStream) => boolean): Promise<void> {
    const otherwise = () => `not heard in time; heard ${JSON.stringify(this.heard)}`;
    await until(() => met(this), 10, otherwise);
  }

  /** Resolves with the next event after those heard so far, once `action` has been done. */
  async next(action: () => Promise<unknown>): Promise<Heard> {
    const before = this.heard.length;
    await action();
    await this.until(({ heard }) => heard.length > before);
    return this.heard.at(-1) as Heard;
  }

  stop(): void {
    this.#controller.abort();
  }
}
