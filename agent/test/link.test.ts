// The link: from a control plane on a real socket to the disk, to an engine, and back as an
// acknowledgement.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, describe, expect, test } from 'vitest';
import type { ConnectionQuestion } from '../../kit/src/node_interface.ts';
import { type Clock, systemClock } from '../src/clock.ts';
import { HttpControl } from '../src/link/control.ts';
import { Link } from '../src/link/link.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { Replica } from '../src/store/replica.ts';
import { Store } from '../src/store/store.ts';
import { failToSync } from './failing_sync.ts';
import { alice, FakeEngine, listed } from './fake_engine.ts';
import { HastyClock } from './hasty_clock.ts';
import { ScriptedControl } from './scripted_control.ts';

const later = 4_000_000_000;
const snapshotNeeded = { status: 409, body: { message: 'Take one.', code: 'snapshot_needed' } };
const scenes: Array<{ stop(): Promise<void>; clean(): Promise<void> }> = [];

afterEach(async () => {
  for (const scene of scenes.splice(0)) {
    await scene.stop();
    await scene.clean();
  }
});

/** Makes a change that the engine is busy with until the returned function is called. */
async function busyWithChange(control: ScriptedControl, engine: FakeEngine): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  engine.gate = promise;
  const { catchUps } = engine;
  control.change(alice(false));
  await control.until(() => engine.catchUps > catchUps);
  return resolve;
}

/** A control plane, and a node that follows it. */
async function scene({
  dir = mkdtempSync(join(tmpdir(), 'exitward-link-')),
  clock = systemClock,
} = {}) {
  const control = await ScriptedControl.start();
  control.records = listed(later);
  const faults: Error[] = [];
  const store = await Store.open(dir, { onFault: (error) => void faults.push(error) });
  const engine = new FakeEngine(dir, () => clock.now());
  const stopping = new AbortController();
  const { signal } = stopping;
  const http = new HttpControl({ url: control.url, token: 'ewn_t', signal });
  const logLines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void logLines.push(line) });
  const link = new Link({ store, engine, control: http, clock, log });
  let running: Promise<void> | undefined;
  const made = {
    dir,
    control,
    store,
    engine,
    link,
    faults,
    logLines,
    run() {
      running ??= link.run(signal);
    },
    /** Starts it; resolves when it follows and everything is acknowledged. */
    async follow() {
      made.run();
      await control.until(() => control.streams === 1 && made.acknowledged() === control.revision);
    },
    acknowledged: () => control.acknowledged.at(-1)?.revision,
    async stop() {
      stopping.abort();
      await running;
      await store.close();
      await control.stop();
    },
    async clean() {
      rmSync(dir, { recursive: true, force: true });
    },
  };
  scenes.push(made);
  return made;
}

