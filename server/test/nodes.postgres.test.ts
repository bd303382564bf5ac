// Nodes, what they are sent and what they report: joining, snapshots, the stream from any point,
// usage, health, limits.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tries } from '../../test/effort.ts';
import { changeAccount, requireAccount } from '../src/accounts/accounts.ts';
import { removeEntry } from '../src/authlist/authlist.ts';
import {
  removeContractServer,
  setContractServer,
} from '../src/contract_servers/contract_servers.ts';
import { createInvite, revokeNode } from '../src/nodes/nodes.ts';
import { changeServer, listServers, requireServer } from '../src/servers/servers.ts';
import { changeUser, raiseTokenVersion, requireUserNamed } from '../src/users/users.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import type { TestApp } from './harness.ts';
import { type NodeRecord, type StreamEvent, TestNode } from './node.ts';

const day = 86_400;

/** The records that a node holds; the state that snapshots and streams must agree on. */
class State {
  readonly records = new Map<string, unknown>();

  apply(records: NodeRecord[]): void {
    for (const { kind, account, id, value } of records) {
      if (kind === 'account') this.#drop((key) => key.split(' ')[1] === String(account));
      else if (kind === 'authlist_cleared' || kind === 'overrides_cleared') {
        const cleared = kind === 'authlist_cleared' ? 'authlist' : 'override';
        this.#drop((key) => key.startsWith(`${cleared} ${account} `));
      } else if (value === null) this.records.delete(`${kind} ${account} ${id}`);
      else this.records.set(`${kind} ${account} ${id}`, value);
    }
  }
  #drop(dropped: (key: string) => boolean): void {
    for (const key of Array.from(this.records.keys())) if (dropped(key)) this.records.delete(key);
  }
  sorted(): Array<[string, unknown]> {
    return Array.from(this.records).sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

/**
 * An entry that has passed its expiry is dropped by a node's own clock, with or without an event.
 */
const holding = (state: State, now: number) =>
  state.sorted().filter(([, value]) => {
    const expiry = (value as { expiry?: number; suspended?: boolean } | null)?.expiry;
    return expiry === undefined || Object.hasOwn(value as object, 'suspended') || now < expiry;
  });

eachApp((t) => {
  let names = 0;

  async function scene(account: Parameters<TestApp['account']>[1] = {}) {
    const server = `srv${++names}`;
    await t.server(server, { exit_ips: [`198.18.${names}.1`, `198.18.${names}.2`] });
    const built = await t.account(`account${names}`, { servers: [server], ...account });
    const node = await t.node(server);
    return { server, built, node, client: t.as(built) };
  }
  const contractOf = (records: NodeRecord[], { account }: BuiltAccount) =>
    records.filter(({ kind, account: id }) => kind === 'contract' && id === account.id).at(-1)
      ?.value as Record<string, unknown>;

  it('the nodes of a server are listed in the order in which they joined, whichever was heard of last', async () => {
    const { server, node } = await scene();
    const others = [await t.node(server, 'second'), await t.node(server, 'third')];
    const all = [node, ...others];
    // An update moves a row, where rows have a place.
    for (const follower of [...all, node]) {
      await follower.snapshot();
      await follower.ack();
    }
    const { body } = await t.operator.get('/nodes');
    const own = body.filter((row: { server: string }) => row.server === server);
    expect(own.map(({ id }: { id: number }) => id)).toEqual(all.map(({ id }) => id));
  });

  describe('joining', () => {
    const join = (code: string) =>
      fetch(`${t.running.node_url}/node/join`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ code, name: 'machine', version: '1' }),
      });
    const invite = async (lifetime?: number) => {
      const server = `srv${++names}`;
      await t.server(server);
      return t.write(async (tx) =>
        createInvite(tx, t.running.ctx.secrets, await requireServer(tx, server), lifetime),
      );
    };

    it('a code works once', async () => {
      const { code } = await invite();
      const first = await join(code);
      expect([first.status, await first.json()]).toEqual([
        201,
        { node: expect.any(Number), server: `srv${names}`, token: expect.stringMatching(/^ewn_/) },
      ]);
      expect((await join(code)).status).toBe(401);
    });

    it('of two that use a code at the same time one joins', async () => {
      const { code } = await invite();
      const answers = await Promise.all(Array.from({ length: 8 }, () => join(code)));
      expect(answers.map(({ status }) => status).sort()).toEqual([
        201,
        ...Array.from({ length: 7 }, () => 401),
      ]);
    });

    it('a code holds until its expiry, a day when nothing is said', async () => {
      const [brief, normal, over] = [await invite(60), await invite(), await invite(60)];
      expect(normal.expiry).toBe(t.now() + day);
      t.clock.advance(59);
      expect((await join(brief.code)).status).toBe(201);
      t.clock.advance(1);
      expect((await join(over.code)).status).toBe(401);
      expect((await join(normal.code)).status).toBe(201);
    });

    it('an unknown code gets 401', async () => {
      for (const code of ['x', 'ewi_000000000000000000000000000000000000', t.admin_token]) {
        expect((await join(code)).status).toBe(401);
      }
    });

    it('a revoked node gets 401 at once, and its stream ends', async () => {
      const { node } = await scene();
      await node.start();
      await t.write((tx) => revokeNode(tx, node.id, 900));
      await node.until((follower) => follower.ended);
      for (const [method, path, body] of [
        ['GET', '/snapshot', undefined],
        ['GET', '/changes', undefined],
        ['POST', '/acks', { epoch: node.epoch, revision: 1 }],
        ['POST', '/usage', { boot: 'b', seq: 1, rows: [] }],
        ['POST', '/health', { exit_ips: [] }],
      ] as const) {
        expect([path, (await node.send(method, path, body)).status]).toEqual([path, 401]);
      }
    });
  });

  describe('the snapshot holds exactly what the server needs', () => {
    it('its server, the public keys, and of each account on it the contract, users, authlist and overrides', async () => {
      const { server, built, node, client } = await scene();
      const other = await scene();
      await t.write(async (tx) =>
        setContractServer(tx, built.account, await requireServer(tx, other.server), null),
      );
      await t.user(built, 'bob', { billing: true });
      const expiry = t.now() + 100;
      await client.post('/contract/ip-authlist', { ip: '192.0.2.1', user: 'bob', expiry });
      await client.post('/contract/overrides', {
        server,
        hostname: 'a.example',
        ip: '192.0.2.2',
        expiry,
      });
      await client.post('/contract/overrides', {
        server: other.server,
        hostname: 'b.example',
        ip: '192.0.2.2',
        expiry,
      });
      await other.client.post('/contract/ip-authlist', { ip: '192.0.2.9', user: 'alice', expiry });
      const account = built.account.id;
      expect(await node.snapshot()).toEqual([
        {
          kind: 'server',
          value: {
            name: server,
            hostname: `${server}.exitward.example`,
            services: ['proxy', 'proxy-https', 'vpn-ikev2'],
            port_schemes: [
              {
                name: 'default',
                bases: [
                  { base: 10000, service: 'proxy' },
                  { base: 11000, service: 'proxy' },
                  { base: 12000, service: 'proxy-https' },
                ],
              },
            ],
            exit_ips: [
              { ip: `198.18.${names - 1}.1`, port_base: 1 },
              { ip: `198.18.${names - 1}.2`, port_base: 2 },
            ],
            drained_nodes: [],
            vpn_key: t.running.ctx.secrets.vpnKey(await requireServer(t.running.ctx.db, server)),
            vpn_generation: 0,
          },
        },
        { kind: 'keys', value: [{ kid: expect.any(String), public_key: expect.any(String) }] },
        {
          kind: 'contract',
          account,
          value: {
            name: built.account.name,
            expiry: built.account.expiry,
            suspended: false,
            blocked: false,
            port_scheme: 'default',
          },
        },
        {
          kind: 'user',
          account,
          id: 1,
          value: { name: 'alice', active: true, proxy: true, token_version: 1 },
        },
        {
          kind: 'user',
          account,
          id: 2,
          value: { name: 'bob', active: true, proxy: false, token_version: 1 },
        },
        { kind: 'authlist', account, id: 1, value: { ip: '192.0.2.1', user: 2, expiry } },
        {
          kind: 'override',
          account,
          id: 1,
          value: { hostname: 'a.example', ip: '192.0.2.2', expiry },
        },
      ]);
    });

    it('no secret, no other account, nothing that has expired', async () => {
      const { built, node, client, server } = await scene();
      const expiry = t.now() + 10;
      await client.post('/contract/ip-authlist', { ip: '192.0.2.10', user: 'alice', expiry });
      await client.post('/contract/overrides', {
        server,
        hostname: 'a.example',
        ip: '192.0.2.2',
        expiry,
      });
      await t.pass(10);
      const response = await node.send('GET', '/snapshot');
      const text = await response.text();
      expect(text).not.toContain(built.api_token);
      const kinds = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).kind);
      expect(kinds).toEqual(['snapshot', 'server', 'keys', 'contract', 'user', 'end']);
      expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    });
  });

  it('property: after any history, a new snapshot and the stream from any revision lead to the same state, and to the model', async () => {
    const accountAt = fc.nat(2);
    const serverAt = fc.nat(1);
    const entryAt = fc.nat(7);
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant('list' as const),
          account: accountAt,
          host: entryAt,
          life: fc.integer({ min: 5, max: 60 }),
        }),
      },
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant('override' as const),
          account: accountAt,
          server: serverAt,
          host: entryAt,
          life: fc.integer({ min: 5, max: 60 }),
        }),
      },
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constant('change' as const),
          account: accountAt,
          list: fc.nat(1),
          host: entryAt,
          life: fc.integer({ min: 5, max: 60 }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constant('remove' as const),
          account: accountAt,
          list: fc.nat(1),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('clear' as const),
          account: accountAt,
          list: fc.nat(1),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constant('contract' as const),
          account: accountAt,
          server: serverAt,
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('user' as const),
          account: accountAt,
          active: fc.boolean(),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('suspend' as const),
          account: accountAt,
          suspended: fc.boolean(),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('server' as const),
          server: serverAt,
          title: fc.constantFrom('A', 'B'),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constant('pass' as const),
          seconds: fc.integer({ min: 1, max: 20 }),
          sweep: fc.boolean(),
        }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('mark' as const) }) },
    );
    const lists = ['/contract/ip-authlist', '/contract/overrides'];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const run = ++names;
        const servers = [`one${run}`, `two${run}`];
        for (const server of servers) await t.server(server, { exit_ips: [] });
        const accounts: BuiltAccount[] = [];
        for (let at = 0; at < 3; at++) {
          accounts.push(await t.account(`run${run}-${at}`, { servers: at < 2 ? servers : [] }));
        }
        const nodes = [await t.node(servers[0] as string), await t.node(servers[1] as string)];
        /** States as of a revision, from which a node may resume. */
        const marks: Array<{ epoch: string; revision: number; state: State; node: TestNode }> = [];
        const mark = async () => {
          for (const node of nodes) {
            const state = new State();
            state.apply(await node.snapshot());
            marks.push({ epoch: node.epoch, revision: node.revision, state, node });
          }
        };
        await mark();
        for (const step of steps) {
          const account =
            'account' in step
              ? (accounts[step.account] as BuiltAccount)
              : (accounts[0] as BuiltAccount);
          const server =
            'server' in step ? (servers[step.server] as string) : (servers[0] as string);
          const client = t.as(account);
          const list = 'list' in step ? (lists[step.list] as string) : '';
          if (step.do === 'list') {
            await client.post(lists[0] as string, {
              ip: `10.${run % 250}.${Math.floor(run / 250)}.${step.host}`,
              user: 'alice',
              expiry: t.now() + step.life,
            });
          } else if (step.do === 'override') {
            await client.post(lists[1] as string, {
              server,
              hostname: `h${step.host}.example`,
              ip: '192.0.2.1',
              expiry: t.now() + step.life,
            });
          } else if (step.do === 'change') {
            const entries = (await client.get(list)).body;
            const id = entries[step.host % Math.max(1, entries.length)]?.id ?? 1;
            const change =
              step.list === 0
                ? { expiry: t.now() + step.life }
                : { expiry: t.now() + step.life, server: servers[step.host % 2] };
            await client.patch(`${list}/${id}`, change);
          } else if (step.do === 'remove') {
            await client.delete(`${list}/${(await client.get(list)).body[0]?.id ?? 1}`);
          } else if (step.do === 'clear') {
            await client.delete(list);
          } else if (step.do === 'contract') {
            await t.write(async (tx) => {
              const row = await requireServer(tx, server);
              const on = await tx.one(
                'select 1 as yes from contract_servers where account_id = $1 and server_id = $2',
                [account.account.id, row.id],
              );
              await (on
                ? removeContractServer(tx, account.account, row)
                : setContractServer(tx, account.account, row, null));
            });
          } else if (step.do === 'user') {
            await t.write(async (tx) => {
              const user = await requireUserNamed(tx, account.account.id, 'alice');
              await changeUser(tx, user, { active: step.active });
              await raiseTokenVersion(tx, { ...user, active: step.active ? 1 : 0 });
            });
          } else if (step.do === 'suspend') {
            await t.write(async (tx) =>
              changeAccount(tx, await requireAccount(tx, account.account.id), {
                suspended: step.suspended,
              }),
            );
          } else if (step.do === 'server') {
            await t.write(async (tx) =>
              changeServer(tx, await requireServer(tx, server), {
                title: step.title,
                hostname: `${step.title.toLowerCase()}-${server}.example`,
              }),
            );
          } else if (step.do === 'pass') {
            t.clock.advance(step.seconds);
            if (step.sweep) await t.pass(0);
          } else {
            await mark();
          }
        }
        await t.pass(0);

        const truth = await Promise.all(
          nodes.map(async (node) => {
            const state = new State();
            state.apply(await node.snapshot());
            return { state, revision: node.revision };
          }),
        );
        // The model: what the account API shows, put together per server.
        for (const [at, server] of servers.entries()) {
          const model = new Map<string, unknown>();
          for (const { account, api_token } of accounts) {
            const client = t.as({ api_token });
            const on = (await client.get('/contract/servers')).body.some(
              (row: { server: string }) => row.server === server,
            );
            if (!on) continue;
            const users = await t.running.ctx.db.all<Record<string, number>>(
              'select id, name, active, proxy, token_version from users where account_id = $1',
              [account.id],
            );
            for (const { id, name, active, proxy, token_version } of users) {
              model.set(`user ${account.id} ${id}`, {
                name,
                active: active === 1,
                proxy: proxy === 1,
                token_version,
              });
            }
            const now = await requireAccount(t.running.ctx.db, account.id);
            model.set(`contract ${account.id} undefined`, {
              name: account.name,
              expiry: account.expiry,
              suspended: now.suspended === 1,
              blocked: false,
              port_scheme: 'default',
            });
            for (const { id, ip, expiry } of (await client.get(lists[0] as string)).body) {
              model.set(`authlist ${account.id} ${id}`, { ip, user: 1, expiry });
            }
            for (const { id, server: place, hostname, ip, expiry } of (
              await client.get(lists[1] as string)
            ).body) {
              if (place === server && t.now() < expiry)
                model.set(`override ${account.id} ${id}`, { hostname, ip, expiry });
            }
          }
          const held = truth[at]?.state.sorted().filter(([key]) => !/^(server|keys) /.test(key));
          expect(held).toEqual(Array.from(model).sort(([a], [b]) => (a < b ? -1 : 1)));
        }
        // One after another: a node has two streams at most.
        for (const { epoch, revision, state, node } of marks) {
          const { state: whole, revision: newest } = truth[
            nodes.indexOf(node)
          ] as (typeof truth)[number];
          const follower = new TestNode(node.url, node.id, node.token);
          follower.epoch = epoch;
          follower.revision = revision;
          await follower.follow();
          await follower.until((follower) => follower.revision >= newest);
          for (const { records } of follower.events) state.apply(records);
          follower.stop();
          expect(holding(state, t.now())).toEqual(holding(whole, t.now()));
        }
      }),
      { numRuns: tries(12) },
    );
  });

  describe('the stream', () => {
    it('sends each change in order, under its revision, and ends with a position', async () => {
      const { node, client, server } = await scene();
      await node.snapshot();
      await node.follow();
      await node.until((follower) => follower.events.some(({ event }) => event === 'position'));
      for (let at = 1; at <= 3; at++) {
        await client.post('/contract/overrides', {
          server,
          hostname: `h${at}.example`,
          ip: '192.0.2.1',
          expiry: t.now() + 100,
        });
      }
      await node.until((follower) => follower.heard('override').length === 3);
      expect(node.heard('override').map(({ id }) => id)).toEqual([1, 2, 3]);
      const revisions = node.events.map(({ revision }) => revision);
      expect(revisions).toEqual(revisions.toSorted((a, b) => a - b));
      for (const { id, revision } of node.events) expect(id).toBe(`${node.epoch}:${revision}`);
      node.stop();
    });

    it('sends nothing of accounts and servers that are not its own', async () => {
      const { node } = await scene();
      const other = await scene();
      await node.start();
      await other.client.post('/contract/ip-authlist', {
        ip: '192.0.2.77',
        user: 'alice',
        expiry: t.now() + 100,
      });
      await other.client.post('/contract/overrides', {
        server: other.server,
        hostname: 'o.example',
        ip: '192.0.2.1',
        expiry: t.now() + 100,
      });
      const mine = await t.write(async (tx) =>
        changeServer(tx, await requireServer(tx, `srv${names - 1}`), { title: 'mine' }),
      );
      await node.until((follower) => follower.heard('server').length > 0);
      expect(node.events.flatMap(({ records }) => records).map(({ kind }) => kind)).toEqual([
        'server',
      ]);
      expect(mine.title).toBe('mine');
      node.stop();
    });

    it('two streams of one node, and one of a second server, hear alike', async () => {
      const { node, client, server } = await scene();
      const twin = await t.node(server, 'twin');
      await node.start();
      await twin.start();
      await client.post('/contract/ip-authlist', {
        ip: '192.0.2.78',
        user: 'alice',
        expiry: t.now() + 100,
      });
      for (const follower of [node, twin])
        await follower.until((it) => it.heard('authlist').length === 1);
      expect(node.heard('authlist')).toEqual(twin.heard('authlist'));
      for (const follower of [node, twin]) follower.stop();
    });

    it.each([
      ['another epoch', (node: TestNode) => `other:${node.revision}`],
      [
        'a revision that has not been',
        (node: TestNode) => `${node.epoch}:${node.revision + 1_000_000}`,
      ],
    ])('%s gets 409: a new snapshot is needed', async (_, from) => {
      const { node } = await scene();
      await node.snapshot();
      const answer = await node.send('GET', '/changes', undefined, { 'last-event-id': from(node) });
      expect([answer.status, ((await answer.json()) as { message: string }).message]).toEqual([
        409,
        expect.stringContaining('new snapshot'),
      ]);
      const [epoch, revision] = from(node).split(':');
      const ack = await node.send('POST', '/acks', { epoch, revision: Number(revision) });
      expect(ack.status).toBe(409);
    });

    it.each(['', 'x', '5', 'a:b', 'a:-1'])('Last-Event-ID "%s" gets 400', async (from) => {
      const { node } = await scene();
      expect(
        (await node.send('GET', '/changes', undefined, { 'last-event-id': from })).status,
      ).toBe(400);
    });

    it('a revision that the log no longer reaches back to gets 409, one that it does goes on', async () => {
      const { node, client } = await scene();
      await node.snapshot();
      const old = node.revision;
      await client.post('/contract/ip-authlist', {
        ip: '192.0.2.79',
        user: 'alice',
        expiry: t.now() + 100 * day,
      });
      await t.pass(4 * day);
      await client.post('/contract/ip-authlist', {
        ip: '192.0.2.80',
        user: 'alice',
        expiry: t.now() + 100 * day,
      });
      await node.snapshot();
      const newer = node.revision;
      await t.pass(4 * day);
      node.revision = old;
      await expect(node.follow()).rejects.toThrow(/409/);
      const headers = { 'last-event-id': `${node.epoch}:${old}` };
      const refused = await node.send('GET', '/changes', undefined, headers);
      expect(await refused.json()).toMatchObject({ code: 'snapshot_needed' });
      node.revision = newer;
      await node.follow();
      await client.post('/contract/ip-authlist', {
        ip: '192.0.2.81',
        user: 'alice',
        expiry: t.now() + 100 * day,
      });
      await node.until((follower) => follower.heard('authlist').length === 1);
      node.stop();
    });

    it.each(['that catches up', 'that follows'])(
      'a node %s is never past a change of an account while it holds what was before it',
      async (how) => {
        const { server, built, node, client } = await scene();
        const other = await t.account(`stays${++names}`, { servers: [server] });
        const expiry = t.now() + 1000;
        const entry = { user: 'alice', ip: `192.0.2.${names % 250}`, expiry };
        const { body } = await client.post('/contract/ip-authlist', entry);
        await node.start();
        if (how === 'that catches up') node.stop();
        const before = node.events.length;
        // Within one transaction, so that a stream that follows reads all of it at once.
        await t.write(async (tx) => {
          await removeEntry(tx, built.account.id, body.id, () => {}, true);
          const alice = await requireUserNamed(tx, other.account.id, 'alice');
          await changeUser(tx, alice, { active: false });
          await removeContractServer(tx, built.account, await requireServer(tx, server));
        });
        if (how === 'that catches up') await node.follow();
        const gone = ({ records }: StreamEvent) =>
          records.some(({ kind, account }) => kind === 'account' && account === built.account.id);
        await node.until(({ events }) => events.filter(gone).length >= 2);
        const kinds = node.events
          .slice(before)
          .filter(({ event }) => event === 'change')
          .map((event) => (gone(event) ? 'gone' : event.records[0]?.kind));
        expect(kinds).toEqual(['gone', 'user', 'gone']);
        node.stop();
      },
    );
  });

  describe('usage', () => {
    const usageOf = async (built: BuiltAccount) =>
      (await t.as(built).get('/contract')).body.period.usage;
    const send = async (node: TestNode, seq: number, rows: object[], boot = 'boot') => {
      const answer = await node.send('POST', '/usage', { boot, seq, rows });
      return {
        status: answer.status,
        body: (await answer.json()) as { counted: boolean; left_out: number[] },
      };
    };
    const row = (built: BuiltAccount, more: object = {}) => ({
      account: built.account.id,
      user: 1,
      at: t.now(),
      up: 10,
      down: 90,
      ...more,
    });

    it('a batch counts once, however often and from however many requests at once it comes', async () => {
      const { built, node } = await scene();
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => send(node, 1, [row(built)])),
      );
      expect(answers.filter(({ body }) => body.counted)).toHaveLength(1);
      expect(await usageOf(built)).toBe(100);
      expect((await send(node, 2, [row(built)])).body).toMatchObject({
        counted: true,
        left_out: [],
      });
      expect((await send(node, 1, [row(built)], 'another boot')).body.counted).toBe(true);
      expect(await usageOf(built)).toBe(300);
      await t.pass(40 * day);
      expect((await send(node, 1, [row(built)])).body.counted).toBe(false);
    });

    it('a batch whose number is not above the last one counted counts nothing, and one row stands for all', async () => {
      const { built, node } = await scene();
      for (const [seq, counted] of [
        [5, true],
        [4, false],
        [5, false],
        [9, true],
        [8, false],
      ] as const) {
        expect([seq, (await send(node, seq, [row(built)])).body.counted]).toEqual([seq, counted]);
      }
      expect(await usageOf(built)).toBe(200);
      const rows = await t.running.ctx.db.all(
        'select boot, seq from usage_journals where node_id = $1',
        [node.id],
      );
      expect(rows).toEqual([{ boot: 'boot', seq: 9 }]);
    });

    it('of a thousand users in one batch those that exist count', async () => {
      const { built, node } = await scene();
      const other = await scene();
      const names = Array.from({ length: 1300 }, (_, at) => `user${at}`);
      await t.proxyUsers(built, 1000, names);
      const rows = Array.from({ length: 1300 }, (_, at) => row(built, { user: 1000 + at }));
      rows.splice(700, 0, row(built, { user: 999 }), row(other.built, { user: 1 }));
      expect((await send(node, 1, [...rows, ...rows])).body).toMatchObject({
        counted: true,
        left_out: [700, 701, 2002, 2003],
      });
      expect(await usageOf(built)).toBe(2 * 1300 * 100);
    });

    it('batches of two nodes are two, whatever their numbers', async () => {
      const { built, node, server } = await scene();
      const twin = await t.node(server, 'twin');
      await send(node, 1, [row(built)]);
      await send(twin, 1, [row(built)]);
      expect(await usageOf(built)).toBe(200);
    });

    it('rows of accounts or users that the server does not serve are left out and reported', async () => {
      const { built, node } = await scene();
      const other = await scene();
      const { body } = await send(node, 1, [
        row(other.built),
        row(built),
        row(built, { user: 99 }),
        row(built, { account: 999_999 }),
      ]);
      expect(body).toMatchObject({ counted: true, left_out: [0, 2, 3] });
      expect([await usageOf(built), await usageOf(other.built)]).toEqual([100, 0]);
    });

    it('an account that was served lately still counts: its traffic may come in later', async () => {
      const { built, node, server } = await scene();
      await t.write(async (tx) =>
        removeContractServer(tx, built.account, await requireServer(tx, server)),
      );
      expect((await send(node, 1, [row(built)])).body.left_out).toEqual([]);
      expect(await usageOf(built)).toBe(100);
    });

    it('a clock that runs ahead counts in the running hour, a row older than 40 days is refused', async () => {
      const { built, node } = await scene();
      await send(node, 1, [row(built, { at: t.now() + 90 * day })]);
      expect(await usageOf(built)).toBe(100);
      expect((await send(node, 2, [row(built, { at: t.now() - 40 * day - 1 })])).status).toBe(400);
      expect((await send(node, 2, [row(built)])).body.counted).toBe(true);
    });

    it('over the limit the nodes refuse the account, until the next period begins', async () => {
      const { built, node } = await scene({
        limit_bytes: 1000,
        start: t.now(),
        expiry: t.now() + 300 * day,
      });
      await node.start();
      await send(node, 1, [row(built, { up: 900, down: 99 })]);
      expect(contractOf(await node.snapshot(), built).blocked).toBe(false);
      await send(node, 2, [row(built, { up: 1, down: 0 })]);
      await node.until(
        (follower) =>
          contractOf(
            follower.events.flatMap(({ records }) => records),
            built,
          )?.blocked === true,
      );
      const { period } = (await t.as(built).get('/contract')).body;
      expect([period.usage, period.limit]).toEqual([1000, 1000]);
      await t.pass(period.end - t.now() - 1);
      expect(contractOf(await node.snapshot(), built).blocked).toBe(true);
      await t.pass(1);
      expect(contractOf(await node.snapshot(), built).blocked).toBe(false);
      node.stop();
    });

    it('a raised limit sets the account free at once; on_limit = allow never blocks it', async () => {
      const { built, node } = await scene({ limit_bytes: 100 });
      await send(node, 1, [row(built)]);
      const blocked = async () => contractOf(await node.snapshot(), built).blocked;
      const change = (changes: object) =>
        t.write(async (tx) =>
          changeAccount(tx, await requireAccount(tx, built.account.id), changes),
        );
      expect(await blocked()).toBe(true);
      await change({ limit_bytes: 101 });
      expect(await blocked()).toBe(false);
      await change({ limit_bytes: 100 });
      expect(await blocked()).toBe(true);
      await change({ on_limit: 'allow' });
      expect(await blocked()).toBe(false);
    });

    it("a server's own limit blocks the account there alone, and only with detailed server billing", async () => {
      for (const detailed_billing of [true, false]) {
        const { built, node, server } = await scene({ detailed_billing });
        const other = await scene();
        await t.write(async (tx) => {
          await setContractServer(tx, built.account, await requireServer(tx, server), 100);
          await setContractServer(tx, built.account, await requireServer(tx, other.server), 100);
        });
        await send(node, 1, [row(built)]);
        expect(contractOf(await node.snapshot(), built).blocked).toBe(detailed_billing);
        expect(contractOf(await other.node.snapshot(), built).blocked).toBe(false);
        await t.pass(32 * day);
        expect(contractOf(await node.snapshot(), built).blocked).toBe(false);
      }
    });

    it('turning detailed server billing on or off evaluates the own limits at once', async () => {
      const { built, node, server } = await scene({ detailed_billing: true });
      await t.write(async (tx) =>
        setContractServer(tx, built.account, await requireServer(tx, server), 100),
      );
      await send(node, 1, [row(built)]);
      const turn = (detailed_billing: boolean) =>
        t.write(async (tx) =>
          changeAccount(tx, await requireAccount(tx, built.account.id), { detailed_billing }),
        );
      await turn(false);
      await t.pass(30);
      expect(contractOf(await node.snapshot(), built).blocked).toBe(false);
      await turn(true);
      await t.pass(30);
      expect(contractOf(await node.snapshot(), built).blocked).toBe(true);
    });
  });

  it('a node of a server that the network no longer has can do nothing', async () => {
    expect((await listServers(t.running.ctx.db)).length).toBeGreaterThan(0);
    const server = `srv${++names}`;
    await t.server(server, { exit_ips: [] });
    const node = await t.node(server);
    const { removeServer } = await import('../src/servers/servers.ts');
    await t.write(async (tx) => removeServer(tx, await requireServer(tx, server)));
    expect((await node.send('GET', '/snapshot')).status).toBe(401);
  });
});
