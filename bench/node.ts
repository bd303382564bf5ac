// A node for a measurement: the real agent as a process, with a control plane in another, all on
// loopback.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { joinNetwork } from '../agent/src/identity.ts';
import { askStatus } from '../agent/src/local.ts';
import { type Process, start } from './load.ts';
import type { Origin } from './origin.ts';
import type { Served } from './server.ts';
import { serverSettings } from './server_settings.ts';

export type EngineName = 'squid' | 'embedded';

export const hosts = { origins: ['127.80.2.1', '127.80.2.2'], exit: '127.80.5.1' } as const;
/**
 * Of the default port scheme, with the one port base that there is; moved to where nothing else
 * listens.
 */
export const schemePorts = [10_001, 10_501, 11_001, 11_501] as const;
const startSeconds = 60;

/** A fresh control plane with so many authlist entries. */
export class ControlPlane {
  readonly served: Served;
  readonly process: Process;
  readonly #folder: string;

  private constructor(process: Process, folder: string) {
    this.process = process;
    this.#folder = folder;
    this.served = JSON.parse(process.said) as Served;
  }

  static async start(
    { accounts = 100, entries = 0, servers = 1, nodes = 1, limit_bytes = 1e12 },
    options = { anywhere: true },
  ): Promise<ControlPlane> {
    const folder = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
    const size = [accounts, entries, servers, nodes].map(String);
    const env = {
      EXITWARD_DATA_DIR: folder,
      ...serverSettings,
      BENCH_EXIT_IP: hosts.exit,
      BENCH_LIMIT_BYTES: String(limit_bytes),
    };
    return new ControlPlane(await start('server.ts', size, env, options), folder);
  }

  /** A request of the first account, or of another. Errors: when it is refused. */
  async ask<Body>(method: string, path: string, body?: object, account = 0): Promise<Body> {
    const { base_url, tokens } = this.served;
    const response = await fetch(`${base_url}/v0${path}`, {
      method,
      headers: {
        authorization: `Basic ${Buffer.from(`:${tokens[account]}`).toString('base64')}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      body: body ? JSON.stringify(body) : null,
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as Body;
  }

  /** A read of an operator. Errors: when it is refused. */
  askOperator<Body>(path: string): Promise<Body> {
    return this.#operator(path, {});
  }

  /** An order of an operator, a POST without fields. Errors: when it is refused. */
  orderOperator<Body>(path: string): Promise<Body> {
    const headers = { 'content-type': 'application/json' };
    return this.#operator(path, { method: 'POST', headers, body: '{}' });
  }

  async #operator<Body>(path: string, { headers, ...request }: RequestInit): Promise<Body> {
    const token = readFileSync(join(this.#folder, 'admin-token'), 'utf8').trim();
    const response = await fetch(`${this.served.admin_url}/admin${path}`, {
      ...request,
      headers: { ...headers, authorization: `Bearer ${token}` },
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Body;
  }

  async remove(): Promise<void> {
    await this.process.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const program = fileURLToPath(new URL('../agent/bin/exitward-agent.js', import.meta.url));
const listenHosts = { squid: '127.80.3.1', embedded: '127.80.3.2' } as const;
/** The kernel's list of sockets goes by port, not by address: each has its own. */
const shifts = { squid: 8000, embedded: 8010 } as const;

/** The agent, joined: to be started and stopped as often as one likes. */
export class Node {
  readonly host: string;
  readonly port: number;
  readonly override_port: number;
  readonly #engine: EngineName;
  readonly #state_dir: string;
  #child: ChildProcess | undefined;

  private constructor(engine: EngineName, state_dir: string) {
    this.host = listenHosts[engine];
    this.port = schemePorts[0] + shifts[engine];
    this.override_port = schemePorts[1] + shifts[engine];
    this.#engine = engine;
    this.#state_dir = state_dir;
  }

  get pid(): number {
    return this.#child?.pid as number;
  }

  static async join(engine: EngineName, url: string, code: string): Promise<Node> {
    const state_dir = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
    await joinNetwork({ state_dir, url, code, name: engine, again: false });
    return new Node(engine, state_dir);
  }

  /** With these settings more. Resolves when it follows the control plane and listens. */
  async start(more: Record<string, string> = {}): Promise<void> {
    const child = spawn(process.execPath, ['--max-semi-space-size=8', program, 'run'], {
      env: { PATH: process.env.PATH, ...settingsOf(this.#engine, this.#state_dir), ...more },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    this.#child = child;
    const deadline = performance.now() + startSeconds * 1000;
    for (;;) {
      const status = await askStatus(this.#state_dir).catch(() => undefined);
      if (status?.state === 'following' && status.ports.length === schemePorts.length) return;
      if (performance.now() > deadline || child.exitCode !== null) {
        throw new Error(`the agent does not follow: ${JSON.stringify(status)}`);
      }
      await sleep(50);
    }
  }

  async stop(): Promise<void> {
    if (this.#child?.exitCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#state_dir, { recursive: true, force: true });
  }
}

function settingsOf(engine: EngineName, state_dir: string): Record<string, string> {
  return {
    EXITWARD_AGENT_STATE_DIR: state_dir,
    EXITWARD_AGENT_ENGINE: engine,
    EXITWARD_AGENT_LISTEN_HOST: listenHosts[engine],
    EXITWARD_AGENT_PORT_SHIFT: String(shifts[engine]),
    EXITWARD_AGENT_ALLOW_DESTINATIONS: '127.80.2.0/24',
    EXITWARD_AGENT_CONNECT_PORTS: '1-65535',
    EXITWARD_AGENT_HTTP_PORTS: '1-65535',
    EXITWARD_AGENT_HEALTH_SECONDS: '600',
    EXITWARD_AGENT_LOG_LEVEL: 'error',
    EXITWARD_AGENT_METRICS_LISTEN: 'off',
  };
}

/** The origin, on both addresses. */
export async function startOrigin(): Promise<{ process: Process; ports: Origin }> {
  const process = await start('origin.ts', [...hosts.origins], {}, { anywhere: true });
  return { process, ports: JSON.parse(process.said) as Origin };
}

export const inADay = () => Math.floor(Date.now() / 1000) + 86_400;
