// The invariants: those that are checked after each step, and those that hold when all is healed.
import { isDeepStrictEqual } from 'node:util';
import type { Reason } from '../../agent/src/policy/denials.ts';
import type { NodeRecord } from '../../agent/src/policy/records.ts';
import { accountsOfServer } from '../../server/src/contract_servers/contract_servers.ts';
import { accountRecords } from '../../server/src/nodes/records.ts';
import { listOverrides, statusOf } from '../../server/src/overrides/overrides.ts';
import type { Center } from './center.ts';
import { type Asked, type Exchange, isLogin } from './engine.ts';
import type { Machine } from './machine.ts';
import type { Scheduler, Trace } from './scheduler.ts';
import type { Truth } from './truth.ts';

/** Longer than from one sign of life of the control plane to the next. */
const mostSilence_seconds = 20;

/** Something that must never be. */
export class Violation extends Error {}

export interface Watched {
  center: Center;
  truth: Truth;
  machines: Machine[];
  scheduler: Scheduler;
  trace: Trace;
  staleness_seconds: number;
}

export class Watch {
  readonly #watched: Watched;
  readonly #hasClaimed = new Set<Machine>();
  #hasMoved = false;

  constructor(watched: Watched) {
    this.#watched = watched;
    const { center, truth } = watched;
    center.onCommit = () => {
      if (truth.look(center.tables)) this.#hasMoved = true;
    };
  }

  /** The machine's agent said that something is applied: is it? */
  noteClaim(machine: Machine): void {
    this.#hasClaimed.add(machine);
  }

  // ---- What must always be ------------------------------------------------------------------

