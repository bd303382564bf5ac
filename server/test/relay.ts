// A TCP relay that stands between the server and PostgreSQL, so that a test can take the database
// away.
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

type State = 'open' | 'cut' | 'silent';

export class Relay {
  #to: { host: string; port: number };
  readonly #pairs = new Set<[Socket, Socket]>();
  /**
   * Listens for as long as the relay lives: a port that was given back could be another's when it
   * is to work again.
   */
  readonly #server: Server = createServer((near) => this.#join(near));
  #state: State = 'open';
  #poison: Buffer | undefined;
  /** Resolves when the poisoned bytes came by. */
  #poisoned: () => void = () => {};

  private constructor(url: string) {
    this.#to = placeOf(url);
  }

  /** A relay to the server of `url`, which is open. */
  static async to(url: string): Promise<Relay> {
    const relay = new Relay(url);
    await new Promise<void>((resolve, reject) => {
      relay.#server.once('error', reject).listen(0, '127.0.0.1', resolve);
    });
    return relay;
  }

  /** The database's URL by way of this relay. */
  by(url: string, parameters: Record<string, string | number> = {}): string {
    const through = new URL(url);
    through.host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    for (const [name, value] of Object.entries(parameters)) {
      through.searchParams.set(name, String(value));
    }
    return through.href;
  }

  /** Leads new connections to another server; those that are open stay. */
  lead(url: string): void {
    this.#to = placeOf(url);
  }

  /** Ends all connections, and new ones as soon as they come. */
  cut(): void {
    this.#state = 'cut';
    this.#drop();
  }

  /** Keeps all connections and takes new ones, and lets nothing through in either direction. */
  silence(): void {
    this.#state = 'silent';
    for (const pair of this.#pairs) for (const socket of pair) socket.pause();
  }

  /** Cuts everything the moment that the database answers these bytes; resolves when it did. */
  cutAtAnswer(bytes: string): Promise<void> {
    this.#poison = Buffer.from(bytes);
    return new Promise((resolve) => {
      this.#poisoned = resolve;
    });
  }

  /** Everything works again; connections from before are gone. */
  heal(): void {
    if (this.#state === 'open') return;
    this.#state = 'open';
    this.#poison = undefined;
    this.#drop();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((closed) => this.#server.close(closed));
  }

  #drop(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
    this.#pairs.clear();
  }

  #join(near: Socket): void {
    if (this.#state === 'cut') {
      near.resetAndDestroy();
      return;
    }
    const far = connect(this.#to);
    const pair: [Socket, Socket] = [near, far];
    this.#pairs.add(pair);
    for (const socket of pair) {
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        for (const socket of pair) socket.destroy();
        this.#pairs.delete(pair);
      });
    }
    near.on('data', (bytes) => far.write(bytes));
    far.on('data', (bytes) => {
      if (this.#poison && bytes.includes(this.#poison)) {
        this.#poison = undefined;
        this.cut();
        this.#poisoned();
      } else near.write(bytes);
    });
    if (this.#state === 'silent') for (const socket of pair) socket.pause();
  }
}

function placeOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port || 5432) };
}