describe('a node', () => {
  test('takes a snapshot, follows the stream from there, and acknowledges', async () => {
    const { control, engine, follow, link } = await scene();
    expect(engine.connect()).toMatchObject({ reason: 'not_ready' });
    await follow();
    expect(control.asked.slice(0, 2)).toEqual(['GET /snapshot', 'GET /changes']);
    expect(control.resumed).toEqual(['e1:1']);
    expect(control.acknowledged).toEqual([{ epoch: 'e1', revision: 1 }]);
    expect(engine.connect()).toMatchObject({ verdict: 'allow', user: 'alice' });
    expect(link.status()).toMatchObject({ state: 'following', applied: { revision: 1 } });
    expect(link.faults()).toEqual([]);
  });

  test('acknowledges a change when it is in force, not before', async () => {
    const { control, engine, follow, acknowledged } = await scene();
    await follow();
    const open = await busyWithChange(control, engine);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(acknowledged()).toBe(1);
    open();
    await control.until(() => acknowledged() === 2);
    expect(engine.connect()).toMatchObject({ reason: 'inactive_user' });
  });

  test('puts in force what the disk may lose, and acknowledges it when the disk keeps it', async () => {
    const mending = new AbortController();
    const unsynced_pause = 30;
    const sleep: Clock['sleep'] = (seconds, signal = mending.signal) =>
      seconds === unsynced_pause
        ? systemClock.sleep(3600, AbortSignal.any([signal, mending.signal]))
        : systemClock.sleep(seconds, signal);
    const { control, engine, follow, acknowledged, store } = await scene({
      clock: { ...systemClock, sleep },
    });
    await follow();
    failToSync();
    // A change may be reported before its flush has failed.
    control.change(alice(true));
    await control.until(() => !store.isSound);
    const before = acknowledged();
    control.change(alice(false));
    await control.until(() => engine.connect().verdict === 'deny');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(acknowledged()).toBe(before);
    mending.abort();
    await control.until(() => acknowledged() === control.revision);
  });

  test('applies and acknowledges together what comes while it is busy', async () => {
    const { control, engine, follow, acknowledged } = await scene();
    await follow();
    const { promise, resolve: open } = Promise.withResolvers<void>();
    engine.gate = promise;
    const { catchUps } = engine;
    const acks = control.acknowledged.length;
    for (let i = 0; i < 500; i += 1) control.change(alice(i % 2 === 0));
    await control.until(() => engine.catchUps > catchUps);
    await new Promise((resolve) => setTimeout(resolve, 100));
    open();
    await control.until(() => acknowledged() === 501);
    expect(engine.connect()).toMatchObject({ reason: 'inactive_user' });
    expect(engine.catchUps - catchUps).toBe(2);
    expect(control.acknowledged.length - acks).toBeLessThanOrEqual(2);
  });

  test('continues while an acknowledgement is under way, and then acknowledges the newest position', async () => {
    const { control, engine, follow } = await scene();
    await follow();
    const { promise, resolve: open } = Promise.withResolvers<void>();
    control.ackGate = promise;
    const acks = control.acknowledged.length;
    const ackRequests = () => control.asked.filter((request) => request === 'POST /acks').length;
    const before = ackRequests();
    control.change(alice(false));
    await control.until(() => ackRequests() > before);
    for (const active of [true, false]) {
      control.change(alice(active));
      await control.until(() => (engine.connect().verdict === 'allow') === active);
    }
    open();
    await control.until(() => control.acknowledged.length === acks + 2);
    expect(control.acknowledged.slice(acks).map(({ revision }) => revision)).toEqual([2, 4]);
  });

  test('leaves a pause after an acknowledgement, and acknowledges the newest then', async () => {
    const pauses: number[] = [];
    const { promise, resolve: end } = Promise.withResolvers<void>();
    const sleep = async (seconds: number) => {
      pauses.push(seconds);
      if (pauses.length === 1) await promise;
    };
    const { control, engine, follow } = await scene({ clock: { ...systemClock, sleep } });
    await follow();
    await control.until(() => pauses.length === 1);
    const acks = control.acknowledged.length;
    for (const active of [false, true, false]) {
      control.change(alice(active));
      await control.until(() => (engine.connect().verdict === 'allow') === active);
    }
    expect(control.acknowledged.length).toBe(acks);
    end();
    await control.until(() => control.acknowledged.length > acks);
    expect(control.acknowledged.slice(acks).map(({ revision }) => revision)).toEqual([4]);
    expect(pauses[0]).toBe(0.1);
  });

  test('stores and acknowledges a position, by which it knows that it is not stale', async () => {
    const clock = new HastyClock();
    const { control, engine, follow, acknowledged } = await scene({ clock });
    await follow();
    clock.seconds += 100_000;
    expect(engine.connect()).toMatchObject({ reason: 'stale' });
    control.revision = 9;
    control.position();
    await control.until(() => acknowledged() === 9);
    expect(engine.connect()).toMatchObject({ verdict: 'allow' });
  });

  test('resumes a stream that breaks where everything is applied', async () => {
    const { control, engine, follow, acknowledged } = await scene();
    await follow();
    control.change(alice(false));
    await control.until(() => acknowledged() === 2);
    control.write('id: e1:3\nevent: change\nda');
    control.cut();
    await control.until(() => control.resumed.length === 2);
    expect(control.resumed).toEqual(['e1:1', 'e1:2']);
    expect(control.asked.filter((request) => request === 'GET /snapshot')).toHaveLength(1);
    control.change(alice(true));
    await control.until(() => acknowledged() === 3);
    expect(engine.connect()).toMatchObject({ verdict: 'allow' });
  });

  test('opens the stream when all that is stored is in force: opening acknowledges it', async () => {
    const { control, engine, run, follow, link } = await scene();
    engine.fault = new Error('no worker answers');
    run();
    await control.until(() => engine.catchUps > 2);
    expect(control.streams).toBe(0);
    expect(link.faults()).toEqual([
      { kind: 'engine', message: 'Changes cannot be put in force: no worker answers' },
    ]);
    engine.fault = undefined;
    await follow();
    expect(link.faults()).toEqual([]);
  });

  test('serves with the policy on disk when the control plane is away', async () => {
    const first = await scene();
    await first.follow();
    await first.stop();
    const second = await scene({ dir: first.dir });
    for (const path of ['GET /snapshot', 'GET /changes']) {
      second.control.rejections.set(path, { status: 503 });
    }
    second.run();
    await second.control.until(() => second.engine.connect().verdict === 'allow');
    expect(second.link.status().state).toBe('connecting');
    await second.control.until(() => second.link.faults().length === 1);
    second.control.rejections.clear();
    await second.follow();
    expect(second.control.asked).not.toContain('GET /snapshot');
  });

  test('ignores what it has stored already', async () => {
    const { control, engine, follow, acknowledged } = await scene();
    await follow();
    control.revision = 5;
    control.change(alice(false));
    await control.until(() => acknowledged() === 6);
    control.write(`id: e1:3\nevent: change\ndata: ${JSON.stringify([alice(true)])}\n\n`);
    control.position();
    await control.until(() => control.acknowledged.length > 2);
    expect(engine.connect()).toMatchObject({ reason: 'inactive_user' });
    expect(control.resumed).toHaveLength(1);
  });
});

