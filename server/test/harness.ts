// The harness of the tests: a real server on real sockets, a clock that the test moves, clients as
// objects.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import type { Environment } from '../../kit/src/settings.ts';
import type { Clock } from '../src/clock.ts';
import type { Actor, Transaction } from '../src/db/database.ts';
import { runAllJobs } from '../src/jobs.ts';
import { type Running, serve } from '../src/main.ts';
import { type Builders, builders } from './builders.ts';
import './cheap_passwords.ts';
import { Browser, TestClient } from './client.ts';
import { TestNode } from './node.ts';

export { type Answer, type Browser, TestClient } from './client.ts';

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

/** The Authorization header of each variant. */
export function basic(token: string, variant: 'current' | 'earlier' = 'current'): string {
  const pair = variant === 'current' ? `:${token}` : `${token}:`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

/** The password that `signIn` sets. */
export const passwordOf = (user: string) => `a long password of ${user}`;

const tester: Actor = { kind: 'system', name: 'test', address: '', request_id: '' };

export interface TestApp extends Builders {
  running: Running;
  clock: TestClock;
  base_url: string;
  admin_token: string;
  data_dir: string;
  now(): number;
  /** Calls with an account's API token; paths are those below `/v0`. */
  as(account: { api_token: string }, variant?: 'current' | 'earlier'): TestClient;
  /** Calls with any Authorization header, or none; paths are whole. */
  with(authorization?: string): TestClient;
  /** Calls as the operator; paths are those below `/admin`. */
  operator: TestClient;
  /** A browser that nobody has signed in with; paths are those below `/console`. */
  browser(): Browser;
  /** A browser in which the user is signed in, with `passwordOf(user)` set by an invitation. */
  signIn(account: string, user: string): Promise<Browser>;
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
  now?: number,
): Promise<TestApp> {
  const data_dir = mkdtempSync(join(tmpdir(), 'exitward-test-'));
  const clock = new TestClock();
  if (now !== undefined) clock.seconds = now;
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
  const operator = new TestClient(`${running.admin_url}/admin`, {
    authorization: `Bearer ${admin_token}`,
  });
  const browser = () => new Browser(running.base_url);
  return {
    running,
    clock,
    base_url: running.base_url,
    admin_token,
    data_dir,
    now: () => clock.now(),
    as: (account, variant) =>
      new TestClient(`${running.base_url}/v0`, {
        authorization: basic(account.api_token, variant),
      }),
    with: (authorization) =>
      new TestClient(running.base_url, authorization ? { authorization } : {}),
    operator,
    browser,
    async signIn(account, user) {
      const path = `/accounts/${account}/users/${user}/invite`;
      const { code } = (await operator.send('POST', path)).body;
      const signedIn = browser();
      const body = { code, password: passwordOf(user) };
      const answer = await signedIn.post('/invite/accept', body);
      if (answer.status !== 201) throw new Error(`${user} cannot sign in: ${answer.text}`);
      return signedIn;
    },
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
