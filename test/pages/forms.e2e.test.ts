// Every form of both consoles, found by pressing all that can be pressed: what it refuses, sends, and says of failure and success.
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { operations } from '../../console/src/openapi.ts';
import { paths } from '../../console/src/paths.ts';
import { addresses, FakeConsole } from './fake_console.ts';
import { FormTrial } from './form_trial.ts';

/** The names of what is pressed, one after another, until there is a form. */
type Way = string[];

/** Buttons that bring no form. */
const others = /^(Calendar|Choose none|Copy|Download|Export|Fold|Show)/;

describe('the forms of the console', () => {
  let t: FakeConsole;
  /** The forms that were tried from end to end; in other places their success is enough. */
  const tried = new Set<string>();
  beforeAll(async () => {
    t = await FakeConsole.start();
  });
  afterAll(() => t?.stop());
  beforeEach(() => t.startOver());

  const form = () =>
    t.visit.page.locator('dialog[open] form.form, main:not(:has(dialog[open])) form.form').first();

  const namesOf = async (selector: string) =>
    (await t.namesOf(selector)).filter((name) => !others.test(name));

  /** Every way to a form on this page. */
  async function waysOn(path: string): Promise<Way[]> {
    await t.open(path);
    const ways: Way[] = [];
    if (await form().count()) ways.push([]);
    const buttons = await namesOf(
      'main button:not(.sort-button, [role=menuitem], form *, [aria-haspopup])',
    );
    ways.push(...buttons.map((name) => [name]));
    for (const menu of await namesOf('main [aria-haspopup=menu]')) {
      await t.press([menu]);
      ways.push(...(await namesOf('[role=menuitem]')).map((item) => [menu, item]));
    }
    const [all] = await namesOf('th.check-cell input');
    if (all !== undefined) {
      await t.press([all]);
      ways.push(...(await namesOf('.chosen-bar button')).map((name) => [all, name]));
    }
    return ways;
  }

  async function faultsOf(path: string, ways: Way[]): Promise<string[]> {
    const faults: string[] = [];
    for (const way of ways) {
      if (!(await isAt(path))) await t.open(path);
      const silent = await t.silentReads(() => t.press(way));
      // One form may bring the next.
      for (const here = new Set<string>(); (await form().count()) > 0; ) {
        const trial = new FormTrial(t, form());
        const key = await trial.key();
        if (here.has(key)) break;
        here.add(key);
        await trial.run(tried.has(key));
        tried.add(key);
        faults.push(...trial.faults.map((fault) => `${[path, ...way, key].join(' > ')}: ${fault}`));
      }
      faults.push(
        ...[...silent, ...t.takeFaults()].map((fault) => `${[path, ...way].join(' > ')}: ${fault}`),
      );
    }
    return faults;
  }

  /** Whether the page is there as it was opened. */
  const isAt = async (path: string) =>
    t.visit.page.url().endsWith(`#${path}`) && (await t.visit.page.locator('dialog').count()) === 0;

  test.each(addresses)('of %s', async (path) => {
    expect(await faultsOf(path, await waysOn(path))).toEqual([]);
  });

  test.each([
    ['/servers', { on_contract: false, own: undefined }],
    ['/dns', { list: 'overrides' }],
    ['/sign-in', { current: false }],
    ['/operator/port-schemes', { accounts: 0, servers: 0, name: 'other' }],
    ['/operator/accounts/acme/servers', { on_contract: false, own: undefined }],
  ])('of %s, where the records are others: %o', async (path, fields) => {
    t.setFields(fields);
    expect(await faultsOf(path, await waysOn(path))).toEqual([]);
  });

  test.each([paths.overview, paths.invite('ewi_fake'), paths.enter('ewl_fake')])(
    'of %s, where nobody is signed in',
    async (path) => {
      t.signOut();
      expect(await faultsOf(path, await waysOn(path))).toEqual([]);
    },
  );

  test('send all that the console can ask for', () => {
    const folder = new URL('../../console/src/', import.meta.url);
    const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name) && name !== 'openapi.ts')
      .map((name) => readFileSync(new URL(name, folder), 'utf8'))
      .join('\n');
    const asked = Object.entries(operations)
      .filter(([, { method }]) => method !== 'GET')
      .filter(([id]) =>
        [id, id.replace(/^console_/, '')].some((one) => sources.includes(`'${one}'`)),
      )
      .map(([, { method, path }]) => `${method} ${path}`);
    const sent = new Set(t.fake.sent);
    // Signing out is no form; the flows do it.
    expect(asked.filter((one) => !sent.has(one))).toEqual(['DELETE /console/session']);
  });
});
