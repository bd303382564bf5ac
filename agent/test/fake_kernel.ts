// A model of the kernel's part of the VPN: it lets sessions pass, counts, and is lost with its
// machine, like nftables.
import { isDeepStrictEqual } from 'node:util';
import type {
  KernelCount,
  KernelSession,
  KernelSessions,
  SessionFlows,
} from '../src/vpn/sessions.ts';

interface Kept extends KernelCount {
  exit_ip: string;
  exit_ports: KernelSession['exit_ports'];
  is_open: boolean;
}

export class FakeKernel implements KernelSessions {
  #isThere = true;
  readonly #entries = new Map<string, Kept>();
  /** Of the last session of each address. */
  readonly #zones = new Map<string, number>();
  /**
   * Called before each command, and again before its response: lets time pass, or makes the
   * command fail.
   */
  pause: () => Promise<void> = async () => {};

  /** The sessions of its elements, as their notes name them. */
  get kept(): ReadonlyMap<string, Readonly<Kept>> {
    return this.#entries;
  }

  isThere(): Promise<boolean> {
    return this.#do(() => this.#isThere);
  }

  open({ address, zone, exit_ip, exit_ports, note }: KernelSession): Promise<void> {
    return this.#change(() => {
      const isZone = zone >= 1 && zone <= 65_535 && zone !== this.#zones.get(address);
      if (!isZone) throw new Error(`the zone ${zone} is none, or that of the session before`);
      this.#zones.set(address, zone);
      if (this.#entries.has(address)) throw new Error(`${address} is in use`);
      if (note.length > 120 || note.includes('"')) throw new Error(`${note} is no comment`);
      const bytes = { up: 0, down: 0 };
      this.#entries.set(address, { address, exit_ip, exit_ports, note, ...bytes, is_open: true });
    });
  }

  close(addresses: readonly string[]): Promise<void> {
    return this.#change(() => {
      for (const address of addresses) {
        const entry = this.#entries.get(address);
        if (entry) entry.is_open = false;
      }
    });
  }

  forget(sessions: readonly SessionFlows[]): Promise<void> {
    return this.#change(() => {
      for (const { address, exit_ports } of sessions) {
        if (!isDeepStrictEqual(exit_ports, this.#entries.get(address)?.exit_ports)) {
          throw new Error(`${address} has other ports`);
        }
        if (!this.#entries.delete(address)) throw new Error(`${address} is not there`);
      }
    });
  }

  list(): Promise<KernelCount[]> {
    return this.#change(() =>
      Array.from(this.#entries.values(), ({ address, note, up, down }) => ({
        address,
        note,
        up,
        down,
      })),
    );
  }

  listOpen(): Promise<ReadonlySet<string>> {
    return this.#change(() => {
      const open = [...this.#entries.values()].filter(({ is_open }) => is_open);
      return new Set(open.map(({ address }) => address));
    });
  }

  /** Sends a packet of a client; returns whether it passes. */
  transfer(address: string, up: number, down: number): boolean {
    const entry = this.#entries.get(address);
    if (!entry?.is_open) return false;
    entry.up += up;
    entry.down += down;
    return true;
  }

  /** Its rules are flushed, or the machine restarts. */
  lose(): void {
    this.#entries.clear();
    this.#isThere = false;
  }

  /** The rules are put in force. */
  apply(): Promise<void> {
    return this.#do(() => {
      this.#isThere = true;
    });
  }

  #change<T>(work: () => T): Promise<T> {
    return this.#do(() => {
      if (!this.#isThere) throw new Error('there is no such table');
      return work();
    });
  }

  async #do<T>(work: () => T): Promise<T> {
    await this.pause();
    const outcome = work();
    await this.pause();
    return outcome;
  }
}
