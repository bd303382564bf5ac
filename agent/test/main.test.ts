// The whole agent, without a proxy: how it works while other things are down or broken, and how it
// starts and stops.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../src/clock.ts';
import { readConfig } from '../src/config.ts';
import { joinNetwork } from '../src/identity.ts';
import { askExplain, askStatus } from '../src/local.ts';
import { type EngineOptions, type Running, runAgent } from '../src/main.ts';
import { briskClock } from './brisk_clock.ts';
import { FakeEngine, listed } from './fake_engine.ts';
import { ScriptedControl } from './scripted_control.ts';

const later = 4_000_000_000;
const cleaners: Array<() => Promise<void> | void> = [];

afterEach(async () => {
  for (const clean of cleaners.splice(0).reverse()) await clean();
});

function stateDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-agent-'));
  cleaners.push(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'state');
}

async function controlPlane(): Promise<ScriptedControl> {
  const control = await ScriptedControl.start();
  control.records = listed(later);
  cleaners.push(() => control.stop());
  return control;
}

/** How often this process has the file open. */
function openFiles(path: string): number {
  const open = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return open.filter((target) => target.startsWith(path)).length;
}

/** A machine that has joined. */
async function machine(control?: ScriptedControl) {
  const plane = control ?? (await controlPlane());
  const state_dir = stateDir();
  await joinNetwork({ state_dir, url: plane.url, code: 'ewi_x', name: 'a', again: false });
  const config = readConfig({
    EXITWARD_AGENT_STATE_DIR: state_dir,
    EXITWARD_AGENT_ENGINE: 'embedded',
    EXITWARD_AGENT_PORT_SHIFT: '7',
    EXITWARD_AGENT_METRICS_LISTEN: 'off',
  });
  const log = pino({ level: 'silent' });
  const engines: FakeEngine[] = [];
  const startEngine = async ({ dir, rules, clock }: EngineOptions) => {
    const engine = new FakeEngine(dir, () => clock.now(), rules);
    engines.push(engine);
    return engine;
  };
  const start = async (clock = briskClock()): Promise<Running & { engine: FakeEngine }> => {
    const running = await runAgent(config, { clock, log, startEngine });
    cleaners.push(() => running.stop());
    return Object.assign(running, { engine: engines.at(-1) as FakeEngine });
  };
  return { control: plane, config, state_dir, start, log };
}