describe('a new snapshot is taken', () => {
  /** The node uses the old snapshot until the new one is complete. */
  async function replaced(cause: (made: Awaited<ReturnType<typeof scene>>) => void) {
    const made = await scene();
    const { control, engine, follow } = made;
    await follow();
    control.epoch = 'e2';
    control.revision = 100;
    control.records = [...listed(later), alice(false)];
    const half = control.snapshot().slice(0, -20);
    control.rejections.set('GET /snapshot', { status: 200, body: half });
    cause(made);
    await control.until(
      () => control.asked.filter((request) => request === 'GET /snapshot').length > 2,
    );
    expect(engine.connect()).toMatchObject({ verdict: 'allow' });
    control.rejections.clear();
    const before = control.resumed.length;
    await control.until(() => control.acknowledged.at(-1)?.epoch === 'e2');
    expect(engine.connect()).toMatchObject({ reason: 'inactive_user' });
    expect(control.resumed.slice(before)).toEqual(['e2:100']);
    expect(made.store.position).toEqual({ epoch: 'e2', revision: 100 });
    await control.until(() => control.streams === 1);
  }

  test('when the log no longer reaches back', () =>
    replaced(({ control }) => {
      control.rejections.set('GET /changes', snapshotNeeded);
      control.cut();
    }));

  test('when an event is of another history', () => replaced(({ control }) => control.position()));

  test('when an acknowledgement is refused as of another history', () =>
    replaced(({ control }) => {
      control.rejections.set('POST /acks', snapshotNeeded);
      control.write('id: e1:2\nevent: position\ndata: 2\n\n');
    }));

  test('once, also when it comes while the engine is busy with the old one', async () => {
    const { control, engine, follow, store } = await scene();
    await follow();
    const open = await busyWithChange(control, engine);
    control.epoch = 'e2';
    control.revision = 100;
    control.position();
    await control.until(() => store.position?.epoch === 'e2');
    await new Promise((resolve) => setTimeout(resolve, 50));
    open();
    await control.until(() => control.acknowledged.at(-1)?.epoch === 'e2');
    expect(control.asked.filter((request) => request === 'GET /snapshot')).toHaveLength(2);
    expect(engine.connect()).toMatchObject({ verdict: 'allow' });
  });

  test('when the policy on disk cannot be read', async () => {
    const { control, dir, engine, follow, store } = await scene();
    await follow();
    const { catchUps } = engine;
    const [changes = ''] = readdirSync(dir).filter((name) => name.endsWith('.changes'));
    // The agent's last lines are lost without its knowledge.
    const path = join(dir, changes);
    const { size } = statSync(path);
    engine.gate = control.until(() => statSync(path).size > size).then(() => truncateSync(path, 0));
    control.records.push(alice(false));
    control.change(alice(false));
    await control.until(() => engine.catchUps > catchUps);
    await control.until(
      () => control.asked.filter((request) => request === 'GET /snapshot').length === 2,
    );
    await control.until(() => engine.connect().verdict === 'deny');
    expect(store.position).toEqual({ epoch: 'e1', revision: 2 });
  });
});

