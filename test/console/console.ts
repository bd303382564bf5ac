// The console under test: the demo as `npm start` runs it, and a browser to look at it with.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { expect } from 'vitest';
import { TestClient } from '../../server/test/client.ts';
import { TestNode } from '../../server/test/node.ts';
import { connectBrowser } from '../browser.ts';
import { Demo, type Facts, freeBase, listenersOf } from '../demo_process.ts';
import { fillAuthlist, fillNetwork, type NetworkSize } from './filling.ts';
import { Visit } from './visit.ts';

const root = join(import.meta.dirname, '../..');

/** The account of the demo that the tests look at. */
export const account = 'acme';
/** Its user with every permission. */
export const everything = 'proxy-billing-admin';
/** The password that `passwordFor` sets. */
export const passwordOf = (user: string) => `a long password of ${user}`;

/** Sends the form of the sign-in page. */
export async function giveCredentials(visit: Visit, user: string, password = passwordOf(user)) {
  // The page before may have an account, too.
  await visit.button('Sign in').waitFor();
  await visit.field('Account').fill(account);
  await visit.field('User').fill(user);
  await visit.field('Password').fill(password);
  await visit.button('Sign in').click();
}

/** Presses the button of a form that asks for one's password: only the right one is accepted. */
export async function confirmPassword(visit: Visit, verb: string) {
  await visit.field('Your password').fill('not the right password');
  await visit.button(verb).click();
  expect(await visit.faultOf('Your password')).not.toBe('');
  await visit.field('Your password').fill(passwordOf(everything));
  await visit.button(verb).click();
}

/** Builds what the server serves when its sources are newer; one after another, for all callers. */
export function buildConsole(): void {
  const lock = new DatabaseSync(join(root, 'node_modules/.console-build.lock'), {
    timeout: 60_000,
  });
  try {
    lock.exec('begin exclusive');
    execFileSync(process.execPath, ['scripts/console.mjs'], { cwd: root, stdio: 'pipe' });
  } finally {
    lock.close();
  }
}

export class Console {
  readonly browser: Browser;
  readonly #data_dir: string;
  readonly #port_base: number;
  #demo: Demo;
  facts: Facts;

  private constructor(
    data_dir: string,
    port_base: number,
    demo: Demo,
    facts: Facts,
    browser: Browser,
  ) {
    this.#data_dir = data_dir;
    this.#port_base = port_base;
    this.#demo = demo;
    this.facts = facts;
    this.browser = browser;
  }

  /**
   * Where `nodes` are simulated, the network lives; without, nothing moves but what a test moves.
   */
  static async start(open = connectBrowser, nodes: 'off' | 'simulated' = 'off'): Promise<Console> {
    buildConsole();
    const data_dir = mkdtempSync(join(tmpdir(), 'exitward-console-'));
    const port_base = await freeBase();
    // Known beforehand: links that are made to be sent begin with the address.
    const demo = new Demo(data_dir, String(port_base), listenersOf(port_base), nodes);
    const [facts, browser] = await Promise.all([demo.ready(), open()]);
    return new Console(data_dir, port_base, demo, facts, browser);
  }

