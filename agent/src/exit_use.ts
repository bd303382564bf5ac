// The use of an exit by a connection: which user, from which address, when. The connection log
// keeps these, a line of words for each.
import type { PortRange } from './policy/decision.ts';

export interface ExitUse {
  /** `proxy`, `proxy-https`, or a VPN service. */
  service: string;
  /** Ids. */
  account: number;
  user: number;
  /** The client's address, and its port where there is one. */
  address: string;
  source_port?: number | undefined;
  exit_ip: string;
  /** The ports at the exit that it may have used; undefined: not known (yet). */
  exit_ports?: PortRange | undefined;
  /** `host:port` as the client asked for it, and the address that was dialled for it. */
  destination?: string | undefined;
  dialled?: string | undefined;
  /** Epoch seconds. */
  since: number;
}

/** A use that is under way. */
export interface OpenUse extends ExitUse {
  /** Identifies it until it ends. No spaces. */
  key: string;
  /** When it ends, the engine reports ended uses with all details instead. */
  is_provisional?: boolean;
}

export interface EndedUse extends ExitUse {
  /** Epoch seconds. */
  until: number;
  /** Its key while it was open. */
  key?: string;
}

/** A line of the log. */
export type LogEntry =
  | ({ entry: 'open' } & OpenUse)
  | ({ entry: 'ended' } & EndedUse)
  /** The open use of this key ended then. */
  | { entry: 'closed'; key: string; until: number }
  /** The open use of this key is described by ended ones. */
  | { entry: 'replaced'; key: string }
  /** An agent started: earlier uses that are not listed again have ended. */
  | { entry: 'started'; at: number };

const letters = { open: 'o', ended: 'e', closed: 'c', replaced: 'r', started: 's' } as const;
const none = '-';

export function encodeEntry(entry: LogEntry): string {
  const letter = letters[entry.entry];
  switch (entry.entry) {
    case 'open':
      return [letter, entry.key, ...wordsOf(entry)].join(' ');
    case 'ended':
      return [letter, entry.until, ...wordsOf(entry)].join(' ');
    case 'closed':
      return [letter, entry.key, entry.until].join(' ');
    case 'replaced':
      return [letter, entry.key].join(' ');
    case 'started':
      return [letter, entry.at].join(' ');
  }
}

/** Undefined for a line of a newer version. */
export function decodeEntry(text: string): LogEntry | undefined {
  const [letter, second = '', ...words] = text.split(' ');
  if (letter === letters.open) return { entry: 'open', key: second, ...useOf(words) };
  if (letter === letters.ended) return { entry: 'ended', until: Number(second), ...useOf(words) };
  if (letter === letters.closed) return { entry: 'closed', key: second, until: Number(words[0]) };
  if (letter === letters.replaced) return { entry: 'replaced', key: second };
  return letter === letters.started ? { entry: 'started', at: Number(second) } : undefined;
}

function wordsOf(use: ExitUse): Array<string | number> {
  const { service, account, user, address, source_port, exit_ip, exit_ports, since } = use;
  const words = [since, service, account, user, address, source_port, exit_ip];
  const ports = exit_ports && `${exit_ports.first}-${exit_ports.last}`;
  // A host is as the client wrote it.
  const destination = use.destination?.replace(/\s/g, '');
  return [...words, ports, destination, use.dialled].map((word) => word || none);
}

function useOf(words: readonly string[]): ExitUse {
  const [since, service = '', account, user, address = '', source, exit_ip = '', ...rest] = words;
  const [ports, destination, dialled] = rest.map((word) => (word === none ? undefined : word));
  const [first, last] = (ports ?? '').split('-').map(Number);
  return {
    ...{ service, account: Number(account), user: Number(user), address },
    ...(source === none ? {} : { source_port: Number(source) }),
    exit_ip,
    ...(first && last ? { exit_ports: { first, last } } : {}),
    ...(destination === undefined ? {} : { destination }),
    ...(dialled === undefined ? {} : { dialled }),
    since: Number(since),
  };
}

/** The user of a use, as erasures name people. */
export const personOf = ({ account, user }: Pick<ExitUse, 'account' | 'user'>) =>
  `${account} ${user}`;

/** If more uses wait for a disk that cannot be written, they are dropped. */
const maxHeld = 100_000;

/** Uses that have ended, held until the log takes them. */
export class EndedUses {
  #uses: EndedUse[] = [];
  #lost = 0;
  /** Whether there is a log. Without one, uses are not described. */
  readonly isKept: boolean;

  constructor(isKept: boolean) {
    this.isKept = isKept;
  }

  note(use: EndedUse): void {
    if (!this.isKept) return;
    if (this.#uses.length >= maxHeld) this.#lost += 1;
    else this.#uses.push(use);
  }

  /** The uses since the last call, and how many were dropped. */
  take(): { uses: EndedUse[]; lost: number } {
    const ended = { uses: this.#uses, lost: this.#lost };
    this.#uses = [];
    this.#lost = 0;
    return ended;
  }
}
