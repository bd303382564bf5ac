// An account that lists an address of somebody else first: that one's connections would be billed
// to it, and led where it wants.
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eachDatabase } from '../../server/test/databases.ts';
import { basic, startTestApp, type TestApp } from '../../server/test/harness.ts';
import { until } from '../../server/test/waiting.ts';
import { deepDescribe } from '../deep_test.ts';
import { type Customer, inAnHour } from '../system/control_plane.ts';
import { nextClientIp, originIp } from '../system/places.ts';
import { ask } from '../system/traffic.ts';
import { type Node, through, World } from '../system/world.ts';

const list = '/contract/ip-authlist';

eachDatabase((database) => {
  let t: TestApp;

  beforeAll(async () => {
    t = await startTestApp(await database.url(), { EXITWARD_TRUSTED_PROXIES: '127.0.0.0/8' });
    await t.server('fra1');
  });
  afterAll(() => t.stop());

  const claimsOn = async (ip: string) =>
    (await t.operator.get(`/addresses?ip=${ip}`)).body.authlist;
  const from = (ip: string) => ({ 'x-forwarded-for': ip });

  test('10,000 addresses listed by guess hold up none of those that ask for themselves', async () => {
    const [squatter, victim] = [await t.account('squatter'), await t.account('victim')];
    const expiry = t.now() + 1000;
    const guesses = Array.from({ length: 10_000 }, (_, at) => `198.18.${at >> 8}.${at & 255}`);
    const attack = t.as(squatter);
    // A claim is written as the attacker's own requests write it; the first and the last are sent.
    await t.write(async (tx) => {
      const { port_scheme_id, id: account_id } = squatter.account;
      const rows = guesses.slice(1, -1).map((ip, at) => ({
        ...{ account_id, id: 1_000 + at, port_scheme_id, ip, user_id: 1, expiry },
      }));
      await tx.insertMany('authlist', rows);
    });
    for (const ip of [guesses.at(0), guesses.at(-1)]) {
      expect((await attack.post(list, { ip, user: 'alice', expiry })).status).toBe(201);
    }
    for (const ip of [0, 4_999, 9_999].map((at) => guesses[at] as string)) {
      const body = { user: 'alice', expiry };
      const answer = await t.as(victim).post(list, body, from(ip));
      expect([answer.status, answer.body.ip]).toEqual([201, ip]);
      expect(await claimsOn(ip)).toMatchObject([{ account: 'victim', proof: 'proven' }]);
    }
    // The attacker's word alone takes none of them back, by no way that it has.
    const again = await attack.post(list, { ip: guesses[0], user: 'alice', expiry });
    const moved = await attack.patch(`${list}/1000`, { ip: guesses[0] });
    expect([again.status, moved.status]).toEqual([409, 409]);
  });

  test('a victim learns nothing of its squatter', async () => {
    const [squatter, other] = [await t.account('one'), await t.account('other')];
    const ip = '203.0.113.50';
    const body = { user: 'alice', expiry: t.now() + 1000 };
    const { status } = await t.as(squatter).post(list, { ...body, ip });
    const free = await t.as(other).post(list, body, from('203.0.113.51'));
    const claim = await t.as(other).post(list, body, from(ip));
    expect([status, free.status, claim.status]).toEqual([201, 201, 201]);
    const shape = (answer: typeof free) => Object.keys(answer.body);
    expect(shape(claim)).toEqual(shape(free));
    // Nor does the squatter learn who it was: its log names the address alone.
    const audit = (await t.operator.get('/audit?account=one')).body;
    const lost = audit.find(({ action }: { action: string }) => action === 'authlist.give_way');
    expect(lost).toMatchObject({ actor: 'authlist', address: '', before: { ip, user: 'alice' } });
    expect(JSON.stringify(lost)).not.toContain('other');
  });
});

deepDescribe('through a node', () => {
  let world: World;
  let node: Node;

  beforeAll(async () => {
    world = await World.start('embedded');
    node = await world.node();
    await node.agent.follow();
  });
  afterAll(() => world?.stop());

  /** Lists the address that the request comes from, as `exw authlist add` does there. */
  function listFrom(ip: string, { api_token }: Customer): Promise<number> {
    const url = `${world.control.base_url}/v0${list}`;
    return new Promise((resolve, reject) => {
      const headers = { authorization: basic(api_token), 'content-type': 'application/json' };
      const asking = request(url, { method: 'POST', localAddress: ip, headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      });
      asking.on('error', reject);
      asking.end(JSON.stringify({ user: 'alice', expiry: inAnHour() }));
    });
  }

  test('the victim regains its address, its way and its bill by listing it from there', async () => {
    const [squatter, victim] = [
      await world.customer(node.server),
      await world.customer(node.server),
    ];
    const ip = nextClientIp();
    const other = (await squatter.list()).ip;
    const expiry = inAnHour();
    const { status } = await squatter.api.post(list, { ip, user: 'alice', expiry });
    expect(status).toBe(201);
    const trap = { server: node.server, hostname: 'shop.test', ip: originIp, expiry };
    expect((await squatter.api.post('/contract/overrides', trap)).status).toBe(201);
    const client = through(node.place, ip, { override: true });
    const url = `http://shop.test:${world.origin.http_port}/100`;
    const shop = async () => (await ask(client, 'GET', url)).status;
    await until(async () => (await shop()) === 200);

    expect(await listFrom(ip, victim)).toBe(201);
    await until(async () => (await shop()) !== 200);
    // It is the victim's account that lets it in: the end of the squatter's changes nothing.
    await world.control.do('PATCH', `/accounts/${squatter.name}`, { suspended: true });
    const decisionFor = (source: string) => world.decisionFor(through(node.place, source));
    await until(async () => (await decisionFor(other)) === '403 contract_suspended');
    expect(await world.decisionFor(client)).toBe('200');
    await world.control.do('PATCH', `/accounts/${victim.name}`, { suspended: true });
    await until(async () => (await world.decisionFor(client)) === '403 contract_suspended');
  });
});
