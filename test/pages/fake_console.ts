// The console with the fake of the API behind it, in one browser page: no server, no database, no
// demo.
import type { Browser } from 'playwright-core';
import { paths } from '../../console/src/paths.ts';
import { mapValues } from '../../scripts/openapi/shapes.ts';
import { Random } from '../../server/test/random.ts';
import { ownBrowser, pagePatienceMs } from '../browser.ts';
import { addressesOfAccount, addressesOfOperator } from '../console/addresses.ts';
import { buildConsole } from '../console/console.ts';
import { Visit } from '../console/visit.ts';
import { effort } from '../effort.ts';
import { newSeed } from '../seed.ts';
import { FakeApi, operations, type Rule, refusal } from './fake_api.ts';
import { inPage } from './in_page.ts';

/** As the examples of the document name them. */
const server = 'fra1';
const account = 'acme';

/**
 * The parts of an account as operators see it; `states.e2e.test.ts` holds them against the page's
 * own menu.
 */
const parts = [
  '',
  'servers',
  'users',
  'tokens',
  'authlist',
  'dns',
  'connections',
  'refusals',
  'usage',
  'audit',
];

/** The address of every page of both consoles. */
export const addresses = [
  ...addressesOfAccount(server),
  ...addressesOfOperator(server),
  ...parts.map((part) => paths.operator.account(account, part)),
];

/** The page of an account's part for its people and the one for operators, which show the same. */
const pairs = parts.slice(1).map((part) => {
  const ofPeople = part === 'audit' ? paths.activity : `/${part}`;
  return [ofPeople, paths.operator.account(account, part)] as const;
});

const random = new Random(newSeed());
const leftOut = effort === 'deep' ? [] : pairs.map((pair) => random.one(pair));

/**
 * Whether a run for a submission tries on this page what its twin in the other console does alike:
 * chance takes one of the two.
 */
export const isDrawn = (path: string) => !leftOut.includes(path);

/** They are read on every page: by the frame around it, except where the page itself shows them. */
const ofFrame = ['GET /console', 'GET /console/session', 'GET /admin/status'];
const shownBy: Record<string, string> = {
  [paths.operator.control_plane]: 'GET /admin/status',
  [paths.operator.exit_uses]: 'GET /admin/status',
};

/** The reads of this page. */
const readsOf = (path: string) =>
  operations
    .filter(({ method, isStream }) => method === 'GET' && !isStream)
    .map(({ name }) => name)
    .filter((name) => !ofFrame.includes(name) || shownBy[path] === name);

const asDocumented: Rule = () => undefined;

export class FakeConsole {
  readonly fake: FakeApi;
  readonly visit: Visit;
  readonly #browser: Browser;
  #loads = 0;
  #given: Rule = asDocumented;
  #isLoaded = false;
  #ofPage = readsOf('');
  #fails: (operation: string) => boolean = () => false;

  private constructor(fake: FakeApi, visit: Visit, browser: Browser) {
    this.fake = fake;
    this.visit = visit;
    this.#browser = browser;
  }

  static async start(): Promise<FakeConsole> {
    buildConsole();
    const [fake, browser] = await Promise.all([FakeApi.start(), ownBrowser()]);
    const visit = await Visit.begin(browser, fake.origin, {});
    visit.page.setDefaultTimeout(pagePatienceMs);
    await visit.context.addInitScript(inPage);
    return new FakeConsole(fake, visit, browser);
  }

  async stop(): Promise<void> {
    await this.visit.end();
    await this.#browser.close();
    await this.fake.stop();
  }