describe('a record that cannot be applied', () => {
  const bad = { kind: 'keys', value: [{ kid: 'k', public_key: 'short' }] } as const;
  const useless: NodeRecord = { ...bad, value: [...bad.value] };
  const says = 'keys.value[0].public_key: expected an Ed25519 public key in base64url';
  const snapshots = (control: ScriptedControl) =>
    control.asked.filter((request) => request === 'GET /snapshot').length;

  const nameless = { kind: 'authlist', account: 1, id: '1', value: null } as never;

  test('in the stream is left out, the rest of its change is in force, and it is reported until it is better', async () => {
    const { control, engine, follow, logLines, store } = await scene();
    await follow();
    control.change(useless, alice(false));
    await control.until(() => control.acknowledged.at(-1)?.revision === 2);
    expect(engine.connect()).toMatchObject({ reason: 'inactive_user' });
    expect(store.unreadable.faults()).toMatchObject([{ subject: 'keys' }]);
    expect(logLines.join()).toContain(says);
    control.change(alice(true), { kind: 'keys', value: [] });
    await control.until(() => control.acknowledged.at(-1)?.revision === 3);
    expect([snapshots(control), store.unreadable.faults()]).toEqual([1, []]);
    expect(engine.connect()).toMatchObject({ verdict: 'allow' });
  });

  test('in the stream takes back what it granted before', async () => {
    const { control, engine, follow } = await scene();
    await follow();
    const broken = { ...alice(true), value: { name: 'alice', active: 'yes' } } as never;
    control.change(broken);
    await control.until(() => control.acknowledged.at(-1)?.revision === 2);
    expect(engine.connect().verdict).not.toBe('allow');
  });

  test('in the stream, and does not say which one it is, leads to one new snapshot, and is not stored', async () => {
    const { control, engine, follow, link, logLines, store } = await scene({
      clock: new HastyClock(),
    });
    await follow();
    control.rejections.set('GET /snapshot', { status: 503 });
    control.change(alice(false), nameless);
    await control.until(() => snapshots(control) > 1);
    expect(logLines.join()).toContain(
      'a change cannot be applied: authlist.id: expected a whole number',
    );
    expect(engine.connect()).toMatchObject({ verdict: 'allow' });
    expect(store.position?.revision).toBe(1);
    control.records.push(alice(false));
    control.rejections.clear();
    await control.until(() => control.acknowledged.at(-1)?.revision === 2);
    const count = snapshots(control);
    control.position();
    await control.until(() => link.status().state === 'following');
    expect([snapshots(control), link.faults()]).toEqual([count, []]);
    expect(engine.connect()).toMatchObject({ reason: 'inactive_user' });
  });

  test('in a snapshot is left out, and reported until a snapshot is better', async () => {
    const { control, engine, follow, logLines, store } = await scene();
    await follow();
    control.epoch = 'e2';
    control.records = [...listed(later), useless, nameless];
    control.position();
    await control.until(() => control.acknowledged.at(-1)?.epoch === 'e2');
    expect(engine.connect()).toMatchObject({ verdict: 'allow' });
    const subjects = () => store.unreadable.faults().map(({ subject }) => subject);
    expect([subjects(), snapshots(control)]).toEqual([['keys', 'unnamed'], 2]);
    expect(logLines.join()).toContain(says);
    control.epoch = 'e3';
    control.records = listed(later);
    control.position();
    await control.until(() => control.acknowledged.at(-1)?.epoch === 'e3');
    expect(subjects()).toEqual([]);
  });

  test('that an older version left on disk leads to a new snapshot', async () => {
    const first = await scene();
    await first.follow();
    first.store.append(7, first.store.position?.revision ?? 0, [useless]);
    await first.stop();
    const second = await scene({ dir: first.dir });
    second.control.revision = 7;
    await second.follow();
    expect(snapshots(second.control)).toBe(1);
    expect(second.control.resumed).toEqual(['e1:7']);
    expect(second.engine.connect()).toMatchObject({ verdict: 'allow' });
  });
});

