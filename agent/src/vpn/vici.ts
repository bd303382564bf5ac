// VICI, charon's control interface: commands with sections, lists and values over a unix socket,
// and events.
import { connect, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { ownedByConnection, ownedByLog } from '../../../kit/src/owner.ts';
import { SerialQueue } from '../../../kit/src/serial_queue.ts';

/** A message: values, lists and sections by name. */
export interface ViciMessage {
  [name: string]: string | readonly string[] | ViciMessage;
}

const kinds = {
  request: 0,
  response: 1,
  unknown: 2,
  register: 3,
  unregister: 4,
  confirmed: 5,
  event: 7,
};
const elements = { section: 1, end: 2, value: 3, list: 4, item: 5, list_end: 6 };
/** The longest packet of either side (VICI_MESSAGE_SIZE_MAX). */
const longest = 512 * 1024;
const defaultPatienceMs = 10_000;

/** Raised for a command that charon did not carry out. */
export class Refused extends Error {}

/** One socket to one charon; it is unusable once a command fails. */
export class Vici {
  readonly #path: string;
  readonly #log: Logger;
  readonly #patienceMs: number;
  readonly #queue = new SerialQueue();
  #socket: Socket | undefined;
  #waiting: ((packet: Buffer | Error) => void) | undefined;

  /** `patienceMs`: how long a command may take. */
  constructor(path: string, log: Logger, patienceMs = defaultPatienceMs) {
    this.#path = path;
    this.#log = log;
    this.#patienceMs = patienceMs;
  }

  /** The response to a command. Errors: charon does not run or respond, or reports a failure. */
  command(name: string, message: ViciMessage = {}): Promise<ViciMessage> {
    return this.#queue.run(() => this.#command(name, message));
  }

  /** The same for a command that streams events; returns those. */
  list(name: string, event: string, message: ViciMessage = {}): Promise<ViciMessage[]> {
    return this.#queue.run(async () => {
      const events: ViciMessage[] = [];
      await this.#exchange(packetOf(kinds.register, event));
      await this.#command(name, message, events);
      await this.#exchange(packetOf(kinds.unregister, event), events);
      return events;
    });
  }

  /** Closes the socket. A command that waits for its response fails. */
  close(): void {
    this.#fail(new Error('its socket was closed'));
  }

  async #command(name: string, message: ViciMessage, events?: ViciMessage[]): Promise<ViciMessage> {
    const packet = packetOf(kinds.request, name, encode(message));
    const response = decode((await this.#exchange(packet, events)).subarray(1));
    if (response.success === 'no')
      throw new Refused(`charon: ${name}: ${response.errmsg ?? 'failed'}`);
    return response;
  }

  /** The packet that responds to this one; events in between are collected. */
  async #exchange(packet: Buffer, events?: ViciMessage[]): Promise<Buffer> {
    this.#socket ??= await this.#open();
    const head = Buffer.alloc(4);
    head.writeUInt32BE(packet.length);
    const answered = Promise.withResolvers<Buffer>();
    const own = ownedByLog(this.#log);
    const giveUp = () => this.#fail(new Error('charon does not answer'));
    const timer = setTimeout(own(giveUp), this.#patienceMs);
    this.#waiting = (received) => {
      if (received instanceof Error) answered.reject(received);
      else if (received[0] !== kinds.event) answered.resolve(received);
      else events?.push(decode(received.subarray(2 + (received[1] ?? 0))));
    };
    this.#socket.write(Buffer.concat([head, packet]));
    try {
      const response = await answered.promise;
      if (response[0] === kinds.response || response[0] === kinds.confirmed) return response;
      throw new Error('charon does not know this command');
    } finally {
      clearTimeout(timer);
      this.#waiting = undefined;
    }
  }

  #fail(error: Error): void {
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#waiting?.(error);
  }

  async #open(): Promise<Socket> {
    const socket = connect(this.#path);
    const own = ownedByConnection(this.#log, socket);
    const opened = Promise.withResolvers<void>();
    let received: Buffer = Buffer.alloc(0);
    socket.once('connect', opened.resolve);
    socket.on(
      'error',
      own((error: Error) => {
        opened.reject(error);
        if (this.#socket === socket) this.#fail(error);
      }),
    );
    socket.on(
      'close',
      own(() => {
        if (this.#socket === socket) this.#fail(new Error('charon has ended'));
      }),
    );
    socket.on(
      'data',
      own((bytes: Buffer) => {
        received = Buffer.concat([received, bytes]);
        while (received.length >= 4) {
          const length = received.readUInt32BE(0);
          if (length > longest) throw new Error('charon sent a packet that is too long');
          if (received.length < 4 + length) return;
          const packet = received.subarray(4, 4 + length);
          received = received.subarray(4 + length);
          this.#waiting?.(packet);
        }
      }),
    );
    await opened.promise;
    return socket;
  }
}

function packetOf(kind: number, name: string, body: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([Buffer.from([kind]), shortText(name), body]);
}

export function encode(message: ViciMessage): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of Object.entries(message)) {
    if (typeof value === 'string') {
      parts.push(Buffer.from([elements.value]), shortText(name), longText(value));
    } else if (Array.isArray(value)) {
      parts.push(Buffer.from([elements.list]), shortText(name));
      for (const item of value) parts.push(Buffer.from([elements.item]), longText(item));
      parts.push(Buffer.from([elements.list_end]));
    } else {
      parts.push(Buffer.from([elements.section]), shortText(name), encode(value as ViciMessage));
      parts.push(Buffer.from([elements.end]));
    }
  }
  return Buffer.concat(parts);
}

/** Errors: it is cut off, or malformed. */
export function decode(bytes: Buffer): ViciMessage {
  let at = 0;
  const text = (size: number): string => {
    const length = bytes.readUIntBE(at, size);
    at += size + length;
    if (at > bytes.length) throw new Error('the message of charon is cut off');
    return bytes.toString('latin1', at - length, at);
  };
  const section = (isInner: boolean): ViciMessage => {
    // The names come from outside, so the object must have no prototype.
    const message: ViciMessage = Object.create(null);
    while (at < bytes.length) {
      const kind = bytes[at];
      at += 1;
      if (kind === elements.end && isInner) return message;
      if (kind === elements.section) message[text(1)] = section(true);
      else if (kind === elements.value) message[text(1)] = text(2);
      else if (kind === elements.list) {
        const name = text(1);
        const items: string[] = [];
        for (; bytes[at] === elements.item; ) {
          at += 1;
          items.push(text(2));
        }
        if (bytes[at] !== elements.list_end) throw new Error('the list of charon has no end');
        at += 1;
        message[name] = items;
      } else throw new Error(`charon sent an element of kind ${kind}`);
    }
    if (isInner) throw new Error('the section of charon has no end');
    return message;
  };
  return section(false);
}

function shortText(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

/** Keys and certificates are bytes, one per character. */
function longText(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  const head = Buffer.alloc(2);
  head.writeUInt16BE(bytes.length);
  return Buffer.concat([head, bytes]);
}
