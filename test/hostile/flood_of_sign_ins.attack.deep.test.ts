// A flood of sign-ins as an attack: from many addresses at once, it locks out neither the known
// nor, for long, others.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cost } from '../../server/src/sign_in/passwords.ts';
import { eachDatabase } from '../../server/test/databases.ts';
import {
  type Answer,
  type Browser,
  passwordOf,
  startTestApp,
  type TestApp,
} from '../../server/test/harness.ts';

const addresses = 72;
const atOnceOfEach = 2;
const maxTries = 40;

eachDatabase((database) => {
  let t: TestApp;
  let regular: Browser;
  const before = { ...cost };
  beforeAll(async () => {
    t = await startTestApp(await database.url(), { EXITWARD_TRUSTED_PROXIES: '127.0.0.0/8' });
    for (const name of ['attacker', 'victim']) await t.user(await t.account(name), 'bob');
    for (const name of ['alice', 'bob']) await t.signIn('attacker', name);
    regular = await t.signIn('victim', 'alice');
    await t.signIn('victim', 'bob');
    // So much that the server takes more attempts than it can hash.
    Object.assign(cost, { log2_n: 12, p: 1 });
  });
  afterAll(async () => {
    Object.assign(cost, before);
    await t.stop();
  });

  const signIn = (account: string, user: string, from: string, by = t.browser()) =>
    by.post('/session', { account, user, password: passwordOf(user) }, { 'x-forwarded-for': from });

  /** Floods until `isOver`; answers how often each status came back. */
  async function flood(isOver: () => boolean): Promise<Map<number, number>> {
    const statuses = new Map<number, number>();
    let sent = 0;
    const attack = async (address: string) => {
      while (!isOver()) {
        sent += 1;
        const [account, user] = (
          [
            // Right passwords of its own are never throttled.
            ['attacker', sent % 2 === 0 ? 'alice' : 'bob'],
            ['victim', 'alice'],
            ['victim', `nobody${sent}`],
            [`nobody${sent}`, 'alice'],
          ] as const
        )[sent % 8 < 5 ? 0 : (sent % 8) - 4] as [string, string];
        const { status } = await signIn(account, user, address);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        // So that the machine is busy with hashing.
        if (status === 429 || status === 503) await sleep(100);
      }
    };
    const from = Array.from({ length: addresses }, (_, at) => `198.51.100.${at + 1}`);
    const crowd = from.flatMap((address) => Array<string>(atOnceOfEach).fill(address));
    await Promise.all(crowd.map(attack));
    return statuses;
  }

  test('from 72 addresses stops neither a known device nor a session, and a new device for a bounded number of tries', {
    timeout: 600_000,
  }, async () => {
    let isOver = false;
    const attack = flood(() => isOver);
    await sleep(1000);
    const first: Answer[] = [];
    for (let times = 0; times < 3; times++) {
      first.push(await signIn('victim', 'alice', '203.0.113.1', regular));
      const headers = { 'x-forwarded-for': '203.0.113.1' };
      first.push(await regular.post('/second-factor', { password: passwordOf('alice') }, headers));
      await regular.delete('/session');
    }
    let tries = 0;
    let status = 0;
    while (status !== 201 && tries < maxTries) {
      tries += 1;
      status = (await signIn('victim', 'bob', '203.0.113.2')).status;
      if (status !== 201) await sleep(100);
    }
    isOver = true;
    const statuses = await attack;
    expect(first.map((response) => response.status)).toEqual(Array(6).fill(201));
    expect([status, tries < maxTries]).toEqual([201, true]);
    // The queue was full all the while.
    expect(statuses.get(503) ?? 0).toBeGreaterThan(10);
  });
});