test('a node that gets a time to come back comes later than that, not at once with all others', async () => {
  const pauses: number[] = [];
  const sleep = async (seconds: number, signal?: AbortSignal) => {
    pauses.push(seconds);
    await systemClock.sleep(0.002, signal);
  };
  const { control, run } = await scene({ clock: { ...systemClock, sleep } });
  const headers = { 'retry-after': '3600' };
  control.rejections.set('GET /snapshot', { status: 503, headers });
  run();
  await control.until(() => pauses.length > 10);
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(30);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(60);
  expect(new Set(pauses.map(Math.round)).size).toBeGreaterThan(2);
});

describe('a node whose token is refused', () => {
  const message = 'The node token is not known or was revoked.';
  const refused = { status: 401, body: { message, code: 'node_token_unknown' } };

  test('lets no client in after three rejections over half a minute, even after a restart', async () => {
    const clock = new HastyClock();
    const { control, dir, engine, follow, link, store } = await scene({ clock });
    await follow();
    const start = clock.steady();
    const replace = store.replace.bind(store);
    let forgot_after = 0;
    store.replace = (received, heard_at) => {
      forgot_after ||= clock.steady() - start;
      return replace(received, heard_at);
    };
    control.rejections.set('GET /changes', refused);
    control.rejections.set('GET /snapshot', refused);
    control.cut();
    await control.until(() => engine.connect().verdict === 'deny');
    expect(forgot_after).toBeGreaterThan(30);
    expect(forgot_after).toBeLessThan(45);
    expect(engine.connect()).toMatchObject({ reason: 'not_ready' });
    expect(link.status().state).toBe('revoked');
    const restarted = new FakeEngine(dir, () => clock.now());
    await restarted.catchUp();
    expect(restarted.connect()).toMatchObject({ reason: 'not_ready' });
    restarted.replica.close();

    // The token is valid after all, so the node starts over.
    control.rejections.delete('GET /snapshot');
    control.rejections.set('GET /changes', snapshotNeeded);
    await control.until(() => store.position?.epoch === 'e1');
    control.rejections.clear();
    await control.until(() => engine.connect().verdict === 'allow');
    await control.until(() => link.status().state === 'following');
  });

  test('lets no client in even if the disk is full', async () => {
    const clock = new HastyClock();
    const { control, dir, engine, follow, link, store } = await scene({ clock });
    await follow();
    const replace = store.replace.bind(store);
    const isFull = () => readdirSync(dir).some((name) => name.endsWith('.snapshot'));
    store.replace = async (received, heard_at) => {
      if (isFull()) throw new Error('ENOSPC: no space left on device');
      await replace(received, heard_at);
    };
    for (const path of ['GET /changes', 'GET /snapshot']) control.rejections.set(path, refused);
    control.cut();
    await control.until(() => engine.connect().verdict === 'deny');
    expect(engine.connect()).toMatchObject({ reason: 'not_ready' });
    expect(link.status().state).toBe('revoked');
  });

  test.each([
    ['by something between it and the control plane', { status: 401, body: '<html>' }, 20],
    ['by a gateway that speaks JSON too', { status: 401, body: { message } }, 20],
    ['for less than half a minute', refused, 3],
  ])('%s serves on', async (_name, refusal, times) => {
    const clock = new HastyClock();
    const { control, engine, follow, link } = await scene({ clock });
    await follow();
    control.rejections.set('GET /changes', { ...refusal, times });
    const before = control.asked.length;
    control.cut();
    const changes = () =>
      control.asked.slice(before).filter((request) => request === 'GET /changes');
    await control.until(() => changes().length > times);
    expect(engine.connect()).toMatchObject({ verdict: 'allow' });
    await control.until(() => link.status().state === 'following');
    expect(engine.connect()).toMatchObject({ verdict: 'allow' });
  });
});