  /** After each step: looks at what was just claimed, and at what the control plane shows now. */
  async look(): Promise<void> {
    for (const machine of this.#hasClaimed) {
      this.checkHeld(machine);
      this.checkClosed(machine);
    }
    this.#hasClaimed.clear();
    if (!this.#hasMoved || !this.#watched.center.isUp) return;
    this.#hasMoved = false;
    await this.#checkActive();
    await this.#checkCounted();
  }

  /**
   * A node holds the records that the control plane said, at the revision that it claimed or later.
   */
  checkHeld({ name, joined, engine, claimed, heard_at }: Machine): void {
    const { policy, position: held } = engine;
    if (!policy || !held) return;
    const now = this.#watched.scheduler.now();
    const fault = this.#watched.truth.faultOf(joined.server_id, policy, held, claimed, now);
    if (fault) throw new Violation(`${name}: ${fault}`);
    if (policy.heard_at > heard_at) {
      throw new Violation(
        `${name} says that it heard at ${policy.heard_at}, and did at ${heard_at}`,
      );
    }
    const isAhead = claimed?.epoch === held.epoch && claimed.revision > held.revision;
    if (isAhead)
      throw new Violation(`${name} claims ${claimed.revision} and holds ${held.revision}`);
  }

  /** Applied records are in force for connections that were open before. */
  checkClosed({ name, joined, engine, claimed }: Machine): void {
    const { policy, position: held } = engine;
    if (!policy || !held) return;
    const about = { held, claimed, heard_at: policy.heard_at };
    for (const [connection, exchange] of engine.exchanges) {
      const isTunnel = isLogin(exchange.asked);
      if (isTunnel && !engine.hasTakenOver) continue;
      // The end of an expiry may be noticed a second later, and the kernel takes a moment for it.
      const now = this.#watched.scheduler.now() - (isTunnel ? 2 : 1);
      const objections = this.#watched.truth.objections(joined.server_id, exchange, about, now);
      if (objections?.every((objection) => objection !== '')) {
        throw new Violation(`${name}: ${connection} is open, and should not be: ${objections}`);
      }
    }
  }

  /** A connection ended for a reason that there is, or was until lately. */
  checkRevoked({ name, joined, engine, claimed }: Machine, exchange: Exchange, by: Reason): void {
    const { policy, position: held } = engine;
    const isByCount = by.startsWith('too_many');
    if (isByCount) this.#watched.trace.count('limit-ended');
    if (isByCount || !policy?.server || !held) return;
    const { account, user, service, exit_ip, asked } = exchange;
    const { services, exit_ips } = policy.server;
    const isServed = services.includes(service) && exit_ips.some(({ ip }) => ip === exit_ip);
    // A login where there is no service any more has no other objection.
    if (isLogin(asked) && !isServed) return;
    const about = { held, claimed, heard_at: policy.heard_at };
    const now = this.#watched.scheduler.now();
    const objections = this.#watched.truth.objections(joined.server_id, exchange, about, now);
    if (objections?.every((objection) => objection === '')) {
      throw new Violation(`${name} ended ${service} of ${account}/${user} (${by}): it is allowed`);
    }
  }

  checkVerdict(
    { name, joined, engine, claimed, heard_at }: Machine,
    request: Asked,
    said: string,
  ): void {
    const { policy, position: held } = engine;
    const now = this.#watched.scheduler.now();
    const isByAddress = said.startsWith('{"by":"authlist"');
    if (isByAddress && Math.abs(now - heard_at) >= this.#watched.staleness_seconds) {
      throw new Violation(`${name} trusts addresses, and heard ${now - heard_at} seconds ago`);
    }
    if (!policy || !held) return;
    const about = { held, claimed, heard_at: policy.heard_at };
    const may = this.#watched.truth.evaluations(joined.server_id, request, about, now);
    if (!may) this.#watched.trace.note('too-many-truths');
    else if (!may.includes(said)) {
      throw new Violation(
        `${name} says ${said} of ${JSON.stringify(request)}; true is ${may.join(' or ')}`,
      );
    }
  }

  /** An entry that the account sees as active is in force at every live node. */
  async #checkActive(): Promise<void> {
    const { db } = this.#watched.center;
    const now = this.#watched.scheduler.now();
    const nodes = await db.all<{ id: number; live: number }>('select id, live from nodes');
    const live = new Set(nodes.filter((node) => node.live === 1).map(({ id }) => id));
    for (const account of await db.all<{ id: number }>('select id from accounts')) {
      for (const override of await listOverrides(db, account.id, {}, now)) {
        const status = statusOf(override, now);
        this.#watched.trace.count(status);
        if (status !== 'active') continue;
        const { id, server_id, hostname, ip, expiry } = override;
        const serving = this.#watched.machines.filter(
          ({ joined }) => joined.server_id === server_id,
        );
        const isAnyLive = serving.some(({ joined }) => live.has(joined.node_id));
        for (const { name, joined, engine, claimed, isHeard } of serving) {
          if (isAnyLive && !live.has(joined.node_id)) continue;
          // One that lost its memory says so as soon as it is back; until that is heard nobody can
          // know.
          if (!engine.policy || !claimed || !isHeard) continue;
          const held = engine.policy.accounts.get(account.id)?.overrides.get(id);
          if (!isDeepStrictEqual(held, { id, hostname, ip, expiry })) {
            const what = `override ${account.id}/${id} ${hostname} ${ip}`;
            throw new Violation(`${what} is shown active, and ${name} has ${JSON.stringify(held)}`);
          }
        }
      }
    }
  }

  /** The database has counted what it was sent, once, and no more than was transferred. */
  async #checkCounted(): Promise<void> {
    const rows = await this.#watched.center.db.all<{ key: string; bytes: number }>(
      `select server_id || ' ' || account_id || ' ' || user_id as key, sum(up + down) as bytes
       from usage_hours group by server_id, account_id, user_id`,
    );
    const shown = new Map(rows.map(({ key, bytes }) => [key, bytes]));
    const sent = sumOf(this.#watched.center.counted.values());
    if (!isDeepStrictEqual(sorted(shown), sorted(sent))) {
      throw new Violation(`counted ${text(shown)}; was sent ${text(sent)}`);
    }
    const transferred = this.#transferred();
    for (const [key, bytes] of sumOf(this.#watched.center.everCounted.values())) {
      const max = transferred.get(key) ?? 0;
      if (bytes > max) throw new Violation(`${key}: counted ${bytes}, transferred ${max}`);
    }
  }

  /** By server, account and user, without what died with an engine untold. */
  #transferred(): Map<string, number> {
    const sums = new Map<string, number>();
    for (const { joined, engine } of this.#watched.machines) {
      for (const [key, bytes] of engine.transferred) {
        const name = `${joined.server_id} ${key}`;
        const remaining = bytes - (engine.lost.get(key) ?? 0);
        if (remaining > 0) sums.set(name, (sums.get(name) ?? 0) + remaining);
      }
    }
    return sums;
  }

  // ---- When all is healed -------------------------------------------------------------------

  /** The first thing that is not yet as it should be. */
  async unhealed(): Promise<string | undefined> {
    const { db } = this.#watched.center;
    const now = this.#watched.scheduler.now();
    const newest = await db.one<{ revision: number }>(
      'select max(revision) as revision from changes',
    );
    for (const { name, joined, engine } of this.#watched.machines) {
      const node = await db.one<{ applied_revision: number }>('select * from nodes where id = $1', [
        joined.node_id,
      ]);
      if ((node?.applied_revision ?? 0) < (newest?.revision ?? 0)) {
        return `${name} has acknowledged ${node?.applied_revision} of ${newest?.revision}`;
      }
      const silence = now - (engine.policy?.heard_at ?? 0);
      if (silence > mostSilence_seconds) return `${name} heard nothing for ${silence} seconds`;
      const held = [...(engine.policy?.records() ?? [])];
      const wanted = await this.#recordsOf(joined.server_id);
      const [has, should] = [held, wanted].map((records) => textsOf(records, now));
      if (!isDeepStrictEqual(has, should)) return `${name} holds ${has}; should ${should}`;
    }
    for (const account of await db.all<{ id: number }>('select id from accounts')) {
      for (const override of await listOverrides(db, account.id, {}, now)) {
        const isServed = override.contract_revision !== null;
        if (isServed && statusOf(override, now) === 'pending') {
          return `override ${account.id}/${override.id} is pending`;
        }
      }
    }
    return undefined;
  }

  /** The records of the accounts that a snapshot would hold. */
  async #recordsOf(server_id: number): Promise<NodeRecord[]> {
    const { db } = this.#watched.center;
    const records: unknown[] = [];
    for (const { account_id } of await accountsOfServer(db, server_id)) {
      for await (const record of accountRecords(db, account_id, server_id)) records.push(record);
    }
    return records as NodeRecord[];
  }

  /**
   * Bytes that were transferred and not counted, or the other way round; undefined when there is
   * nothing.
   */
  uncounted(): string | undefined {
    const ever = [...this.#watched.center.everCounted.values()];
    const left_out = ever.reduce((sum, batch) => sum + batch.left_out, 0);
    const [counted, transferred] = [sumOf(ever), this.#transferred()];
    if (isDeepStrictEqual(sorted(counted), sorted(transferred))) return undefined;
    if (left_out > 0 && totalOf(counted) + left_out === totalOf(transferred)) return undefined;
    return `counted ${text(counted)}, left out ${left_out}; transferred ${text(transferred)}`;
  }
}

/** Bytes by server, account and user. */
function sumOf(
  batches: Iterable<{
    server_id: number;
    rows: Array<{ account: number; user: number; up: number; down: number }>;
  }>,
): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { server_id, rows } of batches) {
    for (const { account, user, up, down } of rows) {
      const key = `${server_id} ${account} ${user}`;
      sums.set(key, (sums.get(key) ?? 0) + up + down);
    }
  }
  return sums;
}

function sorted(sums: Map<string, number>): Array<[string, number]> {
  return [...sums].filter(([, bytes]) => bytes > 0).sort(([a], [b]) => (a < b ? -1 : 1));
}

function text(sums: Map<string, number>): string {
  return JSON.stringify(sorted(sums));
}

/** The records of accounts that have not expired, in one order. */
function textsOf(records: NodeRecord[], now: number): string[] {
  return records
    .filter((record) => 'account' in record && record.value !== null)
    .filter(
      ({ value }) =>
        (value as { expiry?: number }).expiry === undefined ||
        (value as { expiry: number }).expiry > now,
    )
    .map((record) => JSON.stringify(record))
    .sort();
}

function totalOf(sums: Map<string, number>): number {
  return [...sums.values()].reduce((sum, bytes) => sum + bytes, 0);
}
