// The records of each revision, as the control plane's tables had them; and whether a node abides
// by them.
import type { Decision, Rules } from '../../agent/src/policy/decision.ts';
import type { Policy } from '../../agent/src/policy/policy.ts';
import type { NodeRecord } from '../../agent/src/policy/records.ts';
import { type Issued, Oracle, type World } from '../../agent/test/oracle.ts';
import type { Position } from '../../kit/src/node_interface.ts';
import { type Asked, isLogin } from './engine.ts';
import type { Cleared, Tables } from './tables.ts';

/** A record, or that there is none, from this revision on. */
interface Version {
  from: number;
  record: NodeRecord | undefined;
  text: string;
}

/** The versions of each record of one server in one history. */
type History = Map<string, Version[]>;

/** The part of a node's knowledge that is certain. */
interface Known {
  held: Position;
  claimed: Position | undefined;
  heard_at: number;
}

/** More combinations of what a node may know are not gone through. */
const mostCombinations = 64;

export class Truth {
  readonly #rules: Rules;
  readonly #world: World;
  readonly issued = new Map<string, Issued>();
  /** By epoch and server. */
  readonly #histories = new Map<string, History>();
  #at: Position | undefined;

  constructor(rules: Rules, destinations: World['destinations']) {
    this.#rules = rules;
    this.#world = { issued: this.issued, destinations, allowed: [] };
  }

  /** Takes in what is said after a commit, if that is anything new. Answers whether. */
  look(tables: Tables): boolean {
    const at = tables.position();
    const before = this.#at;
    if (at.epoch === before?.epoch && at.revision === before.revision) return false;
    this.#at = at;
    const cleared = at.epoch === before?.epoch ? tables.clearedAfter(before.revision) : [];
    for (const [server_id, records] of tables.read()) {
      const now = new Map(records.map((record) => [keyOf(record), record]));
      const name = `${at.epoch} ${server_id}`;
      for (const server of cleared) {
        if (server.server === null || server.server === server_id) this.#clear(name, server);
      }
      this.#extend(name, at.revision, now);
    }
    return true;
  }