describe('a running agent', () => {
  test('reports its status, on a socket for its user alone', async () => {
    const { control, state_dir, start } = await machine();
    const running = await start(systemClock);
    await control.until(() => control.acknowledged.length > 0);
    expect(await askStatus(state_dir)).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      url: control.url,
      server: 'fra1',
      node: 7,
      engine: 'embedded',
      state: 'following',
      stored: { epoch: 'e1', revision: 1 },
      applied: { epoch: 'e1', revision: 1 },
      heard_at: expect.any(Number),
      heard_seconds_ago: expect.any(Number),
      ports: [10_008, 10_508],
      connections: 0,
      drained: false,
      usage_waiting: 0,
      connection_log: { mode: 'off' },
      exits: expect.any(Array),
      vpn: null,
      faults: [],
    });
    const socket = join(state_dir, 'agent.sock');
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    await running.stop();
    expect(existsSync(socket)).toBe(false);
    await expect(askStatus(state_dir)).rejects.toThrow(/^No agent runs on /);
  });

  test('says how many connections are open with each heartbeat that it acknowledges', async () => {
    const { control, start } = await machine();
    const running = await start();
    await control.until(() => control.connections === '0');
    running.engine.open = [{ connection: 'c', account: 1, user: 1, up: 0, down: 0 }];
    await control.until(() => running.status().connections === 1);
    control.position();
    await control.until(() => control.connections === '1');
  });

  test('explains by the policy in force', async () => {
    const { control, state_dir, start } = await machine();
    await start();
    const question = {
      from: '192.0.2.10',
      port: 10_001,
      method: 'CONNECT',
      host: 'www.example.com',
      destination_port: 443,
    };
    await control.until(() => control.acknowledged.length > 0);
    expect(await askExplain(state_dir, question)).toMatchObject({
      verdict: 'allow',
      user: 'alice',
      rule: 'authlist 1',
    });
    expect(await askExplain(state_dir, { ...question, from: '192.0.2.11' })).toMatchObject({
      status: 407,
      reason: 'unknown_address',
    });
  });

  test('keeps a second one out, and is not disturbed by it', async () => {
    const { control, start } = await machine();
    const running = await start();
    await control.until(() => control.acknowledged.length > 0);
    await expect(start()).rejects.toThrow(/^Another agent runs on .* already\.$/);
    expect(running.status().state).toBe('following');
    expect(running.engine.stopped).toBeUndefined();
    await running.stop();
    await start();
  });

  test('is the only one of two that start at once, and what the other leaves undone does not touch it', async () => {
    const { control, state_dir, start } = await machine();
    for (let round = 0; round < 3; round++) {
      const outcomes = await Promise.allSettled([start(), start(), start()]);
      const running = outcomes.flatMap((outcome) =>
        outcome.status === 'fulfilled' ? [outcome.value] : [],
      );
      const refused = outcomes.flatMap((outcome) =>
        outcome.status === 'rejected' ? [outcome.reason] : [],
      );
      expect(running).toHaveLength(1);
      expect(refused.map(({ message }) => message)).toEqual(
        Array(2).fill(expect.stringMatching(/^Another agent runs on .* already\.$/)),
      );
      expect(await askStatus(state_dir)).toMatchObject({ node: 7 });
      expect(readdirSync(state_dir).filter((name) => name.startsWith('.'))).toEqual([]);
      await control.until(() => control.acknowledged.length > round);
      await running[0]?.stop();
    }
  });

  test('leaves a socket alone that is not its own any more', async () => {
    const { state_dir, start } = await machine();
    const running = await start();
    const socket = join(state_dir, 'agent.sock');
    rmSync(socket);
    writeFileSync(socket, 'of another');
    await running.stop();
    expect(readFileSync(socket, 'utf8')).toBe('of another');
  });

  test('begins on a socket that a killed one left behind', async () => {
    const { control, state_dir, start } = await machine();
    const socket = join(state_dir, 'agent.sock');
    const program = `require('node:net').createServer().listen(${JSON.stringify(socket)}, () => process.kill(process.pid, 'SIGKILL'))`;
    spawnSync(process.execPath, ['-e', program]);
    expect(existsSync(socket)).toBe(true);
    await start();
    await control.until(() => control.acknowledged.length > 0);
    expect((await askStatus(state_dir)).state).toBe('following');
  });

  test('serves on after a restart without the control plane', async () => {
    const { control, start } = await machine();
    const first = await start();
    await control.until(() => control.acknowledged.length > 0);
    await first.stop();
    await control.stop();
    const second = await start();
    await control.until(() => second.engine.connect().verdict === 'allow');
    expect(second.status()).toMatchObject({ state: 'connecting', applied: { revision: 1 } });
  });

  test('lets its own checks in, to the echo alone, with another password each time', async () => {
    const { control, config, log } = await machine();
    const seen: Array<EngineOptions['rules']['probe']> = [];
    for (const echo_url of [undefined, 'https://Echo.example./ip', 'http://[2001:DB8::1]/ip']) {
      const startEngine = async ({ dir, rules, clock }: EngineOptions) => {
        seen.push(rules.probe);
        return new FakeEngine(dir, () => clock.now(), rules);
      };
      await (await runAgent({ ...config, echo_url }, { log, startEngine })).stop();
    }
    const { port } = new URL(control.url);
    expect(seen).toMatchObject([
      { host: '127.0.0.1', port: Number(port) },
      { host: 'echo.example', port: 443 },
      { host: '2001:db8::1', port: 80 },
    ]);
    const passwords = new Set(seen.map((probe) => probe?.password));
    expect([...passwords]).toEqual(Array(3).fill(expect.stringMatching(/^[\w-]{32}$/)));
  });

  test('with a journal that is damaged serves on, and says so', async () => {
    const { control, state_dir, start } = await machine();
    writeFileSync(join(state_dir, 'usage.journal'), 'no journal\n');
    const running = await start();
    await control.until(() => running.engine.connect().verdict === 'allow');
    const faults = () => running.status().faults.filter(({ kind }) => kind === 'journal');
    await control.until(() => faults().length > 0);
    const message = expect.stringMatching(
      /^The part usage failed: .*usage\.journal is damaged at byte 0/,
    );
    const fault = { kind: 'journal', subject: 'usage', message, since: expect.any(Number) };
    expect(faults()).toEqual([fault]);
    // The control plane gets a report that this machine does not have the exit.
    const kinds = () => control.faults.at(-1)?.map(({ kind }) => kind);
    await control.until(() => ['journal', 'exit_address'].every((kind) => kinds()?.includes(kind)));
    expect(control.faults.at(-1)).toContainEqual(fault);
  });

  test('says that its clock differs from that of the control plane, and by how much, until it does no more', async () => {
    const { control, start } = await machine();
    control.ahead_seconds = -95;
    const running = await start();
    const clock = () => control.faults.at(-1)?.find(({ kind }) => kind === 'clock');
    await control.until(() => clock() !== undefined);
    expect(clock()?.message).toMatch(
      /^The clock of this machine is (8\d|9[0-5]) seconds ahead of /,
    );
    expect(running.status().faults).toContainEqual(clock());

    control.ahead_seconds = 3600;
    control.position();
    await control.until(() => /(359\d|3600) seconds behind/.test(String(clock()?.message)));
    control.ahead_seconds = 29;
    control.position();
    await control.until(() => clock() === undefined);
  });

  test('says that the policy on disk is damaged until there is a new one', async () => {
    const { control, state_dir, start } = await machine();
    const first = await start();
    await control.until(() => control.acknowledged.length > 0);
    await first.stop();
    const policy = join(state_dir, 'policy');
    const snapshot = readdirSync(policy).find((name) => name.endsWith('.snapshot')) ?? '';
    writeFileSync(join(policy, snapshot), 'no snapshot\n');
    control.rejections.set('GET /snapshot', { status: 503 });
    const running = await start();
    const storeFaults = () =>
      running.status().faults.filter((fault) => fault.message.startsWith('The policy on disk: '));
    expect(storeFaults()).toHaveLength(1);
    control.rejections.clear();
    await control.until(() => running.engine.connect().verdict === 'allow');
    expect(storeFaults()).toEqual([]);
  });

  test('has one journal open after its part that counts began again', async () => {
    const { control, config, state_dir, log } = await machine();
    let faults = 1;
    const clock: Clock = {
      ...systemClock,
      sleep: (seconds, signal) => {
        if (seconds === 5 && faults-- > 0) throw new Error('no time');
        return systemClock.sleep(seconds === 30 ? 0.01 : seconds, signal);
      },
    };
    let polls = 0;
    let engine: FakeEngine | undefined;
    const startEngine = async ({ dir, rules }: EngineOptions) => {
      engine = new FakeEngine(dir, () => clock.now(), rules);
      const poll = engine.poll.bind(engine);
      engine.poll = () => {
        polls += 1;
        return poll();
      };
      return engine;
    };
    const running = await runAgent({ ...config, poll_seconds: 5 }, { log, clock, startEngine });
    cleaners.push(() => running.stop());
    await control.until(() => faults < 1 && polls === 2);
    expect(openFiles(join(state_dir, 'usage.journal'))).toBe(1);
    const at = clock.now();
    engine?.finished.push({ connection: 'c1', account: 1, user: 1, up: 1, down: 2, at });
    await running.stop();
    expect(control.usage).toHaveLength(1);
  });

  test('counts and sends what was transferred last when it stops', async () => {
    const { control, state_dir, start } = await machine();
    const running = await start(systemClock);
    await control.until(() => control.acknowledged.length > 0);
    const at = control.revision + 1_700_000_000;
    const last = { connection: 'c1', account: 1, user: 1, up: 11, down: 22, at };
    const { engine } = running;
    const stopEngine = engine.stop.bind(engine);
    engine.stop = async (options) => {
      engine.finished.push(last);
      await stopEngine(options);
    };
    await running.stop({ leave_running: true });
    expect(engine.stopped).toEqual({ leave_running: true });
    expect(control.usage).toEqual([
      expect.objectContaining({ rows: [expect.objectContaining({ up: 11, down: 22 })] }),
    ]);
    expect(readFileSync(join(state_dir, 'usage.journal'), 'utf8')).toContain('acknowledged');
  });

  test('sends the traffic of its first polls together', async () => {
    const { control, start } = await machine();
    const { engine } = await start(systemClock);
    // Traffic that ended while no agent ran, and, when a decider reports the owner, open traffic.
    for (const user of [1, 2]) {
      engine.finished.push({ connection: `c${user}`, account: 1, user, up: 9, down: 9, at: 1 });
      await control.until(() => engine.finished.length === 0);
    }
    await control.until(() => control.usage.length > 0);
    expect(control.usage).toEqual([
      expect.objectContaining({ rows: [1, 2].map((user) => expect.objectContaining({ user })) }),
    ]);
  });

  test('sends all batches when it stops, and counts once more while the engine is there', async () => {
    const { control, start } = await machine();
    const running = await start(systemClock);
    const { engine } = running;
    await control.until(() => control.acknowledged.length > 0);
    control.rejections.set('POST /usage', { status: 503 });
    const at = control.revision + 1_700_000_000;
    const traffic = (up: number) => ({
      connection: `c${up}`,
      account: 1,
      user: 1,
      up,
      down: 0,
      at,
    });
    let polls = 0;
    const poll = engine.poll.bind(engine);
    engine.poll = () => {
      polls += 1;
      return poll();
    };
    engine.finished.push(traffic(1));
    await control.until(() => control.asked.includes('POST /usage'));
    const stopEngine = engine.stop.bind(engine);
    let pollsBefore = 0;
    engine.stop = async (options) => {
      pollsBefore = polls;
      engine.finished.push(traffic(2));
      await stopEngine(options);
      control.rejections.clear();
    };
    polls = 0;
    await running.stop();
    expect(pollsBefore).toBeGreaterThan(0);
    expect(polls).toBeGreaterThan(pollsBefore);
    expect(control.usage).toMatchObject([{ rows: [{ up: 1 }] }, { rows: [{ up: 2 }] }]);
  });

  test('reports the last use of authlist entries, at the latest when it stops', async () => {
    const { control, start } = await machine();
    const running = await start();
    await control.until(() => running.engine.connect().verdict === 'allow');
    expect(running.engine.connect({ source: '192.0.2.11' }).verdict).not.toBe('allow');
    await running.stop();
    const at = expect.any(Number);
    expect(control.lastUsed).toEqual([{ uses: [{ account: 1, entry: 1, at }] }]);
  });

  test('keeps what it cannot send when it stops, and sends it after the next start', async () => {
    const { control, start } = await machine();
    const running = await start();
    await control.until(() => control.acknowledged.length > 0);
    control.rejections.set('POST /usage', { status: 503 });
    const at = control.revision + 1_700_000_000;
    running.engine.finished.push({ connection: 'c1', account: 1, user: 1, up: 1, down: 2, at });
    await running.stop();
    expect(control.usage).toEqual([]);
    control.rejections.clear();
    await start();
    await control.until(() => control.usage.length === 1);
  });
});

describe('an agent that cannot start', () => {
  test('says that the machine has not joined', async () => {
    const config = readConfig({ EXITWARD_AGENT_STATE_DIR: stateDir() });
    await expect(runAgent(config)).rejects.toThrow(/^This machine has not joined a network: /);
  });

  test('leaves nothing behind when its engine does not start', async () => {
    const { config, state_dir, start, log } = await machine();
    const startEngine = () => Promise.reject(new Error('There is no Squid.'));
    await expect(runAgent(config, { log, startEngine })).rejects.toThrow('There is no Squid.');
    expect(existsSync(join(state_dir, 'agent.sock'))).toBe(false);
    await start();
  });

  test('says that the path of its folder is too long for a socket', async () => {
    const { config, log } = await machine();
    const state_dir = join(config.state_dir, 'x'.repeat(100));
    await joinNetwork({
      state_dir,
      url: (await controlPlane()).url,
      code: 'ewi_x',
      name: 'a',
      again: false,
    });
    await expect(runAgent({ ...config, state_dir }, { log })).rejects.toThrow(
      /^EXITWARD_AGENT_STATE_DIR: .* is too long for a socket in it; expected at most 96 bytes\.$/,
    );
  });
});
