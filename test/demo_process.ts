// The demo that `npm start` runs, as a process that starts another for its nodes, and the facts
// that it writes about itself.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';

import { join } from 'node:path';
import { isFree } from '../kit/src/listening.ts';
import { bareEnvironment } from './bare_environment.ts';

const root = join(import.meta.dirname, '..');

/** The contents of demo.json, which the demo writes. */
export interface Facts {
  base_url: string;
  admin_url: string;
  admin_token: string;
  console: { account: string; user: string; link: string };
  accounts: Array<{
    name: string;
    api_token: string;
    servers: string[];
    users: Array<{ name: string; active: boolean; flags: { proxy: boolean } }>;
  }>;
  proxy: {
    server: string;
    host: string;
    port: number;
    override_port: number;
    origin: string;
    connection_log?: string;
  };
  nodes_pid: number;
}

/**
 * Of a base: two ports of the proxy, with their override ports, the origin, and the two listeners
 * of `listenersOf`.
 */
const offsets = [-1000, -500, 0, 80, 500, 1000, 1500];

/** A port base of which no port is in use. */
export async function freeBase(): Promise<number> {
  for (;;) {
    // Below the ports that the system gives away by itself.
    const base = 22_000 + Math.floor(Math.random() * 9_000);
    const free = await Promise.all(
      offsets.map((offset) => isFree({ host: '127.0.0.1', port: base + offset })),
    );
    if (!free.includes(false)) return base;
  }
}

/**
 * Addresses for the account holders' listener and the operators', where they have to be known
 * beforehand.
 */
export function listenersOf(base: number): [string, string] {
  return [`127.0.0.1:${base + 1000}`, `127.0.0.1:${base + 1500}`];
}

export class Demo {
  readonly child: ChildProcess;
  readonly #data_dir: string;
  out = '';
  err = '';

  /**
   * `listen`: HOST:PORT of the account holders' listener, the operators' and the one of metrics,
   * which may be off; port 0 is any.
   * Without simulated nodes nothing moves by itself.
   */
  constructor(
    data_dir: string,
    port_base: string,
    listen: [string, string, string?] = ['127.0.0.1:0', '127.0.0.1:0'],
    nodes: 'off' | 'simulated' = 'off',
    settings: Record<string, string> = {},
  ) {
    this.#data_dir = data_dir;
    const first = ['--import', join(root, 'server/test/cheap_passwords.ts')];
    this.child = spawn(process.execPath, [...first, 'demo/start.ts'], {
      cwd: root,
      env: {
        ...bareEnvironment,
        EXITWARD_DATA_DIR: data_dir,
        EXITWARD_DEMO_PORT_BASE: port_base,
        EXITWARD_DEMO_NODES: nodes,
        EXITWARD_LISTEN: listen[0],
        EXITWARD_ADMIN_LISTEN: listen[1],
        EXITWARD_METRICS_LISTEN: listen[2] ?? 'off',
        ...settings,
      },
    });
    this.child.stdout?.on('data', (text) => {
      this.out += text;
    });
    this.child.stderr?.on('data', (text) => {
      this.err += text;
    });
  }
  /** Waits until everything runs. */
  async ready(): Promise<Facts> {
    while (!this.out.includes('Stop with Ctrl-C')) {
      if (this.child.exitCode !== null) throw new Error(this.out + this.err);
      await Promise.race([once(this.child.stdout as never, 'data'), once(this.child, 'exit')]);
    }
    return JSON.parse(readFileSync(join(this.#data_dir, 'demo.json'), 'utf8')) as Facts;
  }
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill(signal);
      await once(this.child, 'exit');
    }
    return this.child.exitCode;
  }
}

/** A request through a proxy, as it was answered. */
export async function throughProxy(
  { host, port }: { host: string; port: number },
  url: string,
  credentials?: string,
): Promise<{ status: number | undefined; reason: string | undefined; text: string }> {
  const headers = credentials && {
    'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
  const sent = request({ host, port, path: url, headers: { host: new URL(url).host, ...headers } });
  sent.end();
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode, reason: response.headers['x-exitward-reason'], text };
}
