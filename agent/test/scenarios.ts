// The scenarios that every engine must pass: the same for each, with real sockets.
import { once } from 'node:events';
import { connect as connectTls } from 'node:tls';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine } from '../src/engine.ts';
import type { Rules } from '../src/policy/decide.ts';
import { bodyOf, type Reason, statusOf } from '../src/policy/denials.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { seed } from './histories.ts';
import * as t from './proxy_world.ts';

export interface NodeOptions {
  records: NodeRecord[];
  /** The names that its name server knows. */
  names?: t.Names;
  rules?: Partial<Rules>;
  settings?: Record<string, string>;
  /** Epoch seconds at which the control plane was last heard. */
  heard_at?: number;
  /** Called with the folder of the policy, before there is any. */
  prepare?: (policy: string) => void;
}

export interface ProxyNode {
  engine: Engine;
  /** Of its TLS ports, for proxy.test; PEM. */
  certificate: string;
  /** Stores a revision and has it applied. */
  apply(...records: NodeRecord[]): Promise<void>;
  stop(): Promise<void>;
}

export type StartNode = (options: NodeOptions) => Promise<ProxyNode>;

/** Addresses in spellings that only an attacker uses; each leads to a private one, if it leads anywhere. */
const oddHosts = [
  ...['127.1', '127.78.769', '2135818497', '0x7f4e0301', '0x7f.0x4e.3.1', '0177.0116.3.1'],
  ...['127.078.3.1', '127.78.3.1.', '127.78.3.01', '127.78.3.1%00', '127.78.3.1%2e'],
  ...['[::ffff:127.78.3.1]', '[::ffff:7f4e:301]', '[::127.78.3.1]', '[::1]', '[0:0:0:0:0:0:0:1]'],
  ...['[64:ff9b::7f4e:301]', '[2002:7f4e:301::1]', '[fe80::1%25lo]', 'localhost', 'LOCALHOST.'],
  ...['%31%32%37.78.3.1', 'www.example@127.78.3.1', '127.78.3.1#www.example', '0', '0.0.0.0'],
];