  /**
   * A node may have heard that something is gone, and not yet of what was put back in the same
   * commit.
   */
  #clear(name: string, { revision, kind, account }: Cleared): void {
    const isCleared = (key: string) =>
      key.includes(` ${account} `) && (kind === 'account' || key.startsWith(`${kind} `));
    for (const [key, versions] of this.#histories.get(name) ?? []) {
      if (!isCleared(key) || !versions.at(-1)?.record) continue;
      versions.push({ from: revision, record: undefined, text: '' });
    }
  }

  #extend(name: string, from: number, now: Map<string, NodeRecord>): void {
    const isNew = !this.#histories.has(name);
    const history: History = this.#histories.get(name) ?? new Map();
    this.#histories.set(name, history);
    for (const key of new Set([...history.keys(), ...now.keys()])) {
      const record = now.get(key);
      const text = record ? textOf(record) : '';
      const versions =
        history.get(key) ?? (isNew ? [] : [{ from: 0, record: undefined, text: '' }]);
      history.set(key, versions);
      if (versions.at(-1)?.text !== text || versions.length === 0) {
        versions.push({ from: isNew ? 0 : from, record, text });
      }
    }
  }

  /** The fault in the records of a node that has applied `claimed` at least, if there is one. */
  faultOf(
    server_id: number,
    policy: Policy,
    held: Position,
    claimed: Position | undefined,
    now: number,
  ) {
    const since = sinceOf(held, claimed);
    const history = this.#histories.get(`${held.epoch} ${server_id}`);
    if (!history) return `it holds a history that never was: ${held.epoch}`;
    const seen = new Set<string>();
    for (const record of policy.records()) {
      if (record.value === null) continue;
      const key = keyOf(record);
      seen.add(key);
      const versions = history.get(key) ?? [];
      const may = hasExpired(record, now) ? versions : possible(history, key, since);
      const text = textOf(record);
      if (!may.some((version) => version.text === text)) {
        const was = may.map((version) => version.text || 'none').join(' or ');
        return `${text} is not what it was since revision ${since}: ${was || 'never there'}`;
      }
    }
    for (const key of history.keys()) {
      if (seen.has(key)) continue;
      const may = possible(history, key, since);
      if (!may.some(({ record }) => !record?.value || hasExpired(record, now))) {
        return `${key} is missing, and was there since revision ${since}: ${may.at(-1)?.text}`;
      }
    }
    return undefined;
  }

  /**
   * Every evaluation that fits what a node may know which has applied `claimed` at least; undefined
   * when there are too many.
   */
  evaluations(
    server_id: number,
    request: Asked,
    { held, claimed, heard_at }: Known,
    now: number,
  ): string[] | undefined {
    return this.#combine(server_id, request, held, claimed, (oracle) => {
      oracle.heard_at = heard_at;
      const evaluation = isLogin(request)
        ? { by: 'vpn', exit_ip: request.exit_ip, ...oracle.evaluateLogin(request, now) }
        : oracle.evaluate(request, now);
      const { reason, by, account, user, exit_ip, dial, override } = evaluation as Record<
        string,
        unknown
      >;
      return JSON.stringify(reason ? { reason } : { by, account, user, exit_ip, dial, override });
    });
  }

  /** Why a connection may not be any more, or '' when it may, for each of what a node may know. */
  objections(
    server_id: number,
    { asked: request, account, user }: { asked: Asked; account: number; user: number },
    { held, claimed, heard_at }: Known,
    now: number,
  ): string[] | undefined {
    return this.#combine(server_id, request, held, claimed, (oracle) => {
      oracle.heard_at = heard_at;
      if (!isLogin(request)) return oracle.faultOf(request, account, user, now) ?? '';
      const evaluation = oracle.evaluateLogin(request, now);
      // An exit that is taken away lets nobody in, and ends no tunnel.
      return 'reason' in evaluation && evaluation.reason !== 'no_service' ? evaluation.reason : '';
    });
  }

  /** The decisions of an oracle for each combination of versions that matter. */
  #combine(
    server_id: number,
    request: Asked,
    held: Position,
    claimed: Position | undefined,
    ask: (oracle: Oracle) => string,
  ): string[] | undefined {
    const since = sinceOf(held, claimed);
    const history = this.#histories.get(`${held.epoch} ${server_id}`) ?? (new Map() as History);
    const certain: NodeRecord[] = [];
    let combinations: NodeRecord[][] = [[]];
    for (const key of history.keys()) {
      const may = new Set(
        possible(history, key, since).map(({ record }) =>
          record && matters(record, request) ? record : undefined,
        ),
      );
      const [first] = may;
      if (may.size === 1) {
        if (first) certain.push(first);
        continue;
      }
      combinations = combinations.flatMap((records) =>
        [...may].map((record) => (record ? [...records, record] : records)),
      );
      if (combinations.length > mostCombinations) return undefined;
    }
    return combinations.map((records) => {
      const oracle = new Oracle(this.#world, this.#rules);
      for (const record of [...certain, ...records]) oracle.receive(record);
      return ask(oracle);
    });
  }
}

/** A verdict in the words of `evaluations`. */
export function saidOf(verdict: Decision): string {
  if (verdict.verdict !== 'allow') return JSON.stringify({ reason: verdict.reason });
  const { authority, exit_ip, dial, override } = verdict;
  if (authority.by === 'probe') throw new Error('nobody probes in the simulation');
  const { by, account, user } = authority;
  return JSON.stringify({ by, account, user, exit_ip, dial, override });
}

// ---- The parts ----------------------------------------------------------------------------

/** Of another history nothing is claimed yet. */
function sinceOf(held: Position, claimed: Position | undefined): number {
  return claimed?.epoch === held.epoch ? claimed.revision : 0;
}

/**
 * The values that a record had since a revision. Of an account that was taken off the server
 * since then its node gets nothing but that, and it may hold any older state until it hears so.
 */
function possible(history: History, key: string, since: number): Version[] {
  const versions = history.get(key) ?? [];
  const contracts = history.get(`contract ${key.split(' ')[1]} `) ?? [];
  if (contracts.some(({ from, record }) => !record && from > since)) return versions;
  const first = versions.findLastIndex(({ from }) => from <= since);
  return versions.slice(Math.max(0, first));
}

/** Of other addresses and hostnames a evaluation knows nothing. */
function matters(record: NodeRecord, request: Asked): boolean {
  if (record.kind === 'authlist') return !isLogin(request) && record.value?.ip === request.source;
  if (record.kind === 'override')
    return !isLogin(request) && record.value?.hostname === request.host;
  return true;
}

function hasExpired(record: NodeRecord, now: number): boolean {
  const isTimed = record.kind === 'authlist' || record.kind === 'override';
  return isTimed && record.value !== null && record.value.expiry <= now;
}

function keyOf(record: NodeRecord): string {
  const { kind, account, id } = record as { kind: string; account?: number; id?: number };
  return `${kind} ${account ?? ''} ${id ?? ''}`;
}

function textOf(record: NodeRecord): string {
  return `${keyOf(record)} ${JSON.stringify(record.value)}`;
}