  /**
   * Shows the page as it is when it is entered, with nothing that was read before. Deep runs load
   * it each time.
   */
  async open(path: string): Promise<void> {
    this.#ofPage = readsOf(path);
    if (!this.#isLoaded || effort === 'deep') return await this.load(path);
    const nowhere = path.startsWith(paths.operator.overview) ? '/operator/nowhere' : '/nowhere';
    await this.visit.page.evaluate(`go('${nowhere}').then(forget)`);
    this.fake.requests.length = 0;
    await this.visit.page.evaluate(`go('${path}')`);
  }

  /** Loads the page, as at a start of the browser. */
  async load(path: string): Promise<void> {
    this.#ofPage = readsOf(path);
    const { page, origin } = this.visit;
    this.fake.requests.length = 0;
    this.#loads += 1;
    await page.goto(`${origin}/?${this.#loads}#${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await this.does('settled()');
    this.#isLoaded = true;
    if (effort !== 'deep') await this.does('tryOnce()');
  }

  /** The operations that the page has read, without those of its frame. */
  reads(): string[] {
    const names = this.fake.requests.map(({ operation }) => operation);
    return [...new Set(names)].filter((name) => this.#ofPage.includes(name));
  }

  /** From here on whatever a page newly shows is read, also what it has read before. */
  async age(): Promise<void> {
    await this.visit.page.evaluate('age()');
    this.fake.requests.length = 0;
  }

  /**
   * Does what makes the page read, while that fails and then not: the reads whose failure it does
   * not show.
   */
  async silentReads(act: () => Promise<unknown>): Promise<string[]> {
    this.recover();
    await this.age();
    this.failReads(503);
    await act();
    await this.tried();
    const reads = this.reads();
    if (reads.length === 0) {
      this.recover();
      return [];
    }
    const text = (await this.does('text()')) as string;
    this.recover();
    await this.does('readFailed()');
    if (((await this.does('text()')) as string).includes('The fake answers'))
      throw new Error('What failed is still shown after it was read.');
    return reads
      .filter((read) => !text.includes(refusal(read, 503)))
      .map((read) => `does not say that it cannot read ${read}`);
  }

  /** Waits until the page has all its answers: what fails has been tried for the last time. */
  async tried(): Promise<void> {
    await this.does('quiet()');
  }

  /** The answer of the function of `in_page.ts`. */
  does(call: string): Promise<unknown> {
    return this.visit.page.evaluate(call);
  }

  /**
   * Presses those in the page that have these names, one after another, and waits until all is
   * read.
   */
  async press(names: string[]): Promise<void> {
    await this.visit.page.evaluate(`press(${JSON.stringify(names)})`);
  }

  /** The names of those that can be pressed now. */
  async namesOf(selector: string): Promise<string[]> {
    return (await this.visit.page.evaluate(`namesOf('${selector}')`)) as string[];
  }

  /** From now on the reads of a page fail, all but its frame's, or this one alone. */
  failReads(status: number, alone?: string): void {
    this.visit.mayBeUnreachable = true;
    this.#fails = (name) => (alone === undefined ? this.#ofPage.includes(name) : name === alone);
    this.fake.answer(({ name }) => (this.#fails(name) ? { status } : undefined));
  }

  /**
   * From here on the records are others than the examples: these fields of theirs have these
   * values.
   */
  setFields(values: Record<string, unknown>, of = 'GET'): void {
    this.#give(({ method, example }) =>
      method === of ? { body: withFields(example, values) } : undefined,
    );
  }

  /**
   * From here on each list with this end of its path has more rows, which differ from the first in
   * these fields.
   */
  addRows(rows: Record<string, object>, count = 1): void {
    this.#give(({ method, path, example }) => {
      const other = rows[path.replace(/.*\//, '')];
      if (method !== 'GET' || !other || !Array.isArray(example)) return undefined;
      const added = Array.from({ length: count }, (_, n) => ({
        ...example[0],
        ...('id' in example[0] && { id: n + 2 }),
        ...other,
      }));
      return { body: [...example, ...added] };
    });
  }

  /** From here on each list with this end of its path has its first row alone, with fields. */
  setRows(list: string, fields: object): void {
    this.#give(({ method, path, example }) =>
      method === 'GET' && path.endsWith(`/${list}`) && Array.isArray(example)
        ? { body: [{ ...example[0], ...fields }] }
        : undefined,
    );
  }

  /** From here on nobody is signed in. */
  signOut(): void {
    this.#give(({ name }) => (name === 'GET /console/session' ? { status: 401 } : undefined));
  }

  /** Answers as at first. */
  startOver(): void {
    this.#give(asDocumented);
  }

  #give(rule: Rule): void {
    // The console around the pages keeps who is signed in.
    if (rule !== this.#given) this.#isLoaded = false;
    this.#given = rule;
    this.recover();
  }

  /** Nothing fails any more. */
  recover(): void {
    this.#fails = () => false;
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
  if (Array.isArray(value)) return value.map((item) => withFields(item, fields));
  if (typeof value !== 'object' || value === null) return value;
  return mapValues(value as Record<string, unknown>, (item, key) =>
    key in fields && (fields[key] === undefined || typeof fields[key] === typeof item)
      ? fields[key]
      : withFields(item, fields),
  );
}