export function engineScenarios(name: string, start: StartNode): void {
  describe(name, () => {
    let origin: t.Origin;
    let url: string;
    let to: string;
    let node: ProxyNode;
    let flips = 0;
    const names: t.Names = new Map([
      ['www.example', () => [t.originIp]],
      ['private.example', () => [t.privateIp]],
      ['mixed.example', () => [t.privateIp, t.originIp]],
      ['rebind.example', () => [flips++ % 2 === 0 ? t.originIp : t.privateIp]],
      ['none.example', () => []],
      ['own.example', () => ['9.9.9.10']],
    ]);
    const normal = { port: t.normalPort };
    const override = { port: t.overridePort };
    const [, second, stranger] = t.sources;
    const tokened = (account: number, change: t.TokenChange = {}) => ({
      port: t.normalPort,
      from: stranger,
      authorization: t.basic(t.tokenOf(account, change), change.user === 2 ? 'bob' : 'alice'),
    });

    beforeAll(async () => {
      origin = await t.startOrigin();
      url = `http://${t.originIp}:${origin.port}/`;
      to = `${t.originIp}:${origin.port}`;
      node = await start({ records: t.usualRecords(), names });
    });
    afterAll(async () => {
      await node?.stop();
      await origin?.stop();
    });
    /** Runs with records changed, and puts the usual ones back. */
    const having = async (records: NodeRecord[], work: () => Promise<void>) => {
      await node.apply(...records);
      try {
        await work();
      } finally {
        const overrides = [1, 2].map((account) => t.overrideRecord(account, '', null));
        await node.apply(...t.usualRecords(), ...overrides);
      }
    };
    const askBoth = async (through: t.Through) => [
      await t.ask(through, 'GET', url),
      await t.ask(through, 'CONNECT', to),
    ];
    const expectRefusal = async (through: t.Through, reason: Reason) => {
      for (const answer of await askBoth(through)) {
        const isChallenge = statusOf(reason) === 407;
        expect(answer).toMatchObject({ status: statusOf(reason), body: bodyOf(reason) });
        expect(answer.headers['x-exitward-reason']).toBe(reason);
        expect(answer.headers['proxy-authenticate'] ?? '').toMatch(isChallenge ? /^Basic / : /^$/);
      }
    };

    describe('who may', () => {
      test('it listens without a fault', () => {
        expect(node.engine.faults()).toEqual([]);
        expect(node.engine.listeners().size).toBe(12);
      });

      test('an address on the authlist is let in', async () => {
        for (const answer of await askBoth(normal)) expect(answer.status).toBe(200);
      });

      test('a token lets in from any address, and nothing is remembered of it', async () => {
        for (const answer of await askBoth(tokened(1))) expect(answer.status).toBe(200);
        await expectRefusal({ ...normal, from: stranger }, 'unknown_address');
      });

      test('an authlist entry is used by what it lets in, and by nothing else', async () => {
        const { engine } = node;
        await engine.takeLastUsed();
        for (const answer of await askBoth(tokened(2))) expect(answer.status).toBe(200);
        const refused = await t.ask({ ...normal, from: second }, 'GET', `http://${t.privateIp}/`);
        expect(refused.status).toBe(403);
        const explained = await engine.explain({
          ...{ source: second, port: t.normalPort, method: 'GET', host: t.originIp },
          ...{ destination_port: origin.port, credentials: undefined },
        });
        expect(explained.decision.verdict).toBe('allow');
        expect(await engine.takeLastUsed()).toEqual([]);

        const minute = () => t.now() - (t.now() % 60);
        const begin = minute();
        for (const answer of await askBoth(normal)) expect(answer.status).toBe(200);
        const uses = await engine.takeLastUsed();
        expect(uses).toEqual([{ account: 1, entry: 1, at: expect.any(Number) }]);
        expect([begin, minute()]).toContain(uses[0]?.at);
        expect(await engine.takeLastUsed()).toEqual([]);
      });

      test('a TLS port takes both kinds of requests', async () => {
        const through = { port: t.tlsBase + 1, proxy_certificate: node.certificate };
        for (const answer of await askBoth(through)) expect(answer.status).toBe(200);
      });

      const refusals: Array<[Reason, NodeRecord[], () => t.Through]> = [
        ['unknown_address', [t.authlistRecord(1, null)], () => normal],
        ['bad_token', [], () => ({ ...normal, authorization: t.basic('ewt_no.token') })],
        ['bad_token', [], () => ({ ...normal, authorization: t.basic(t.tokenOf(1), 'bob') })],
        ['expired_token', [], () => tokened(1, { expiry: t.now() - 1 })],
        ['old_token_version', [t.userRecord(1, { token_version: 2 })], () => tokened(1)],
        ['inactive_user', [t.userRecord(1, { active: false })], () => normal],
        ['no_proxy_flag', [t.userRecord(1, { proxy: false })], () => normal],
        [
          'server_not_on_contract',
          [{ kind: 'account', account: 1, value: null }],
          () => tokened(1),
        ],
        ['wrong_port', [], () => ({ ...tokened(1), port: t.otherBase + 1 })],
        ['contract_expired', [t.contractRecord(1, { expiry: t.now() - 1 })], () => normal],
        ['contract_suspended', [t.contractRecord(1, { suspended: true })], () => normal],
        ['over_limit', [t.contractRecord(1, { blocked: true })], () => normal],
      ];
      test.each(refusals)(
        '%s is told with its status and in words',
        async (reason, records, through) => {
          await having(records, () => expectRefusal(through(), reason));
          expect((await t.ask(normal, 'GET', url)).status).toBe(200);
        },
      );

      test.each(['Basic', 'Basic !!', 'Basic YWxpY2U=', 'Bearer x', 'x'])(
        'credentials that cannot be read are none that hold, also from a known address: %j',
        (authorization) => expectRefusal({ ...normal, authorization }, 'bad_token'),
      );

      test('what would happen is told by the same policy', async () => {
        const question = { source: '127.78.4.1', port: t.normalPort, method: 'CONNECT' };
        const asked = { ...question, host: t.originIp, destination_port: 443 };
        const { decision, position } = await node.engine.explain({
          ...asked,
          credentials: undefined,
        });
        expect(decision).toMatchObject({ verdict: 'allow', exit_ip: t.exits[0] });
        expect(position.epoch).toBe('e1');
      });
    });

    test.each(['-', '', ' '])(
      'credentials that are no more than %j do not count as none',
      async (authorization) => {
        await expectRefusal({ ...normal, authorization }, 'bad_token');
      },
    );

    describe('from where', () => {
      test('a connection leaves from the exit of its port', async () => {
        for (const [index, exit] of t.exits.entries()) {
          const seen = await t.see({ port: t.base + 1 + index }, url);
          expect(seen).toMatchObject({ at: t.originIp, from: exit });
        }
      });

      test('an exit address that the machine does not have is never replaced by another', async () => {
        const exit_ips = [{ ip: '203.0.113.200', port_base: 1 }];
        await having([t.serverRecord({ exit_ips })], async () => {
          origin.dialled.clear();
          const [plain, connected] = await Promise.allSettled([
            t.ask(normal, 'GET', url),
            t.ask(normal, 'CONNECT', to),
          ]);
          for (const one of [plain, connected]) {
            expect(one?.status === 'fulfilled' ? one.value.status : 503).toBeGreaterThanOrEqual(
              500,
            );
          }
          expect([...origin.dialled]).toEqual([]);
        });
      });

      test('a port that goes is closed with its connections, the others stay', async () => {
        const stays = await t.openTunnel(normal, to);
        const goes = await t.openTunnel({ port: t.base + 2 }, to);
        const exit_ips = [{ ip: t.exits[0], port_base: 1 }];
        await having([t.serverRecord({ exit_ips })], async () => {
          await goes.ended();
          await expect(t.Client.open({ port: t.base + 2 })).rejects.toThrow('ECONNREFUSED');
          expect(t.read(await stays.ask(t.requestText('GET', '/')))).toMatchObject({ url: '/' });
        });
        expect((await t.see({ port: t.base + 2 }, url)).from).toBe(t.exits[1]);
        stays.socket.destroy();
      });
    });

    describe('where to', () => {
      test('a name is looked up, and of its addresses only those are dialled that may be', async () => {
        origin.dialled.clear();
        for (const host of ['www.example', 'WWW.Example.']) {
          expect((await t.see(normal, `http://${host}:${origin.port}/`)).at).toBe(t.originIp);
        }
        // An engine that evaluates names as a whole refuses this one.
        const mixed = await t.ask(normal, 'GET', `http://mixed.example:${origin.port}/`);
        expect([200, 403]).toContain(mixed.status);
        expect([...origin.dialled]).toEqual([t.originIp]);
      });

      test('a name of private addresses is refused', async () => {
        for (const method of ['GET', 'CONNECT']) {
          const target = `private.example:${origin.port}`;
          const answer = await t.ask(
            normal,
            method,
            method === 'GET' ? `http://${target}/` : target,
          );
          expect(answer).toMatchObject({ status: 403, body: bodyOf('destination_refused') });
          expect(answer.headers['x-exitward-reason']).toBe('destination_refused');
        }
      });

      test('ports that are not allowed are refused', async () => {
        const plain = await t.ask(normal, 'GET', `http://${t.originIp}:80/`);
        const connected = await t.ask(normal, 'CONNECT', `${t.originIp}:80`);
        for (const answer of [plain, connected]) {
          expect(answer).toMatchObject({ status: 403, body: bodyOf('destination_refused') });
        }
      });

      test.each(oddHosts)('no spelling leads to a private address: %s', async (host) => {
        origin.dialled.clear();
        for (const port of [t.normalPort, t.overridePort]) {
          for (const method of ['GET', 'CONNECT']) {
            const target = `${host}:${origin.port}`;
            const asked = t.ask({ port }, method, method === 'GET' ? `http://${target}/` : target);
            expect((await asked).status).toBeGreaterThanOrEqual(400);
          }
        }
        expect([...origin.dialled]).toEqual([]);
      });

      test('a name that changes its address all the time never leads to a refused one', async () => {
        origin.dialled.clear();
        const target = `rebind.example:${origin.port}`;
        const asked = Array.from({ length: 100 }, (_, index) =>
          index % 2 === 0
            ? t.ask(normal, 'GET', `http://${target}/`)
            : t.ask(normal, 'CONNECT', target),
        );
        const statuses = new Set((await Promise.all(asked)).map(({ status }) => status));
        expect([...origin.dialled].filter((ip) => ip !== t.originIp)).toEqual([]);
        expect([...statuses].filter((status) => status !== 200 && status !== 403)).toEqual([]);
      });

      test("no address of the node's exits is a destination, unless its operator allows it", async () => {
        const exit_ips = [t.exits[0], '9.9.9.10'].map((ip, index) => ({
          ip,
          port_base: index + 1,
        }));
        const own = t.overrideRecord(1, 'www.example', '9.9.9.10');
        await having([t.serverRecord({ exit_ips }), own], async () => {
          for (const [port, host] of [
            [t.normalPort, '9.9.9.10'],
            [t.normalPort, 'own.example'],
            [t.overridePort, 'www.example'],
          ] as const) {
            const target = `${host}:${origin.port}`;
            const plain = await t.ask({ port }, 'GET', `http://${target}/`);
            const connected = await t.ask({ port }, 'CONNECT', target);
            for (const { headers } of [plain, connected]) {
              expect([host, headers['x-exitward-reason']]).toEqual([host, 'destination_refused']);
            }
          }
        });
      });

      test('what is not there is told with a status, not by silence', async () => {
        for (const target of ['none.example:8080', 'unknown.example:8080', `${t.originIp}:81`]) {
          const plain = await t.ask(normal, 'GET', `http://${target}/`);
          const connected = await t.ask(normal, 'CONNECT', target);
          for (const { status, body } of [plain, connected]) {
            expect([502, 503, 504]).toContain(status);
            expect(body).toMatch(/^Exitward: /);
          }
        }
      });
    });

    describe('custom DNS', () => {
      const first = { ...override };
      const other = { ...override, from: second };

      test('counts for its account alone, on the override port alone', async () => {
        const records = [
          t.overrideRecord(1, 'www.example', t.otherOriginIp),
          t.overrideRecord(2, 'www.example', t.originIp),
        ];
        const named = `http://www.example:${origin.port}/`;
        await having(records, async () => {
          for (let round = 0; round < 3; round++) {
            expect((await t.see(first, named)).at).toBe(t.otherOriginIp);
            expect((await t.see(other, named)).at).toBe(t.originIp);
            expect((await t.see(normal, named)).at).toBe(t.originIp);
          }
        });
      });

      test('gives a name to what no name server knows, and never a private address', async () => {
        await having([t.overrideRecord(1, 'only.here', t.otherOriginIp)], async () => {
          const seen = await t.see(first, `http://Only.Here.:${origin.port}/`);
          expect(seen.at).toBe(t.otherOriginIp);
        });
        await having([t.overrideRecord(1, 'only.here', t.privateIp)], async () => {
          const answer = await t.ask(first, 'CONNECT', `only.here:${origin.port}`);
          expect(answer).toMatchObject({ status: 403, body: bodyOf('destination_refused') });
        });
      });

      test('holds from the next request on a connection that is open', async () => {
        const client = await t.Client.open(first);
        const named = t.requestText('GET', `http://www.example:${origin.port}/`);
        try {
          for (let round = 0; round < 5; round++) {
            for (const ip of [t.otherOriginIp, t.originIp]) {
              await node.apply(t.overrideRecord(1, 'www.example', ip));
              expect(t.read(await client.ask(named)).at).toBe(ip);
            }
          }
        } finally {
          await node.apply(t.overrideRecord(1, 'www.example', null));
          client.socket.destroy();
        }
      });

      test('leaves the name inside a tunnel, and the certificate for it, as they are', async () => {
        await having([t.overrideRecord(1, 'www.example', t.otherOriginIp)], async () => {
          const client = await t.openTunnel(first, `www.example:${origin.tls_port}`);
          const inside = connectTls({
            socket: client.socket,
            servername: 'www.example',
            ca: origin.certificate,
          });
          await once(inside, 'secureConnect');
          expect(inside.authorized).toBe(true);
          inside.write('GET / HTTP/1.0\r\n\r\n');
          let text = '';
          for await (const chunk of inside) text += chunk;
          expect(text).toContain(`"at":"${t.otherOriginIp}"`);
        });
      });
    });

    test('what is meant for the proxy is not sent on, and nothing is added about the client', async () => {
      const client = await t.Client.open(normal);
      const answer = await client.ask(
        [
          `POST ${url}path?q=1 HTTP/1.1`,
          'Host: elsewhere.example',
          `Proxy-Authorization: ${t.basic(t.tokenOf(1))}`,
          'Proxy-Connection: keep-alive',
          'Connection: keep-alive, X-Hop',
          'X-Hop: 1',
          'TE: trailers',
          'X-Own: kept',
          'Content-Length: 5',
          '',
          'hello',
        ].join('\r\n'),
      );
      const seen = t.read(answer);
      expect(seen).toMatchObject({ method: 'POST', url: '/path?q=1', body_bytes: 5 });
      expect(seen.headers).toMatchObject({ host: `${t.originIp}:${origin.port}`, 'x-own': 'kept' });
      const others = ['host', 'x-own', 'content-length', 'connection', 'cache-control'];
      expect(Object.keys(seen.headers).filter((one) => !others.includes(one))).toEqual([]);
      client.socket.destroy();
    });

    describe('revocation', () => {
      const reasons: Array<[string, NodeRecord[]]> = [
        ['its address is taken off the authlist', [t.authlistRecord(1, null)]],
        ['its user is made inactive', [t.userRecord(1, { active: false })]],
        ['its contract is over a limit', [t.contractRecord(1, { blocked: true })]],
        ['its account leaves the server', [{ kind: 'account', account: 1, value: null }]],
      ];
      test.each(reasons)('a tunnel ends when %s, and no other does', async (_, records) => {
        const revoked = await t.openTunnel(normal, to);
        const stays = await t.openTunnel({ ...normal, from: second }, to);
        await having(records, async () => {
          await revoked.ended();
          expect(t.read(await stays.ask(t.requestText('GET', '/'))).url).toBe('/');
        });
        stays.socket.destroy();
      });

      test('a tunnel by token ends when all tokens of its user are invalidated', async () => {
        const revoked = await t.openTunnel(tokened(1), to);
        const stays = await t.openTunnel(tokened(1, { user: 2 }), to);
        await having([t.userRecord(1, { token_version: 2 })], async () => {
          await revoked.ended();
          expect(t.read(await stays.ask(t.requestText('GET', '/'))).url).toBe('/');
        });
        stays.socket.destroy();
      });

      test('a tunnel ends by itself when what it rests on expires', async () => {
        const client = await t.openTunnel(tokened(1, { expiry: t.now() + 2 }), to);
        const stays = await t.openTunnel(tokened(1), to);
        await client.ended();
        expect(t.read(await stays.ask(t.requestText('GET', '/'))).url).toBe('/');
        stays.socket.destroy();
      });
    });

    describe('usage', () => {
      test('is what the client counts on its own socket: plain, tunnel, TLS to the proxy', async () => {
        const usage = await t.Usage.from(node.engine, url);
        const sum = { up: 0, down: 0 };
        const body = 'u'.repeat(70_000);
        for (const port of [t.normalPort, t.tlsBase + 1]) {
          const through = {
            port,
            ...(port === t.normalPort ? {} : { proxy_certificate: node.certificate }),
          };
          const plain = await t.Client.open(through);
          await plain.ask(t.requestText('POST', `${url}bytes/200000`, {}, body));
          const tunnel = await t.openTunnel(through, to);
          await tunnel.ask(t.requestText('POST', '/bytes/300000', {}, body));
          for (const client of [plain, tunnel]) {
            await client.close();
            sum.up += client.sent;
            sum.down += client.received;
          }
        }
        expect(await usage.settled({ '1 1': sum })).toEqual({ '1 1': sum });
      });

      test('on one connection each request counts with its own user, refused ones with nobody', async () => {
        const usage = await t.Usage.from(node.engine, url);
        const sums = {
          '1 1': { up: 0, down: 0 },
          '1 2': { up: 0, down: 0 },
          '2 1': { up: 0, down: 0 },
        };
        const turns: Array<[keyof typeof sums | undefined, string | undefined]> = [
          [undefined, t.basic('ewt_no.token')],
          ['1 1', undefined],
          ['2 1', t.basic(t.tokenOf(2))],
          [undefined, t.basic('ewt_no.token')],
          ['1 2', t.basic(t.tokenOf(1, { user: 2 }), 'bob')],
          ['1 1', undefined],
          [undefined, 'Bearer x'],
        ];
        const client = await t.Client.open(normal);
        for (const [index, [payer, authorization]] of turns.entries()) {
          const before = { sent: client.sent, received: client.received };
          const target = `${url}bytes/${1000 + index}`;
          const { status } = await client.ask(
            t.requestText('GET', target, authorization === undefined ? {} : { authorization }),
          );
          expect(status).toBe(payer === undefined ? 407 : 200);
          if (payer === undefined) continue;
          sums[payer].up += client.sent - before.sent;
          sums[payer].down += client.received - before.received;
        }
        await client.close();
        expect(await usage.settled(sums)).toEqual(sums);
      });

      test('is told while a tunnel is open, and never more than there was', async () => {
        const usage = await t.Usage.from(node.engine, url);
        const client = await t.openTunnel(normal, to);
        await client.ask(t.requestText('GET', '/bytes/100000'));
        await t.until(async () => {
          await usage.poll();
          const [open] = usage.open;
          expect(open?.up ?? 0).toBeLessThanOrEqual(client.sent);
          expect(open?.down ?? 0).toBeLessThanOrEqual(client.received);
          return (open?.down ?? 0) >= 100_000;
        });
        expect(usage.open).toMatchObject([{ account: 1, user: 1 }]);
        await client.close();
        await t.until(async () => {
          await usage.poll();
          return usage.open.length === 0;
        });
      });

      test('of many transfers at once adds up to the byte', async () => {
        const usage = await t.Usage.from(node.engine, url);
        const sums: Record<string, { up: number; down: number }> = {};
        const transfers = fc.sample(
          fc.record({
            account: fc.constantFrom(1, 2),
            user: fc.constantFrom(1, 2),
            method: fc.constantFrom('CONNECT', 'POST'),
            up: fc.nat(50_000),
            down: fc.nat(200_000),
            requests: fc.integer({ min: 1, max: 3 }),
          }),
          { numRuns: 200, seed },
        );
        await Promise.all(
          transfers.map(async ({ account, user, method, up, down, requests }) => {
            const through = tokened(account, { user });
            const tunnel = method === 'CONNECT' ? await t.openTunnel(through, to) : undefined;
            const client = tunnel ?? (await t.Client.open(through));
            const target = `${tunnel ? '/' : url}bytes/${down}`;
            for (let left = requests; left > 0; left--) {
              const body = 'u'.repeat(up);
              const answer = await client.ask(
                t.requestText('POST', target, tunnel ? {} : through, body),
              );
              expect(answer.body.length).toBe(down);
            }
            await client.close();
            const { up: sent, down: received } = sums[`${account} ${user}`] ?? { up: 0, down: 0 };
            sums[`${account} ${user}`] = {
              up: sent + client.sent,
              down: received + client.received,
            };
          }),
        );
        expect(await usage.settled(sums), `seed ${seed}`).toEqual(sums);
      });
    });

    // The last tests: each ends the node that there is, and leaves another.
    describe('with other settings', () => {
      test('a node that has not heard of its control plane for long trusts tokens alone', async () => {
        await node.stop();
        node = await start({ records: t.usualRecords(), heard_at: t.now() - 4000 });
        await expectRefusal(normal, 'stale');
        for (const answer of await askBoth(tokened(1))) expect(answer.status).toBe(200);
      });

      test('the checks of the node itself are let in everywhere, to one destination, and not billed', async () => {
        await node.stop();
        const probe = { password: 'secret', host: 'private.example', port: origin.port };
        node = await start({ records: t.usualRecords(), rules: { probe }, names });
        const usage = await t.Usage.from(node.engine);
        const through = { ...normal, from: stranger, authorization: t.basic('secret', '-probe') };
        expect((await t.see(through, `http://private.example:${origin.port}/`)).from).toBe(
          t.exits[0],
        );
        expect((await t.ask(through, 'CONNECT', to)).status).toBe(403);
        expect(await usage.settled({})).toEqual({});
      });
    });
  });
}
