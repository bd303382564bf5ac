// One account against another: what a victim waits for while an attacker reads whole lists, makes
// changes, and undoes removals.
//   node bench/fair.ts [--entries 100000] [--connections 32] [--changes 100000] [--seconds 8]
//       entries: of each account
// A server and its clients share the machine: times are also printed without the waits of server
// and victim for a processor, which may be counted twice.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { sizesFrom } from './flags.ts';
import { report } from './goals.ts';
import { memory_mb, waitedMs } from './processes.ts';
import type { Read } from './readers.ts';
import type { Served } from './server.ts';
import { serverSettings } from './server_settings.ts';

const { entries, connections, changes, seconds } = sizesFrom({
  entries: 100_000,
  connections: 32,
  changes: 100_000,
  seconds: 8,
});
const quietMs = Math.min(3, seconds) * 1000;
const list = '/v0/contract/ip-authlist';
const expiry = Math.floor(Date.now() / 1000) + 86_400;

const dataDir = mkdtempSync(join(tmpdir(), 'exitward-fair-'));
const server: ChildProcess = spawn(
  process.execPath,
  [
    '--max-semi-space-size=8',
    join(import.meta.dirname, 'server.ts'),
    '2',
    String(2 * entries),
    '1',
    '1',
  ],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      EXITWARD_DATA_DIR: dataDir,
      ...serverSettings,
      EXITWARD_LOG_LEVEL: 'error',
      EXITWARD_MAX_AUTHLIST_ENTRIES: '1000000',
    },
  },
);

const agent = new Agent({ keepAlive: true, maxSockets: connections + 8 });

interface Call {
  method?: string;
  body?: unknown;
  authorization: string;
  /** Does not wait for the next in line. */
  agent?: Agent;
}

/** The status and body of a response. */
function call(url: string, { method = 'GET', body, authorization, agent: own = agent }: Call) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = { authorization, ...(text ? { 'content-type': 'application/json' } : {}) };
    const sent = request(url, { method, agent: own, headers }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString() }),
      );
    });
    sent.on('error', reject);
    sent.end(text);
  });
}

/** Milliseconds, and of them those in which nobody waited for a processor. */
interface Times {
  all: number[];
  net: number[];
}

/** `limitMs`: the most that p99 may be, without waits for a processor. */
function show(name: string, { all, net }: Times, limitMs?: number): void {
  const at = (times: number[], part: number) => {
    const sorted = times.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
  };
  const ms = (times: number[], part: number) => at(times, part).toFixed(1).padStart(7);
  console.log(
    `${name.padEnd(64)}${ms(all, 0.5)}${ms(all, 0.99)}   without waits${ms(net, 0.5)}${ms(net, 0.99)} (${all.length})`,
  );
  if (limitMs === undefined) return;
  report({ work: `${name}, p99`, ours: at(net, 0.99), unit: 'ms', goal: { atMost: limitMs } });
}

/**
 * Runs the victim's step again and again, at this pace, until the attack is over; its times in
 * milliseconds.
 */
async function during(
  attack: Promise<unknown>,
  step: () => Promise<unknown>,
  pause_milliseconds = 5,
): Promise<Times> {
  let isOver = false;
  const over = attack.then(() => {
    isOver = true;
  });
  const times: Times = { all: [], net: [] };
  while (!isOver) {
    const waited = waitedMs(server.pid);
    const started = performance.now();
    await step();
    const took = performance.now() - started;
    times.all.push(took);
    times.net.push(Math.max(0, took - (waitedMs(server.pid) - waited)));
    await sleep(pause_milliseconds);
  }
  await over;
  return times;
}

/** So many callers, each one request after another, until `next` has none. */
async function flood(next: () => Promise<unknown> | undefined): Promise<void> {
  const floodOnce = async () => {
    for (let sent = next(); sent; sent = next()) await sent;
  };
  await Promise.all(Array.from({ length: connections }, floodOnce));
}

/**
 * A node of the server: hears of an entry's end, and resolves who waits for it. It acknowledges, or
 * it would be cut off.
 */
