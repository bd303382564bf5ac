// The holder of an address: by its own proof, by an operator's word, or not proven yet; and what
// the setting makes of it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sweepProofs } from '../src/authlist/authlist.ts';
import { Callers } from '../src/observed/callers.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';
import type { NodeRecord } from './node.ts';

const list = '/contract/ip-authlist';
const from = (ip: string) => ({ 'x-forwarded-for': ip });

eachDatabase((database) => {
  const apps = new Map<string, TestApp>();
  let names = 0;
  let addresses = 0;
  const freshIp = () => `203.0.${Math.floor(++addresses / 250)}.${(addresses % 250) + 1}`;

  beforeAll(async () => {
    for (const setting of ['off', 'prefer', 'require']) {
      const app = await startTestApp(await database.url(), {
        EXITWARD_TRUSTED_PROXIES: '127.0.0.0/8',
        ...(setting === 'prefer' ? {} : { EXITWARD_AUTHLIST_PROOF: setting }),
      });
      await app.server('fra1');
      apps.set(setting, app);
    }
  });
  afterAll(() => Promise.all(Array.from(apps.values(), (app) => app.stop())));

  /**
   * An account of an app with this setting; `add` lists an address for alice, from an address of no
   * meaning.
   */
  async function scene(setting = 'prefer') {
    const t = apps.get(setting) as TestApp;
    const name = `account${++names}`;
    const account = await t.account(name, { servers: ['fra1'] });
    const client = t.as(account);
    const of = `/accounts/${name}/authlist`;
    const add = (ip?: string, caller = '192.0.2.1') =>
      client.post(list, { ip, user: 'alice', expiry: t.now() + 1000 }, from(caller));
    const proofs = async () =>
      (await t.operator.get(of)).body.map((entry: { proof: string }) => entry.proof);
    const byOperator = (body: object) =>
      t.operator.post(of, { user: 'alice', expiry: t.now() + 1000, ...body });
    const own_account = account.account.id;
    return { t, name, own_account, client, of, add, proofs, byOperator };
  }

  describe('an entry is verified', () => {
    it('when its address asks for it, with or without naming itself', async () => {
      const { add, proofs } = await scene();
      const [first, other] = [freshIp(), freshIp()];
      expect((await add(undefined, first)).body.ip).toBe(first);
      await add(`::ffff:${other}`, other);
      await add(freshIp());
      expect(await proofs()).toEqual(['proven', 'proven', 'unproven']);
    });

    it('when a change is asked for from it since; not by a read, nor by a request that is refused', async () => {
      const { t, client, add, proofs } = await scene();
      const ip = freshIp();
      await add(ip);
      await client.get(list, from(ip));
      await client.post(list, { user: 'alice' }, from(ip));
      await client.post(list, 'no JSON', from(ip));
      await t.as({ api_token: 'ewa_no' }).post(list, {}, from(ip));
      await t.pass(0);
      expect(await proofs()).toEqual(['unproven']);
      // It is listed already, and that is the proof.
      expect((await add(undefined, ip)).status).toBe(409);
      await t.pass(0);
      expect(await proofs()).toEqual(['proven']);
    });

    it('when somebody of the account opens the console there', async () => {
      const { t, name, add, proofs } = await scene();
      const ip = freshIp();
      await add(ip);
      const alice = await t.signIn(name, 'alice');
      expect((await alice.get('/authlist', from(ip))).body[0].proof).toBe('unproven');
      await t.pass(0);
      expect(await proofs()).toEqual(['proven']);
    });

    it('not when another account calls from there', async () => {
      const [first, other] = [await scene(), await scene()];
      const ip = freshIp();
      await first.add(ip);
      expect((await other.add(freshIp(), ip)).status).toBe(201);
      await first.t.pass(0);
      expect(await first.proofs()).toEqual(['unproven']);
    });

    it('when an operator says so, and not when they say otherwise', async () => {
      const { t, of, add, proofs, byOperator } = await scene();
      const { id } = (await add(freshIp())).body;
      const say = async (proven: boolean) =>
        (await t.operator.patch(`${of}/${id}`, { proven })).body.proof;
      expect([await say(true), await say(false)]).toEqual(['proven', 'unproven']);
      await byOperator({ ip: freshIp() });
      expect(await proofs()).toEqual(['unproven', 'proven']);
      const { body } = await t.operator.get(`/audit?account=${of.split('/')[2]}`);
      expect(body[1]).toMatchObject({ before: { proven: true }, after: { proven: false } });
    });

    it('until it is changed to another address; other changes leave the proof', async () => {
      const { t, client, add, proofs } = await scene();
      const [ip, other] = [freshIp(), freshIp()];
      const { id } = (await add(undefined, ip)).body;
      const change = (body: object, caller: string) =>
        client.patch(`${list}/${id}`, body, from(caller));
      await change({ expiry: t.now() + 2000 }, '192.0.2.1');
      expect(await proofs()).toEqual(['proven']);
      await change({ ip: other }, ip);
      expect(await proofs()).toEqual(['unproven']);
      await change({ expiry: t.now() + 3000 }, other);
      expect(await proofs()).toEqual(['proven']);
    });

    it('through a removal of all and its undoing', async () => {
      const { t, of, add, proofs } = await scene();
      await add(undefined, freshIp());
      await add(freshIp());
      const { removal_id } = (await t.operator.delete(of)).body;
      await t.operator.post(`${of}/restore`, { removal_id });
      expect(await proofs()).toEqual(['proven', 'unproven']);
    });
  });

  describe('a verified claim', () => {
    it.each([
      ['by a new entry', (scene: Scene, ip: string) => scene.add(undefined, ip)],
      [
        'by a change to it',
        async (scene: Scene, ip: string) => {
          const { id } = (await scene.add(freshIp())).body;
          return scene.client.patch(`${list}/${id}`, { ip }, from(ip));
        },
      ],
      ["by an operator's entry", (scene: Scene, ip: string) => scene.byOperator({ ip })],
    ])('takes the address from an unproven one of another account, %s', async (_, take) => {
      const [holder, taker] = [await scene(), await scene()];
      const ip = freshIp();
      await holder.add(ip);
      expect((await taker.add(ip)).status).toBe(409);
      const { status, body } = await take(taker, ip);
      expect([status < 300, body.ip]).toEqual([true, ip]);
      expect([await holder.proofs(), (await taker.proofs()).at(-1)]).toEqual([[], 'proven']);
      expect((await holder.add(undefined, ip)).status).toBe(409);
    });

    it('yields to nobody: of those that ask for themselves the first comes first', async () => {
      const [first, other] = [await scene(), await scene()];
      const ip = freshIp();
      await first.add(undefined, ip);
      expect((await other.add(undefined, ip)).status).toBe(409);
      expect((await other.byOperator({ ip })).status).toBe(409);
    });

    it('does not displace an entry of the same account, which may be of another user', async () => {
      const { add, proofs } = await scene();
      const ip = freshIp();
      await add(ip);
      expect((await add(undefined, ip)).status).toBe(409);
      expect(await proofs()).toEqual(['unproven']);
    });
  });

  it('/v0 shows nothing of proofs', async () => {
    const { client, add } = await scene();
    await add(freshIp());
    expect(Object.keys((await client.get(list)).body[0])).toEqual([
      ...['id', 'ip', 'user', 'user_active', 'expiry'],
    ]);
  });

  describe('EXITWARD_AUTHLIST_PROOF', () => {
    it('off: the first claim wins, from any caller, and no entry is called unverified', async () => {
      const [first, other] = [await scene('off'), await scene('off')];
      const ip = freshIp();
      await first.add(ip);
      expect((await other.add(undefined, ip)).status).toBe(409);
      expect(await first.proofs()).toEqual([null]);
    });

    it('require: an entry is shown, and no node gets it until it is verified', async () => {
      const { t, name, client, add, proofs } = await scene('require');
      const [ip, own] = [freshIp(), freshIp()];
      await add(ip);
      await add(undefined, own);
      expect(await proofs()).toEqual(['waits', 'proven']);
      expect((await client.get(list)).body).toHaveLength(2);
      const node = await t.node('fra1', name);
      const snapshot = JSON.stringify(await node.snapshot());
      expect([snapshot.includes(own), snapshot.includes(ip)]).toEqual([true, false]);
      await node.follow();
      await add(freshIp(), ip);
      await t.pass(0);
      await node.until((follower) =>
        follower
          .heard('authlist')
          .some(({ value }) => (value as { ip?: string } | null)?.ip === ip),
      );
      expect(await proofs()).toEqual(['proven', 'proven', 'waits']);
      expect(JSON.stringify(node.heard('authlist').map(({ value }) => value))).toBe(
        JSON.stringify([null, { ip, user: 1, expiry: t.now() + 1000 }]),
      );
      node.stop();
    });

    it('changed, it holds for older entries, too', async () => {
      const { t, name, own_account, add, proofs } = await scene();
      const [ip, own] = [freshIp(), freshIp()];
      await add(ip);
      await add(undefined, own);
      const node = await t.node('fra1', name);
      await node.start();
      // The entries of other tests change, too.
      const isOwn = ({ account, id }: NodeRecord) => account === own_account && id === 1;
      const last = () => node.heard('authlist').findLast(isOwn);
      await t.write((tx) => sweepProofs(tx, 500, 'require'));
      await node.until(() => last()?.value === null);
      expect(await proofs()).toEqual(['waits', 'proven']);
      expect(await t.write((tx) => sweepProofs(tx, 500, 'require'))).toBe(0);
      // As the jobs of this app do, whose setting it is not.
      await t.pass(0);
      await node.until(() => (last()?.value as { ip?: string } | null)?.ip === ip);
      expect(await proofs()).toEqual(['unproven', 'proven']);
      node.stop();
    });
  });

  it('an account that calls from addresses without end takes the place of 256, and of its own alone', async () => {
    const { t } = await scene();
    const looked: Array<{ account_id: number; ip: string }> = [];
    const callers = new Callers({
      canVerify: async (_, addresses) => looked.push(...addresses) === 0,
      verifyEntries: async () => {},
    });
    for (let at = 0; at < 10_000; at++) callers.note(1, `2001:db8::${at.toString(16)}`);
    callers.note(2, '192.0.2.2');
    await callers.look(t.running.ctx);
    expect(looked.length).toBe(257);
    expect(looked.at(-1)).toEqual({ account_id: 2, ip: '192.0.2.2' });
  });

  type Scene = Awaited<ReturnType<typeof scene>>;
});