  /** Ends all visits, too. */
  async stop(): Promise<void> {
    await this.browser.close();
    await this.#demo.stop('SIGKILL');
    rmSync(this.#data_dir, { recursive: true, force: true });
  }

  /** As a crash would. */
  async kill(): Promise<void> {
    await this.#demo.stop('SIGKILL');
  }

  /** Runs again what was killed, at the same addresses. */
  async revive(): Promise<void> {
    const { base_url, admin_url } = this.facts;
    const listen = [new URL(base_url).host, new URL(admin_url).host] as [string, string];
    this.#demo = new Demo(this.#data_dir, String(this.#port_base), listen);
    this.facts = await this.#demo.ready();
  }

  /** Calls below /v0 as the account. */
  get api(): TestClient {
    const { base_url, accounts } = this.facts;
    const token = accounts.find(({ name }) => name === account)?.api_token;
    const authorization = `Basic ${Buffer.from(`:${token}`).toString('base64')}`;
    return new TestClient(`${base_url}/v0`, { authorization });
  }

  /** Calls below /admin. */
  get operator(): TestClient {
    const { admin_url, admin_token } = this.facts;
    return new TestClient(`${admin_url}/admin`, { authorization: `Bearer ${admin_token}` });
  }

  /** A node of the server that does only what a test has it do, next to the demo's own. */
  async node(server: string, name = 'scripted'): Promise<TestNode> {
    const { base_url } = this.facts;
    const { body: invite } = await this.operator.post('/invites', { server });
    return TestNode.invited(base_url, invite.code, name);
  }

  /** The path of an invitation, which sets the user's password. */
  async invite(user: string): Promise<string> {
    const { body } = await this.operator.post(`/accounts/${account}/users/${user}/invite`, {});
    return body.path;
  }

  /** Sets `passwordOf(user)`, as the user would by an invitation. */
  async passwordFor(user: string): Promise<void> {
    const { base_url } = this.facts;
    const code = (await this.invite(user)).replace('/#/invite/', '');
    const page = new TestClient(`${base_url}/console`, { origin: base_url });
    const { status, text } = await page.post('/invite/accept', {
      code,
      password: passwordOf(user),
    });
    if (status !== 201) throw new Error(text);
  }

  /**
   * Moves the ends of the waits that guessing has cost so far: nothing is left to how busy the
   * machine is.
   */
  moveWaits(seconds: number): void {
    const db = new DatabaseSync(join(this.#data_dir, 'exitward.db'), { timeout: 30_000 });
    const statement =
      'update sign_in_attempts set wait_until = wait_until + ? where wait_until > 0';
    db.prepare(statement).run(seconds);
    db.close();
  }

  /**
   * Adds so many entries to the authlist of the account, past the server; returns how many it holds
   * then.
   */
  fillAuthlist(entries: number): number {
    return this.#fill((db) => fillAuthlist(db, account, entries));
  }

  /** As if the entries of the authlist were added a day earlier, past the server. */
  ageAuthlist(): void {
    this.#fill((db) => db.exec('update authlist set added_at = added_at - 86400'));
  }

  /** Makes the network a large one, past the server. */
  fillNetwork(size: NetworkSize): void {
    this.#fill((db) => fillNetwork(db, account, size));
  }

  #fill<T>(action: (db: DatabaseSync) => T): T {
    const db = new DatabaseSync(join(this.#data_dir, 'exitward.db'), { timeout: 30_000 });
    try {
      db.exec('begin immediate');
      const answer = action(db);
      db.exec('commit');
      return answer;
    } finally {
      db.close();
    }
  }

  /** Runs a line with curl that was copied from a page, and returns its output. */
  async curl(line: string): Promise<string> {
    const { stdout } = await promisify(execFile)('sh', ['-c', line]);
    return stdout;
  }

  /** A browser profile of its own, that nobody has signed in with. */
  visit(options: BrowserContextOptions = {}): Promise<Visit> {
    return Visit.begin(this.browser, this.facts.base_url, options);
  }

  /** The same, signed in as the user by a one-time link, and loaded once: at this page. */
  async visitAs(user: string, path = '/', options: BrowserContextOptions = {}): Promise<Visit> {
    const { base_url } = this.facts;
    const { body } = await this.operator.post(
      `/accounts/${account}/users/${user}/sign-in-link`,
      {},
    );
    const visit = await this.visit(options);
    const userAgent = (await visit.page.evaluate('navigator.userAgent')) as string;
    const answer = await visit.context.request.post(`${base_url}/console/session/link`, {
      headers: { origin: base_url, 'user-agent': userAgent },
      data: { code: body.path.replace('/#/enter/', '') },
    });
    if (answer.status() !== 201) throw new Error(await answer.text());
    await visit.go(path);
    return visit;
  }

  /** At the operators' listener, without a token yet. */
  visitAtOperators(options: BrowserContextOptions = {}): Promise<Visit> {
    return Visit.begin(this.browser, this.facts.admin_url, options);
  }

  /** The same, with the operator token given. */
  async visitAsOperator(options: BrowserContextOptions = {}): Promise<Visit> {
    const visit = await this.visitAtOperators(options);
    await visit.open('/');
    await visit.field('Operator token').fill(this.facts.admin_token);
    await visit.button('Sign in').click();
    await visit.heading('Overview').waitFor();
    return visit;
  }
}