test('an account that reached its limit by our own count is refused until then, or until its contract comes', async () => {
  const { engine, link, control, follow, store, dir } = await scene();
  link.limit({ account: 1 }, later);
  await follow();
  const reason = () => (engine.connect() as { reason?: string }).reason;
  // Before, the control plane had not been heard from, so the policy's age was unknown.
  expect(reason()).toBeUndefined();
  const { heard_at } = engine.replica.policy;
  link.limit({ account: 1 }, later);
  await control.until(() => reason() === 'over_limit');
  expect(engine.replica.policy.heard_at).toBe(heard_at);
  await store.compact();
  const again = new Replica(dir);
  await again.load();
  expect(again.policy.accounts.get(1)?.limit_reached_until).toBe(later);
  again.close();
  link.limit({ account: 1 }, 0);
  await control.until(() => reason() === undefined);
  link.limit({ account: 1 }, systemClock.now() - 1);
  await control.until(() => engine.replica.policy.accounts.get(1)?.limit_reached_until !== 0);
  expect(reason()).toBeUndefined();
  link.limit({ account: 1 }, later);
  await control.until(() => reason() === 'over_limit');
  control.change(listed(later)[2] as NodeRecord);
  await control.until(() => reason() === undefined);
});

test('a user who reached a limit by our own count is refused until then, or until the record of the user comes', async () => {
  const { engine, link, control, follow } = await scene();
  await follow();
  const reason = () => (engine.connect() as { reason?: string }).reason;
  const user = listed(later)[3] as Extract<NodeRecord, { kind: 'user' }>;
  control.change({ ...user, value: { ...user.value, limits: {} } } as NodeRecord);
  const isLimited = () => engine.replica.policy.accounts.get(1)?.users.get(1)?.limits !== undefined;
  await control.until(isLimited);
  link.limit({ account: 1, user: 1 }, later);
  await control.until(() => reason() === 'user_limit_reached');
  link.limit({ account: 1, user: 1 }, 0);
  await control.until(() => reason() === undefined);
  link.limit({ account: 1, user: 1 }, later);
  await control.until(() => reason() === 'user_limit_reached');
  control.change({ ...user, value: { ...user.value, limits: { connections: 5 } } } as NodeRecord);
  await control.until(() => reason() === undefined);
});

describe('a question', () => {
  const value = {
    from: '192.0.2.10',
    port: 10_501,
    method: 'CONNECT',
    host: 'www.example.com',
    destination_port: 443,
  };

  test('is answered by the changes before it, with the records that decided', async () => {
    const { control, follow } = await scene();
    await follow();
    const override = { hostname: 'www.example.com', ip: '8.8.8.8', expiry: later };
    control.change({ kind: 'override', account: 1, id: 4, value: override });
    control.change({ kind: 'explain', id: 3, value });
    control.change({ kind: 'explain', id: 2, value: null });
    await control.until(() => control.answers.length === 1);
    expect(control.answers).toEqual([
      {
        id: 3,
        answer: {
          verdict: 'allow',
          status: 200,
          reason: 'authlist',
          message: 'the connection is allowed',
          rule: 'authlist 1, override 4',
          account: 'acme',
          user: 'alice',
          exit_ip: '198.51.100.1',
          dial: '8.8.8.8',
          revision: expect.any(Number),
        },
      },
    ]);
    const [answered] = control.answers;
    expect(answered?.answer.revision).toBeGreaterThanOrEqual(3);
  });

  test('with credentials is answered by these, and leaves no token on disk', async () => {
    const { control, dir, follow, engine } = await scene();
    await follow();
    const token = 'ewt_canary';
    control.change({
      kind: 'explain',
      id: 1,
      value: { ...value, user: 'alice', token } as ConnectionQuestion,
    });
    await control.until(() => control.answers.length === 1);
    expect(control.answers[0]?.answer).toEqual({
      verdict: 'challenge',
      status: 407,
      reason: 'bad_token',
      message: expect.any(String),
      revision: 2,
    });
    expect(engine.replica.position?.revision).toBe(2);
    for (const name of readdirSync(dir)) {
      expect(readFileSync(join(dir, name), 'utf8')).not.toContain('canary');
    }
  });
});