function follow(served: Served) {
  const waiting = new Map<number, () => void>();
  const authorization = `Bearer ${served.nodes[0]}`;
  const { epoch } = served;
  let { revision } = served;
  const acknowledge = () =>
    void call(`${served.node_url}/node/acks`, {
      ...{ method: 'POST', authorization, body: { epoch, revision } },
    });
  setInterval(acknowledge, 5000).unref();
  const headers = { authorization, 'last-event-id': `${epoch}:${revision}` };
  request(`${served.node_url}/node/changes`, { headers, agent: false }, (response) => {
    const lines = createInterface({ input: response });
    lines.on('error', () => {});
    lines.on('line', (line) => {
      if (line.startsWith('id: ')) revision = Number(line.split(':').at(-1));
      if (!line.startsWith('data: [')) return;
      const records = JSON.parse(line.slice(6)) as Array<{
        id: number;
        account: number;
        value: unknown;
      }>;
      for (const { id, account, value } of records)
        if (account === 2 && !value) waiting.get(id)?.();
    });
  })
    .on('error', () => {})
    .end();
  return (id: number) =>
    new Promise<void>((resolve) => {
      waiting.set(id, () => {
        waiting.delete(id);
        resolve();
      });
    });
}

try {
  const [line] = await new Promise<string[]>((resolve) => {
    createInterface({ input: server.stdout as NodeJS.ReadableStream as never }).once(
      'line',
      (text) => resolve([text]),
    );
  });
  const served = JSON.parse(line as string) as Served;
  const [attacker = '', victim = ''] = served.tokens.map(
    (token) => `Basic ${Buffer.from(`:${token}`).toString('base64')}`,
  );
  const operator = `Bearer ${readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()}`;
  const url = served.base_url + list;
  const own = new Agent({ keepAlive: true });
  let requests = 0;
  const get = () => {
    requests += 1;
    const address = `192.0.${(requests >> 8) & 255}.${requests & 255}`;
    return call(`${url}?ip=${address}`, { authorization: victim, agent: own });
  };
  const heard = follow(served);
  let remaining = entries;
  const revoke = async () => {
    const id = remaining--;
    const isHeard = heard(id);
    await call(`${url}/${id}`, { method: 'DELETE', authorization: victim, agent: own });
    await isHeard;
  };

  console.log(`${' '.repeat(64)}p50, p99 in ms`);
  show('GET, no attack', await during(sleep(quietMs), get));
  const reading = async (whose: string, authorization: string, base: string, paths: string[]) => {
    const file = join(import.meta.dirname, 'readers.ts');
    const env = { ...process.env, READERS_AUTHORIZATION: authorization };
    const args = [file, base, String(connections), String(seconds), ...paths];
    const read = promisify(execFile)(process.execPath, args, { env });
    show(`GET, during ${connections} readers of ${whose}`, await during(read, get), 50);
    const { answers, megabytes, refused } = JSON.parse((await read).stdout) as Read;
    const memory = memory_mb(server.pid as number).toFixed(0);
    console.log(
      `  ${answers} answers, ${megabytes.toFixed(0)} MB, refused ${JSON.stringify(refused)}; memory ${memory} MB`,
    );
  };
  const { base_url, admin_url, node_url, nodes } = served;
  const account = '/admin/accounts/bench-0';
  await reading('one whole list', attacker, base_url, [list]);
  await reading('a list for each', attacker, base_url, [`${list}?user=alice,x#`]);
  await reading('lists of the console', operator, admin_url, [`${account}/authlist`]);
  await reading('snapshots', `Bearer ${nodes[0]}`, node_url, ['/node/snapshot']);

  show('a removal until its node hears it, no attack', await during(sleep(quietMs), revoke, 20));
  let made = 0;
  const changing = flood(() => {
    if (made >= changes) return undefined;
    made += 1;
    const ip = `11.${made >> 16}.${(made >> 8) & 255}.${made & 255}`;
    return call(url, {
      method: 'POST',
      authorization: attacker,
      body: { ip, user: 'alice', expiry },
    });
  });
  show(
    `the same, during ${changes} changes of one account`,
    await during(changing, revoke, 20),
    200,
  );

  const bulk = async () => {
    for (let round = 0; round < 3; round += 1) {
      await call(url, { method: 'DELETE', authorization: attacker });
      const removals = await call(`${admin_url}${account}/removals`, { authorization: operator });
      const [{ removal_id }] = JSON.parse(removals.text);
      await call(`${admin_url}${account}/authlist/restore`, {
        ...{ method: 'POST', authorization: operator, body: { removal_id } },
      });
    }
  };
  show('GET, during "remove all" and its undo, three times', await during(bulk(), get), 50);
  show('a removal, during the same', await during(bulk(), revoke, 20), 200);
} finally {
  server.kill('SIGTERM');
  await new Promise((resolve) => server.once('exit', resolve));
  rmSync(dataDir, { recursive: true, force: true });
  process.exit();
}
