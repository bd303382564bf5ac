// The entries that exw renews: the current address of this machine, until the end; the entries of
// others stay as they are.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Failure } from '../../kit/src/cli/failures.ts';
import type { BuiltAccount } from '../../server/test/builders.ts';
import { startTestApp, type TestApp } from '../../server/test/harness.ts';
import { OwnAddress } from '../src/cli/own_address.ts';
import { Exitward } from '../src/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'exitward-own-address-'));
const list = '/contract/ip-authlist';
const user = 'alice';
let t: TestApp;
let acme: BuiltAccount;
let other: BuiltAccount;
/** Where the service sees the machine. */
let seen: string;

beforeAll(async () => {
  t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`, {
    EXITWARD_TRUSTED_PROXIES: '127.0.0.1/32',
  });
  // The real time, which exw reads, at the start: no entry ends by itself here.
  t.clock.seconds = Math.floor(Date.now() / 1000);
  acme = await t.account('acme');
  other = await t.account('other');
});
afterAll(async () => {
  await t?.stop();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(async () => {
  for (const by of [acme, other]) await t.as(by).delete(list);
});

const listed = async (by = acme) => (await t.as(by).get(list)).body as Array<{ ip: string }>;

/** The account's client on the machine. */
const machine = () =>
  new Exitward({
    baseUrl: t.base_url,
    token: acme.api_token,
    fetch: (url, options) => {
      const headers = new Headers(options?.headers);
      headers.set('x-forwarded-for', seen);
      return fetch(url, { ...options, headers });
    },
  });

/**
 * The states of an address when the machine comes to it: the account, if any, that has listed it.
 */
const kinds = {
  'no entry lists': undefined,
  'another entry of the account lists': () => acme,
  'another account lists': () => other,
};
type Kind = keyof typeof kinds;
const names = Object.keys(kinds) as Kind[];
const moves = names.flatMap((from) => names.map((to) => ({ from, to })));

test.each(moves)(
  'moving from an address that $from to one that $to, it keeps an entry only for the current address',
  async ({ from, to }) => {
    const there: [Kind, string] = [from, '203.0.113.1'];
    const here: [Kind, string] = [to, '203.0.113.2'];
    for (const [kind, ip] of [there, here]) {
      const by = kinds[kind]?.();
      if (!by) continue;
      const body = { ip, user, expiry: t.now() + 86_400 };
      // Asked for by the address itself, it gives way to no other account.
      const added = await t.as(by).post(list, body, { 'x-forwarded-for': ip });
      expect(added.status).toBe(201);
    }
    const [others, foreign] = [await listed(acme), await listed(other)];
    const own = new OwnAddress(machine(), { user, everySeconds: 3600 });
    for (const [kind, ip] of [there, here, there]) {
      seen = ip;
      const looked = own.look();
      if (kind === 'another account lists') await expect(looked).rejects.toThrow(Failure);
      else await looked;
      expect(await listed()).toEqual([
        ...others,
        ...(kinds[kind] ? [] : [expect.objectContaining({ ip, user })]),
      ]);
    }
    await own.remove();
    expect([await listed(acme), await listed(other)]).toEqual([others, foreign]);
  },
);

test('it stops at its end without an error, even if the clock of the service is ahead', async () => {
  seen = '203.0.113.1';
  const end = Math.floor(Date.now() / 1000) + 3;
  const own = new OwnAddress(machine(), { user, everySeconds: 1, end });
  await own.look();
  // The service takes no entry that ends now.
  t.clock.seconds = end;
  await own.keep(new AbortController().signal);
  await own.remove();
  expect(await listed()).toEqual([]);
});
