// One measurement of a node's policy, in a process of its own; prints what it found as JSON.
//   node --expose-gc bench/policy_process.ts MEASUREMENT FOLDER ENTRIES ACCOUNTS
//       start, parse, change, compact or replace
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { newestGeneration, snapshotPath } from '../agent/src/store/generations.ts';
import { Replica } from '../agent/src/store/replica.ts';
import { Store } from '../agent/src/store/store.ts';

const [what = '', folder = '', entries = 0, accounts = 0] = process.argv
  .slice(2)
  .map((text, index) => (index < 2 ? text : Number(text))) as [string?, string?, number?, number?];
const now = Math.floor(Date.now() / 1000);
const expiry = now + 86_400;

/**
 * The records that a control plane would send: one override to a hundred entries, ten users to an
 * account.
 */
async function* snapshot(): AsyncGenerator<string> {
  let records = 0;
  const line = (record: unknown) => {
    records += 1;
    return `${JSON.stringify(record)}\n`;
  };
  yield `${JSON.stringify({ kind: 'snapshot', epoch: '618e5642-1011-4b80-a662-5093b4533f07', revision: 1 })}\n`;
  const value = {
    name: 'fra1',
    hostname: 'fra1.bench.example',
    services: ['proxy'],
    port_schemes: [{ name: 'default', bases: [{ base: 10_000, service: 'proxy' }] }],
    exit_ips: [{ ip: '198.51.100.1', port_base: 1 }],
  };
  yield line({ kind: 'server', value });
  for (let account = 1; account <= accounts; account++) {
    const name = `account-${account}`;
    const contract = { name, expiry, suspended: false, blocked: false, port_scheme: 'default' };
    let text = line({ kind: 'contract', account, value: contract });
    for (let id = 1; id <= 10; id++) {
      const value = { name: `user-${id}`, active: true, proxy: true, token_version: 1 };
      text += line({ kind: 'user', account, id, value });
    }
    for (let id = 1; id <= entries / accounts; id++) {
      const at = (account - 1) * (entries / accounts) + id;
      const value = { ip: addressOf(at), user: 1 + (id % 10), expiry };
      text += line({ kind: 'authlist', account, id, value });
      if (id % 100 > 0) continue;
      const hostname = `host-${id}.customer-${account}.example.com`;
      text += line({
        kind: 'override',
        account,
        id,
        value: { hostname, ip: addressOf(at), expiry },
      });
    }
    yield text;
  }
  yield `${JSON.stringify({ kind: 'end', records })}\n`;
}

/** A tenth of the addresses are IPv6, which are longer. */
function addressOf(at: number): string {
  if (at % 10 > 0) return `${20 + (at >> 24)}.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}`;
  return `2a02:2f0e:c${(at >> 16).toString(16)}:${(at & 0xffff).toString(16)}:5d1c:77ff:fe3a:19b4`;
}

const inUse = () => {
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { bytes: heapUsed + external, rss_mb: rss / 2 ** 20 };
};
const peakMb = () => process.resourceUsage().maxRSS / 1024;

const measures: Record<string, (dir: string) => Promise<Record<string, number>>> = {
  /** From disk to a policy that can evaluate. */
  async start(dir) {
    const before = inUse();
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const replica = new Replica(dir);
    const began = performance.now();
    await replica.load();
    const ms = performance.now() - began;
    delay.disable();
    if (!replica.policy.findEntry('default', addressOf(1))) throw new Error('an entry is missing');
    const after = inUse();
    const bytes = after.bytes - before.bytes;
    const pause_ms = delay.max / 1e6;
    return { ms, bytes, pause_ms, rss_mb: after.rss_mb, peak_mb: peakMb() };
  },

  /** The floor of a start: the same lines are read and parsed, and dropped. */
  async parse(dir) {
    const began = performance.now();
    const text = readFileSync(snapshotPath(dir, newestGeneration(dir) ?? 0), 'utf8');
    let lines = 0;
    // The last line is not a record.
    for (const line of text.split('\n').slice(0, -2)) {
      JSON.parse(line);
      lines += 1;
    }
    return { ms: performance.now() - began, lines };
  },

  /**
   * One change at a time: written, then applied by a replica; in between a turn of the event loop.
   */
  async change(dir) {
    const store = await Store.open(dir);
    const replica = new Replica(dir);
    await replica.load();
    const revision = store.position?.revision ?? 0;
    const times: number[] = [];
    for (let at = 1; at <= 5000; at++) {
      const value = { ip: `192.0.2.${at % 256}`, user: 1, expiry };
      const began = performance.now();
      store.append(revision + at, now, [
        { kind: 'authlist', account: 1 + (at % 10), id: 10 ** 7 + (at % 256), value },
      ]);
      await replica.catchUp();
      times.push(performance.now() - began);
      await setImmediate();
    }
    if (replica.position?.revision !== revision + 5000) throw new Error('a change was not applied');
    replica.close();
    await store.close();
    times.sort((a, b) => a - b);
    return { p50_ms: times[2500] as number, p99_ms: times[4950] as number };
  },

  /** Folding the changes into a new snapshot, while the agent has other things to do. */
  async compact(dir) {
    const store = await Store.open(dir);
    const before = inUse();
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const began = performance.now();
    await store.compact();
    const ms = performance.now() - began;
    delay.disable();
    await store.close();
    // Memory of a thread that ended goes back to the system a little later.
    await setTimeout(10_000);
    return {
      ms,
      pause_ms: delay.max / 1e6,
      before_mb: before.rss_mb,
      after_mb: inUse().rss_mb,
      peak_mb: peakMb(),
    };
  },

  /** Taking a snapshot from the control plane, as the agent does. */
  async replace(dir) {
    const store = await Store.open(dir);
    const began = performance.now();
    await store.replace(snapshot(), now);
    const ms = performance.now() - began;
    await store.close();
    return { ms, peak_mb: peakMb() };
  },
};

const measure = measures[what];
if (!measure) throw new Error(`${what}: not one of ${Object.keys(measures).join(', ')}`);
console.log(JSON.stringify(await measure(folder)));
