// The console with the fake of the API behind it, in one browser page: no server, no database, no demo.
import type { Browser } from 'playwright-core';
import { paths } from '../../console/src/paths.ts';
import { mapValues } from '../../scripts/openapi/shapes.ts';
import { connectBrowser } from '../browser.ts';
import { addressesOfAccount, addressesOfOperator } from '../console/addresses.ts';
import { buildConsole } from '../console/console.ts';
import { Visit } from '../console/visit.ts';
import { FakeApi, type Rule } from './fake_api.ts';

/** As the examples of the document name them. */
const server = 'fra1';
const account = 'acme';

/** The parts of an account as operators see it; `states.e2e.test.ts` holds them against the page's own menu. */
const parts = ['', 'servers', 'users', 'tokens', 'authlist', 'dns', 'usage', 'audit'];

/** The address of every page of both consoles. */
export const addresses = [
  ...addressesOfAccount(server),
  ...addressesOfOperator(server),
  ...parts.map((part) => paths.operator.account(account, part)),
];

/** An operator token, and no pause before what has failed is read again: its length is a matter of chance. */
const begin = `Math.random = () => 0;
  if (location.origin !== 'null') sessionStorage.setItem('exitward-operator-token', 'ewo_fake');`;

/** They are read on every page: by the frame around it. */
const ofFrame = ['GET /console', 'GET /console/session', 'GET /admin/status'];

export class FakeConsole {
  readonly fake: FakeApi;
  readonly visit: Visit;
  readonly #browser: Browser;
  #loads = 0;
  #given: Rule = () => undefined;

  private constructor(fake: FakeApi, visit: Visit, browser: Browser) {
    this.fake = fake;
    this.visit = visit;
    this.#browser = browser;
  }

  static async start(): Promise<FakeConsole> {
    buildConsole();
    const [fake, browser] = await Promise.all([FakeApi.start(), connectBrowser()]);
    const visit = await Visit.begin(browser, fake.origin, {});
    visit.page.setDefaultTimeout(20_000);
    await visit.context.addInitScript(begin);
    return new FakeConsole(fake, visit, browser);
  }

  async stop(): Promise<void> {
    await this.visit.end();
    await this.#browser.close();
    await this.fake.stop();
  }

  /** Loads the page anew, with nothing that was read before. */
  async open(path: string): Promise<void> {
    const { page, origin } = this.visit;
    this.fake.requests.length = 0;
    this.#loads += 1;
    await page.goto(`${origin}/?${this.#loads}#${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await this.visit.settled();
  }

  /** The operations that the page has read, without those of its frame. */
  reads(): string[] {
    const names = this.fake.requests.map(({ operation }) => operation);
    return [...new Set(names)].filter((name) => name.startsWith('GET ') && !ofFrame.includes(name));
  }

  /** How often a failing read was made at most, of those that differ in their queries. */
  timesRead(operation: string): number {
    const times = Object.values(
      Object.groupBy(
        this.fake.requests.filter((one) => one.operation === operation),
        ({ query }) => JSON.stringify(query),
      ),
    );
    return Math.min(...times.map((one) => one?.length ?? 0));
  }

  /** From now on the reads of a page fail, all but its frame's, or this one alone. */
  failReads(status: number, alone?: string): void {
    this.visit.mayBeUnreachable = true;
    this.fake.answer(({ name, method, isStream }) => {
      const isOfPage = method === 'GET' && !isStream && !ofFrame.includes(name);
      return (alone === undefined ? isOfPage : name === alone) ? { status } : undefined;
    });
  }

  /** From here on the records are others than the examples: these fields of theirs have these values. */
  setFields(values: Record<string, unknown>): void {
    this.#given = ({ method, example }) =>
      method === 'GET' ? { body: withFields(example, values) } : undefined;
    this.recover();
  }

  /** From here on nobody is signed in. */
  signOut(): void {
    this.#given = ({ name }) => (name === 'GET /console/session' ? { status: 401 } : undefined);
    this.recover();
  }

  /** Answers as at first. */
  startOver(): void {
    this.#given = () => undefined;
    this.recover();
  }

  /** Nothing fails any more. */
  recover(): void {
    this.fake.reset();
    this.fake.answer(this.#given);
    this.visit.mayBeUnreachable = false;
  }

  /** Everything that should not have happened since the last call. */
  takeFaults(): string[] {
    return [...this.visit.problems.splice(0), ...this.fake.faults.splice(0)];
  }
}

function withFields(value: unknown, fields: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((one) => withFields(one, fields));
  if (typeof value !== 'object' || value === null) return value;
  return mapValues(value as Record<string, unknown>, (one, key) =>
    key in fields && (fields[key] === undefined || typeof fields[key] === typeof one)
      ? fields[key]
      : withFields(one, fields),
  );
}
