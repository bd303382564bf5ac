// The agent's side of the connection to the deciders of one Squid: asks them questions, and passes
// on their messages.
import { chmodSync, chownSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { type Own, ownedByConnection } from '../../../../kit/src/owner.ts';
import { type DecisionCounts, DecisionTally } from '../../policy/decision_tally.ts';
import { type LastUsed, LastUsedTimes } from '../../policy/last_used.ts';
import type { PolicySize } from '../../policy/policy.ts';
import { type Refusal, Refusals } from '../../policy/refusals.ts';
import type { Revoked } from '../../policy/sessions.ts';
import type { UnstoredChange } from '../../store/unstored.ts';
import { type Elsewhere, type Holding, maxNetworksOfUser } from '../../user_counts.ts';
import {
  type FromDecider,
  type Inquiry,
  type Opened,
  type Questions,
  readLines,
  type ToDecider,
  writeLine,
} from '../protocol.ts';

export interface LinkEvents {
  /** `over`: how many revoked connections that were left open have ended or are allowed again. */
  onRevoked: (revoked: Revoked[], over?: number) => void;
  /** A decider leaves, and reports the connections that it let in. */
  onOpened: (opened: Opened) => void;
  /** A decider disconnected without such a report. */
  onLost: () => void;
  /** The connections of this Squid with their owners, for a new decider. */
  opened: () => Opened;
  /** The changes that are on no disk, after the last one sent to a decider. */
  unstored: (last: UnstoredChange | undefined) => UnstoredChange[];
}

interface Pending {
  resolve: (response: unknown) => void;
  reject: (error: Error) => void;
}

/** A connected decider. */
interface Decider {
  socket: Socket;
  pending: Map<number, Pending>;
  /** The open connections on the last list sent to it. */
  listed: ReadonlySet<string>;
  /** The last change sent to it because it is on no disk. */
  lastSent: UnstoredChange | undefined;
  isLeaving: boolean;
  /** The users with limits here, and the last message that it got about those elsewhere. */
  held: readonly Holding[];
  shared: string;
  /** Messages in this second, without responses. */
  messages: number;
  /** How many bytes may wait to be read by it. */
  max_unread: number;
}

/** A decider responds within milliseconds, unless it hangs. */
const responseMs = 5000;
/** Limits on what Squid's user can send here, far above the needs of deciders. */
const limits = {
  /** During a reconfiguration there are two, and for a moment those that are ending. */
  deciders: 8,
  /** Five times the owners of all connections that a Squid can have. */
  message_bytes: 32 * 1024 * 1024,
  bytes_a_second: 64 * 1024 * 1024,
  /** Messages that are not responses. */
  messages_a_second: 1000,
  /** Unread bytes, without changes that are on no disk, which have a limit of their own. */
  unread_bytes: 32 * 1024 * 1024,
};
/** Most users with limits who hold something at one Squid. */
const maxHoldings = 20_000;
const maxUsesAtOnce = 5000;
/**
 * A decider with more uses sends them the next time. One that an attacker controls might never end.
 */
const maxRoundsOfUses = 50;

/** Raised when a connected decider does not respond. */
export class DeciderSilent extends Error {}

/**
 * Raised when there is no decider. Squid starts another at once, which has to load first.
 */
export class DeciderAbsent extends Error {}

export class DeciderLink {
  readonly path: string;
  /** All decisions that the deciders reported. */
  readonly decisions = new DecisionTally();
  #policySize: PolicySize | undefined;
  /** Last uses that the deciders reported, until they are taken. */
  readonly #uses = new LastUsedTimes();
  readonly #refusals = new Refusals();
  readonly #events: LinkEvents;
  readonly #server: Server;
  /** While Squid is reconfigured there may be two deciders for a moment, the newest last. */
  readonly #deciders = new Set<Decider>();
  readonly #waiting = new Set<() => void>();
  #lastId = 0;

  constructor(path: string, events: LinkEvents, log: Logger) {
    this.path = path;
    this.#events = events;
    this.#server = createServer((socket) => {
      const own = ownedByConnection(log, socket);
      own(() => this.#welcome(socket, own))();
    });
  }

  /** Errors: those of the socket. */
  async listen(group: number | undefined): Promise<void> {
    rmSync(this.path, { force: true });
    await new Promise<void>((resolve, reject) => {
      // Stays for later: an error then concerns a single connection that could not be accepted.
      this.#server.on('error', reject);
      this.#server.listen(this.path, resolve);
    });
    chmodSync(this.path, 0o660);
    if (group !== undefined) chownSync(this.path, -1, group);
  }

  /** As a decider last reported it. */
  get policy_size(): PolicySize | undefined {
    return this.#policySize;
  }

  get deciders(): number {
    return this.#deciders.size;
  }

  get isConnected(): boolean {
    return this.#deciders.size > 0;
  }

  /** Resolves when a decider is connected. Errors: none connected in time. */
  async connected(milliseconds: number): Promise<void> {
    if (this.isConnected) return;
    await new Promise<void>((resolve, reject) => {
      const end = () => {
        this.#waiting.delete(came);
        reject(new DeciderAbsent('its decider is not connected'));
      };
      const timer = setTimeout(end, milliseconds);
      const came = () => {
        clearTimeout(timer);
        this.#waiting.delete(came);
        resolve();
      };
      this.#waiting.add(came);
    });
  }

  /**
   * Asks all deciders; returns the responses of those still connected, the newest last. Errors:
   * DeciderSilent if one does not respond, DeciderAbsent if none is left.
   */
  ask<Name extends keyof Questions>(
    name: Name,
    question: Questions[Name]['question'],
  ): Promise<Responses<Name>> {
    return this.#askAll(name, () => question);
  }

  /**
   * Sends the list of open client connections, and passes each decider's response to `take`,
   * whatever the others do. Errors: as for `ask`.
   */
  async takeList(connections: readonly string[], take: (opened: Opened) => void): Promise<void> {
    const listed = new Set(connections);
    await this.#askAll(
      'take_list',
      (decider) => {
        const before = decider.listed;
        decider.listed = listed;
        return {
          added: connections.filter((connection) => !before.has(connection)),
          removed: [...before].filter((connection) => !listed.has(connection)),
        };
      },
      take,
    );
  }

  /** When authlist entries last let a connection in, for uses since the last call. */
  async takeLastUsed(): Promise<LastUsed[]> {
    try {
      for (let isMore = true, round = 0; isMore && round < maxRoundsOfUses; round += 1) {
        isMore = false;
        await this.#askAll(
          'take_uses',
          () => maxUsesAtOnce,
          (uses) => {
            this.#uses.add(uses);
            isMore ||= uses.length === maxUsesAtOnce;
          },
        );
      }
    } catch {
      // A decider that does not respond reports its uses the next time.
    }
    return this.#uses.take();
  }

  /** The holdings of users with limits at this Squid, as its newest decider reported them. */
  get held(): readonly Holding[] {
    return [...this.#deciders].at(-1)?.held ?? [];
  }

  /** Sends the holdings of these users elsewhere, and when their connections last moved a byte. */
  share(elsewhere: Elsewhere[], moved: Array<[connection: string, at: number]>): void {
    const text = JSON.stringify([elsewhere, moved]);
    for (const decider of this.#deciders) {
      if (decider.shared === text) continue;
      decider.shared = text;
      this.#send(decider, { elsewhere, moved });
    }
  }

  /** The refusals that the deciders reported since the last call. */
  takeRefusals(): Refusal[] {
    return this.#refusals.take();
  }

  async close(): Promise<void> {
    for (const { socket } of this.#deciders) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #welcome(socket: Socket, own: Own): void {
    const decider: Decider = {
      socket,
      pending: new Map(),
      listed: new Set(),
      lastSent: undefined,
      isLeaving: false,
      held: [],
      shared: JSON.stringify([[], []]),
      messages: 0,
      max_unread: limits.unread_bytes,
    };
    this.#deciders.add(decider);
    const [oldest] = this.#deciders;
    if (this.#deciders.size > limits.deciders) oldest?.socket.destroy();
    const onSecond = () => {
      decider.messages = 0;
    };
    readLines(socket, (line) => this.#receive(decider, JSON.parse(line) as FromDecider), {
      ...limits,
      onSecond,
    });
    socket.on('error', () => {});
    const closed = () => {
      this.#deciders.delete(decider);
      for (const { reject } of decider.pending.values())
        reject(new Error('its decider disconnected'));
      if (!decider.isLeaving) this.#events.onLost();
    };
    socket.on('close', own(closed));
    const opened = this.#events.opened();
    if (opened.length > 0) this.#send(decider, { opened });
    this.#sendUnstored(decider);
    for (const came of [...this.#waiting]) came();
  }

  /** Sends each change once, before the question that should find it applied. */
  #sendUnstored(decider: Decider): void {
    const unstored = this.#events.unstored(decider.lastSent);
    if (unstored.length === 0) return;
    decider.lastSent = unstored.at(-1);
    decider.max_unread += this.#send(decider, { unstored });
  }

  /** Disconnects a decider that does not read; returns how many bytes were sent. */
  #send({ socket, max_unread }: Decider, message: ToDecider): number {
    if (socket.writableLength > max_unread) {
      socket.destroy();
      return 0;
    }
    return writeLine(socket, message);
  }

  /** Errors: the message is malformed, or there are too many. */
  #receive(decider: Decider, message: FromDecider): void {
    const isResponse = 'id' in message && decider.pending.has(message.id);
    if (!isResponse) decider.messages += 1;
    if (decider.messages > limits.messages_a_second) throw new Error('it sends too many messages');
    if ('revoked' in message) {
      this.#events.onRevoked(message.revoked, message.over);
    } else if ('opened' in message) {
      this.#events.onOpened(message.opened);
      this.#uses.add(message.uses ?? []);
      this.#noteDecisions(message);
      decider.isLeaving = true;
      for (const other of this.#deciders) {
        if (!other.isLeaving) this.#send(other, { opened: message.opened });
      }
    } else if ('held' in message) {
      decider.held = soundHoldings(message.held);
    } else if ('decided' in message || 'refused' in message || 'policy' in message) {
      this.#noteDecisions(message);
      if (message.policy) this.#policySize = soundSize(message.policy);
    } else if ('id' in message) {
      const { pending } = decider;
      pending.get(message.id)?.resolve(message.answer);
      pending.delete(message.id);
    }
  }

  #noteDecisions({ decided, refused }: { decided?: DecisionCounts; refused?: Refusal[] }): void {
    if (decided) this.decisions.add(decided);
    if (refused) this.#refusals.add(refused);
  }

  async #askAll<Name extends keyof Questions>(
    name: Name,
    questionFor: (decider: Decider) => Questions[Name]['question'],
    take?: (response: Questions[Name]['response']) => void,
  ): Promise<Responses<Name>> {
    const outcomes = await Promise.allSettled(
      Array.from(this.#deciders, async (decider) => {
        this.#sendUnstored(decider);
        const response = await this.#askOne(decider, name, questionFor(decider));
        take?.(response as Questions[Name]['response']);
        return response;
      }),
    );
    const responses: unknown[] = [];
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') responses.push(outcome.value);
      else if (outcome.reason instanceof DeciderSilent) throw outcome.reason;
    }
    if (responses.length === 0) throw new DeciderAbsent('its decider is not connected');
    return responses as Responses<Name>;
  }

  #askOne(decider: Decider, ask: string, question: unknown): Promise<unknown> {
    const { socket, pending } = decider;
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise<unknown>((resolve, reject) => {
      const end = () => {
        pending.delete(id);
        // Disconnects it: a process that is not Squid's decider would delay every further change.
        socket.destroy();
        reject(new DeciderSilent('its decider does not answer'));
      };
      const timer = setTimeout(end, responseMs);
      const settle =
        <T>(callback: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer);
          callback(value);
        };
      pending.set(id, { resolve: settle(resolve), reject: settle(reject) });
      this.#send(decider, { id, ask, question } as Inquiry);
    });
  }
}

/** Undefined if it is invalid: Squid's user may have sent it. */
function soundSize({ accounts, users, authlist, overrides }: PolicySize): PolicySize | undefined {
  const size = { accounts, users, authlist, overrides };
  const isSound = Object.values(size).every((count) => Number.isSafeInteger(count) && count >= 0);
  return isSound ? size : undefined;
}

/** The valid ones, and no more than a control plane accepts. */
function soundHoldings(holdings: readonly Holding[]): Holding[] {
  const isWhole = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;
  return holdings.slice(0, maxHoldings).flatMap((holding) => {
    const { account, user, connections, networks, was_refused } = holding;
    const isSound = [account, user, connections].every(isWhole) && Array.isArray(networks);
    if (!isSound || !networks.every((network) => /^[0-9a-f.:/]{2,50}$/.test(network))) return [];
    const sound = { account, user, connections, networks: networks.slice(0, maxNetworksOfUser) };
    return [{ ...sound, ...(was_refused && { was_refused }) }];
  });
}

/** At least one. */
type Responses<Name extends keyof Questions> = [
  Questions[Name]['response'],
  ...Array<Questions[Name]['response']>,
];
