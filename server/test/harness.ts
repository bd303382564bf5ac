// The harness of the tests: a real server on real sockets, a clock that the test moves, callers as objects.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import type { Clock } from '../src/clock.ts';
import type { Environment } from '../src/config.ts';
import type { Actor, Transaction } from '../src/db/database.ts';
import { runAllJobs } from '../src/jobs.ts';
import { type Running, serve } from '../src/main.ts';
import { type Builders, builders } from './builders.ts';
import { TestNode } from './node.ts';

/** A clock that stands still until the test moves it. */
export class TestClock implements Clock {
  seconds = 1_800_000_000;
  now(): number {
    return this.seconds;
  }
  steady(): number {
    return performance.now() / 1000;
  }
  advance(seconds: number): void {
    this.seconds += seconds;
  }
}

/** An answer, with its body read as JSON where there is one. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of any shape
  body: any;
}

/** Sends requests with one Authorization header. */
export class Caller {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  constructor(base: string, headers: Record<string, string>) {
    this.#base = base;
    this.#headers = headers;
  }
  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(this.#base + path, {
      method,
      redirect: 'manual',
      headers: {
        ...this.#headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text && isJson ? JSON.parse(text) : undefined,
    };
  }
  get(path: string, headers?: Record<string, string>): Promise<Answer> {
    return this.send('GET', path, undefined, headers);
  }
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer> {
    return this.send('POST', path, body, headers);
  }
  patch(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer> {
    return this.send('PATCH', path, body, headers);
  }
  put(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer> {
    return this.send('PUT', path, body, headers);
  }
  delete(path: string, headers?: Record<string, string>): Promise<Answer> {
    return this.send('DELETE', path, undefined, headers);
  }
}

/** The Authorization header of each variant. */
export function basic(token: string, variant: 'current' | 'earlier' = 'current'): string {
  const pair = variant === 'current' ? `:${token}` : `${token}:`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

const tester: Actor = { kind: 'system', name: 'test', address: '', request_id: '' };

export interface TestApp extends Builders {
  running: Running;
  clock: TestClock;
  base_url: string;
  admin_token: string;
  data_dir: string;
  now(): number;
  /** Calls with an account's API token; paths are those below `/v0`. */
  as(account: { api_token: string }, variant?: 'current' | 'earlier'): Caller;
  /** Calls with any Authorization header, or none; paths are whole. */
  with(authorization?: string): Caller;
  /** Calls as the operator; paths are those below `/admin`. */
  operator: Caller;
  /** A scripted node that has joined for the server. */
  node(server: string, name?: string): Promise<TestNode>;
  /** Runs a verb of the domain in a transaction. */
  write<T>(action: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Lets time pass and runs what is due. */
  pass(seconds: number): Promise<void>;
  stop(): Promise<void>;
}

/** A log that keeps its lines for the test to read. */
export function keptLog(): { log: Logger; lines: Array<Record<string, unknown>> } {
  const lines: Array<Record<string, unknown>> = [];
  const log = pino(
    { level: 'trace' },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  return { log, lines };
}

/** Starts a server on a fresh database; the jobs run only when the test lets time pass. */
export async function startTestApp(
  database_url: string,
  env: Environment = {},
  log: Logger = pino({ level: 'silent' }),
): Promise<TestApp> {
  const data_dir = mkdtempSync(join(tmpdir(), 'exitward-test-'));
  const clock = new TestClock();
  const running = await serve(
    {
      EXITWARD_DATABASE_URL: database_url,
      EXITWARD_DATA_DIR: data_dir,
      EXITWARD_LISTEN: '127.0.0.1:0',
      EXITWARD_ADMIN_LISTEN: '127.0.0.1:0',
      EXITWARD_METRICS_LISTEN: '127.0.0.1:0',
      EXITWARD_STOP_SECONDS: '1',
      ...env,
    },
    { clock, log, jobs: false },
  );
  const { ctx } = running;
  const admin_token = readFileSync(ctx.config.admin_token_file, 'utf8').trim();
  const write = <T>(action: (tx: Transaction) => Promise<T>) => ctx.db.write(tester, action);
  return {
    running,
    clock,
    base_url: running.base_url,
    admin_token,
    data_dir,
    now: () => clock.now(),
    as: (account, variant) =>
      new Caller(`${running.base_url}/v0`, { authorization: basic(account.api_token, variant) }),
    with: (authorization) => new Caller(running.base_url, authorization ? { authorization } : {}),
    operator: new Caller(`${running.admin_url}/admin`, {
      authorization: `Bearer ${admin_token}`,
    }),
    node: (server, name) => TestNode.join(running, write, server, name),
    write,
    async pass(seconds) {
      clock.advance(seconds);
      await runAllJobs(ctx);
    },
    async stop() {
      await running.stop();
      rmSync(data_dir, { recursive: true, force: true });
    },
    ...builders(ctx, write),
  };
}
