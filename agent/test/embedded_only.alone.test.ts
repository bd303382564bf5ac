// The embedded engine where it differs from Squid, or can do more: messages, framing, ports and
// certificates.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { Connections } from '../src/embedded/connections.ts';
import { type EmbeddedNode, startEmbeddedNode } from './embedded_node.ts';
import * as t from './proxy_world.ts';

const normal = { port: t.normalPort };
/** For a second node next to the first. */
const shift = 10_000;

/** An origin that a test controls, and that stores everything it receives. */
interface RawOrigin {
  server: Server;
  port: number;
  text: string;
  sockets: Socket[];
}

async function startRawOrigin(onText: (socket: Socket, text: string) => void): Promise<RawOrigin> {
  const server = createServer({ allowHalfOpen: true });
  const origin: RawOrigin = { server, port: 0, text: '', sockets: [] };
  server.on('connection', (socket) => {
    origin.sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      origin.text += chunk;
      onText(socket, origin.text);
    });
  });
  await once(server.listen(0, t.originIp), 'listening');
  origin.port = (server.address() as AddressInfo).port;
  return origin;
}

function stopRawOrigin({ server, sockets }: RawOrigin): void {
  for (const socket of sockets) socket.destroy();
  server.close();
}

describe('the embedded engine', () => {
  let node: EmbeddedNode;
  let origin: t.Origin;
  /** Responds when the test resolves it. */
  let slow = Promise.withResolvers<string[]>();
  let isAsked = false;
  let secondsAhead = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + secondsAhead };
  const names: t.Names = new Map([
    [
      'slow.example',
      () => {
        isAsked = true;
        return slow.promise;
      },
    ],
  ]);

  beforeAll(async () => {
    origin = await t.startOrigin();
    node = await startEmbeddedNode({ records: t.usualRecords(), names }, { clock });
  });
  afterAll(async () => {
    await node?.stop();
    await origin?.stop();
  });
  afterEach(() => {
    secondsAhead = 0;
  });
  const tlsPort = () => ({ port: t.tlsBase + 2, proxy_certificate: node.certificate });
  const ports: Array<[string, () => t.Through]> = [
    ['a plain port', () => normal],
    ['a TLS port', tlsPort],
  ];
  const withOrigin = async (
    onText: (socket: Socket, text: string) => void,
    work: (origin: RawOrigin) => Promise<void>,
  ) => {
    const raw = await startRawOrigin(onText);
    try {
      await work(raw);
    } finally {
      stopRawOrigin(raw);
    }
  };

  interface Ending {
    why: string;
    /** A request to an origin; otherwise a tunnel. */
    request?: (url: string) => string;
    end: (download: { client: t.Client; from: Socket }) => unknown;
  }
  const breakOff: Ending['end'] = ({ client, from }) => {
    from.resetAndDestroy();
    // The node does not read from there any more, so it notices that when it writes.
    client.write('more');
  };
  const get = (url: string) => t.requestText('GET', url);
  const tooMany = t.requestText('GET', 'http://unknown.example/').repeat(18);
  const endings: Ending[] = [
    { why: 'by an order', end: () => node.engine.end({ account: 1 }) },
    {
      why: 'because of a limit of its user',
      end: async () => {
        node.engine.share([{ account: 1, user: 1, connections: 1, ahead: 1, networks: [] }]);
        await node.apply(t.userRecord(1, { limits: { connections: 1 } }));
        node.engine.share([]);
        await node.apply(t.userRecord(1));
      },
    },
    {
      why: 'because its port closes',
      end: async () => {
        await node.apply(t.serverRecord({ exit_ips: [] }));
        await node.apply(t.serverRecord());
      },
    },
    { why: 'because its destination breaks', end: breakOff },
    {
      why: 'because its destination breaks',
      request: (url) => `POST ${url} HTTP/1.1\r\nContent-Length: 100\r\n\r\n`,
      end: breakOff,
    },
    { why: 'by its client', end: ({ client }) => client.socket.destroy() },
    {
      why: 'by one request too many behind it',
      request: get,
      end: ({ client }) => client.write(tooMany),
    },
    {
      why: 'by what is no request behind it',
      request: get,
      end: ({ client }) => client.write('\x01\r\n\r\n'),
    },
  ];
  /**
   * Fills the buffers to a client that does not read, ends it, and expects a bill of sent bytes.
   */
  const expectBill = (
    { engine }: EmbeddedNode,
    through: t.Through,
    { request, end }: Pick<Ending, 'request' | 'end'>,
  ) =>
    withOrigin(
      (socket) => {
        const head = 'HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\n\r\n';
        socket.write(head + 'x'.repeat(50_000_000));
      },
      async ({ port, sockets }) => {
        const usage = await t.Usage.from(engine);
        const to = `${t.originIp}:${port}`;
        const client = request ? await t.Client.open(through) : await t.openTunnel(through, to);
        client.socket.pause();
        client.write(request ? request(`http://${to}/`) : get('/'));
        let before = 0;
        await t.until(async () => {
          await usage.poll();
          const down = usage.open[0]?.down ?? 0;
          const isFull = down > 100_000 && down === before;
          before = down;
          return isFull;
        });
        await end({ client, from: sockets[0] as Socket });
        await t.until(async () => {
          await usage.poll();
          return usage.open.length === 0;
        });
        client.socket.destroy();
        // The system accepts a write in parts. One that is under way does not count.
        const bill = { up: client.sent, down: before };
        expect(usage.sums.get('1 1')).toEqual(bill);
        await usage.poll();
        expect(usage.sums.get('1 1'), 'once').toEqual(bill);
      },
    );
  test.each(
    ports.flatMap(([at, through]) =>
      endings.map((ending) => {
        const what = ending.request ? 'response' : 'tunnel';
        return [what, ending.why, at, through, ending] as const;
      }),
    ),
  )(
    'a %s that is ended %s at %s is billed for no byte that the client cannot get',
    (_what, _why, _at, through, ending) => expectBill(node, through(), ending),
  );
  test.each(ports)(
    'a tunnel at %s in which nothing moves is billed for no byte that the client cannot get',
    async (_at, through) => {
      const own = await startEmbeddedNode({
        records: t.usualRecords(),
        settings: { EXITWARD_AGENT_PORT_SHIFT: String(shift), EXITWARD_AGENT_IDLE_SECONDS: '1' },
      });
      const { port, ...rest } = through();
      const shifted = { ...rest, port: port + shift };
      try {
        await expectBill(own, shifted, { end: () => {} });
      } finally {
        await own.stop();
      }
    },
  );

  test.each(ports)(
    'the address of a tunnel at %s counts for as long as its limit says after the last byte',
    async (_at, through) => {
      const limits = { addresses: 1, address_seconds: 300 };
      await node.apply(t.userRecord(2, { limits }));
      const first = { ...through(), from: t.sources[1] };
      const other = {
        ...{ ...normal, from: t.sources[2] as string },
        authorization: t.basic(t.tokenOf(2)),
      };
      const tunnel = await t.openTunnel(first, origin.to);
      for (let minutes = 0; minutes < 10; minutes += 2) {
        secondsAhead += 120;
        expect((await tunnel.ask(t.requestText('GET', '/'))).status).toBe(200);
        expect(node.engine.held()).toMatchObject([{ networks: [t.sources[1]] }]);
      }
      expect((await t.ask(other, 'GET', origin.url)).status).toBe(429);
      secondsAhead += 301;
      expect(node.engine.held()).toMatchObject([{ connections: 1, networks: [] }]);
      const latest = await t.openTunnel(other, origin.to);
      // With new traffic, the address of the first one is the newest.
      expect((await tunnel.ask(t.requestText('GET', '/'))).status).toBe(200);
      node.engine.held();
      await tunnel.ended();
      latest.socket.destroy();
      await node.apply(t.userRecord(2));
      // Without the limit no address counts any longer.
      expect(node.engine.held()).toEqual([]);
    },
  );

  test('a client that comes again from its port before its end is noticed counts for the limits of its user', async () => {
    await node.apply(t.userRecord(1, { limits: { connections: 1 } }));
    const tunnel = await t.openTunnel(normal, origin.to);
    for (let time = 0; time < 5; time += 1) {
      const first = await t.Client.open(normal);
      const local_port = first.socket.localPort;
      first.socket.resetAndDestroy();
      await once(first.socket, 'close');
      const again = await t.Client.open({ ...normal, local_port });
      expect((await again.ask(t.requestText('CONNECT', origin.to))).status).toBe(429);
      again.socket.destroy();
    }
    tunnel.socket.destroy();
    await node.apply(t.userRecord(1));
  });

  describe('in words', () => {
    test.each([
      ['unresolved', 502, 'unknown.example:8080'],
      ['unreachable', 502, `${t.originIp}:81`],
    ])('%s is answered with status %i', async (reason, status, target) => {
      for (const method of ['GET', 'CONNECT']) {
        const answer = await t.ask(normal, method, method === 'GET' ? `http://${target}/` : target);
        expect(answer.status).toBe(status);
        expect(answer.headers['x-exitward-reason']).toBe(reason);
        expect(answer.body).toMatch(`(${reason}).\n`);
      }
    });

    test('a missing exit address is distinguished from a missing destination', async () => {
      const exit_ips = [{ ip: '203.0.113.200', port_base: 1 }];
      await node.apply(t.serverRecord({ exit_ips }));
      const answer = await t.ask(normal, 'CONNECT', origin.to);
      await node.apply(t.serverRecord());
      expect(answer.status).toBe(503);
      expect(answer.headers['x-exitward-reason']).toBe('exit_unavailable');
    });

    test.each([
      ['GET', '/'],
      ['GET', 'https://www.example/'],
      ['GET', 'ftp://www.example/'],
      ['GET', 'http://alice@secret@www.example/'],
      ['GET', 'http://www.example:99999999/'],
      ['OPTIONS', '*'],
      ['CONNECT', 'www.example'],
      ['CONNECT', 'www.example:'],
      ['CONNECT', 'http://www.example:443'],
      ['CONNECT', '[::1:443'],
    ])('a request that is none for a proxy is answered so: %s %s', async (method, target) => {
      const answer = await t.ask(normal, method, target);
      expect(answer.status).toBe(400);
      expect(answer.headers['x-exitward-reason']).toBe('bad_target');
    });

    test.each([
      [400, 'bad_request', '\x16\x03\x01 a ClientHello'],
      [431, 'long_header', `GET / HTTP/1.1\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`],
    ])(
      'what cannot be read is answered %i %s, and the connection ends',
      async (status, reason, text) => {
        const client = await t.Client.open(normal);
        const answer = await client.ask(text);
        expect([answer.status, answer.headers['x-exitward-reason']]).toEqual([status, reason]);
        await client.ended();
      },
    );

    test('an unknown expectation is refused, and not billed', async () => {
      const usage = await t.Usage.from(node.engine);
      const client = await t.Client.open(normal);
      const { status, headers } = await client.ask(
        `POST ${origin.url} HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n`,
      );
      expect([status, headers['x-exitward-reason']]).toEqual([417, 'bad_expectation']);
      await client.ended();
      expect(await usage.settled({})).toEqual({});
    });

    test('with two sets of credentials neither counts', async () => {
      const client = await t.Client.open(normal);
      const line = `Proxy-Authorization: ${t.basic(t.tokenOf(1))}\r\n`;
      const { status, headers } = await client.ask(
        `CONNECT ${origin.to} HTTP/1.1\r\n${line}${line}\r\n`,
      );
      expect([status, headers['x-exitward-reason']]).toEqual([407, 'bad_token']);
      client.socket.destroy();
    });
  });

  describe('a plain request', () => {
    const reply = (text: string) => (socket: Socket, heard: string) => {
      if (heard.includes('\r\n\r\n')) socket.end(text);
    };

    test("carries the origin's answer as it is: its status, reason, headers and body", async () => {
      const answered =
        'HTTP/1.1 407 What You Like\r\nX-Two: a\r\nX-Two: b\r\nContent-Length: 2\r\n\r\nno';
      await withOrigin(reply(answered), async ({ port }) => {
        const client = await t.Client.open(normal);
        client.write(t.requestText('GET', `http://${t.originIp}:${port}/`));
        const text = await client.take((text) =>
          text.endsWith('no') ? { value: text, length: text.length } : undefined,
        );
        expect(text).toMatch(/^HTTP\/1.1 407 What You Like\r\nX-Two: a\r\nX-Two: b\r\nContent-/);
        expect(text).not.toMatch(/^(date|server|via|x-exitward-reason):/im);
        client.socket.destroy();
      });
    });

    test.each([
      ['another protocol, and goes on', 'HTTP/1.1 101 Switching\r\n\r\nHTTP/1.1 200 OK\r\n\r\n'],
      ['a reason with a control character', 'HTTP/1.1 200 O\x01K\r\nContent-Length: 0\r\n\r\n'],
      ['no body, and such a reason', 'HTTP/1.1 204 \x01\r\n\r\n'],
      ['a header with a control character', 'HTTP/1.1 200 OK\r\nX: \x01\r\n\r\n'],
      ['in another version', 'HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n'],
      ['in no coding, by name', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nx'],
    ])('is answered with 502 when the origin answers %s', async (_, text) => {
      await withOrigin(reply(text), async ({ port }) => {
        const answer = await t.ask(normal, 'GET', `http://${t.originIp}:${port}/`);
        expect(answer.status).toBe(502);
        expect(answer.headers['x-exitward-reason']).toBe('broken_answer');
      });
    });

    test('is answered with 502 when the origin sends interim responses without end', async () => {
      await withOrigin(reply('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(40)), async ({ port }) => {
        const client = await t.Client.open(normal);
        client.write(t.requestText('GET', `http://${t.originIp}:${port}/`));
        const statuses: number[] = [];
        while (statuses.at(-1) !== 502) statuses.push((await client.answer()).status);
        expect(statuses).toEqual([...Array(32).fill(103), 502]);
        client.socket.destroy();
      });
    });

    test.each(['identity', 'identity, chunked', 'chunked, identity', 'chunked, chunked'])(
      'in the coding %s is refused',
      async (coding) => {
        const client = await t.Client.open(normal);
        const head = `POST ${origin.url} HTTP/1.1\r\nTransfer-Encoding: ${coding}`;
        const { status } = await client.ask(`${head}\r\n\r\n0\r\n\r\n`);
        expect(status).toBe(501);
        await client.ended();
      },
    );

    test('whose answer breaks off is cut off, too', async () => {
      const text = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this';
      await withOrigin(reply(text), async ({ port }) => {
        const client = await t.Client.open(normal);
        client.write(t.requestText('GET', `http://${t.originIp}:${port}/`));
        await client.ended();
        await expect(client.answer()).rejects.toThrow('only this');
      });
    });

    test('with a body in chunks keeps it a body, whatever the method', async () => {
      await withOrigin(
        (socket, heard) => {
          if (heard.endsWith('0\r\n\r\n')) socket.end('HTTP/1.1 204 No Content\r\n\r\n');
        },
        async (raw) => {
          const client = await t.Client.open(normal);
          const { status } = await client.ask(
            `DELETE http://${t.originIp}:${raw.port}/ HTTP/1.1\r\nHost: other.example\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
          );
          expect(status).toBe(204);
          expect(raw.text).not.toContain('other.example');
          expect(raw.text).toMatch(/^DELETE \/ HTTP\/1.1\r\nHost: .*\r\n/);
          expect(raw.text).toMatch(
            /Transfer-Encoding: chunked\r\n(.*\r\n)?\r\n5\r\nhello\r\n0\r\n/,
          );
          client.socket.destroy();
        },
      );
    });

    test('that waits before its body gets 100 when it is allowed, and only then', async () => {
      const head = (authorization: string) =>
        `POST ${origin.url} HTTP/1.1\r\nExpect: 100-continue\r\n${authorization}Content-Length: 5\r\n\r\n`;
      const client = await t.Client.open(normal);
      expect((await client.ask(head(''))).status).toBe(100);
      expect(t.read(await client.ask('hello')).body_bytes).toBe(5);
      expect((await client.ask(head('Proxy-Authorization: x\r\n'))).status).toBe(407);
      client.socket.destroy();
    });

    test('that asks for WebSocket is sent on as a usual one: tunnels are for that', async () => {
      const client = await t.Client.open(normal);
      const answer = await client.ask(
        `GET ${origin.url} HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
      );
      expect(t.read(answer).headers.upgrade).toBeUndefined();
      client.socket.destroy();
    });

    test('sent without waiting for the answer before gets its own answer, and is paid for', async () => {
      const usage = await t.Usage.from(node.engine);
      const client = await t.Client.open(normal);
      const text = t.requestText('GET', `${origin.url}bytes/1000`);
      const other = t.requestText('GET', `${origin.url}bytes/2000`, {
        authorization: t.basic(t.tokenOf(2)),
      });
      // With further requests behind it, the end of a chunked upload is unknown: its framing is
      // billed.
      const upload = `POST ${origin.url}bytes/1000 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`;
      client.write(upload + other + text);
      for (const length of [1000, 2000, 1000]) {
        expect((await client.answer()).body.length).toBe(length);
      }
      await client.close();
      await t.until(async () => {
        await usage.poll();
        const sums = [...usage.sums.values()];
        const total = (side: 'up' | 'down') => sums.reduce((sum, part) => sum + part[side], 0);
        return total('up') === client.sent && total('down') === client.received;
      });
      expect(usage.sums.get('2 1')?.down).toBeGreaterThan(2000);
      expect(usage.sums.get('2 1')?.down).toBeLessThan(3000);
    });

    test('with sixteen behind it, sent without waiting, is the first of all to be answered; with more the connection ends', async () => {
      const client = await t.Client.open(normal);
      const text = t.requestText('GET', `${origin.url}bytes/10`);
      client.write(text.repeat(17));
      for (let n = 0; n < 17; n += 1) expect((await client.answer()).status).toBe(200);
      client.socket.destroy();
      await withOrigin(
        () => {},
        async ({ port }) => {
          const greedy = await t.Client.open(normal);
          greedy.write(t.requestText('GET', `http://${t.originIp}:${port}/`).repeat(20_000));
          await greedy.ended();
        },
      );
    });

    test('may be answered before it has come; its rest is still its own', async () => {
      const usage = await t.Usage.from(node.engine);
      await withOrigin(reply('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'), async (raw) => {
        const client = await t.Client.open(normal);
        const target = `http://${t.originIp}:${raw.port}/`;
        const text = t.requestText('POST', target, {}, 'u'.repeat(10_000));
        client.write(text.slice(0, -5000));
        expect((await client.answer()).body).toBe('ok');
        client.write(text.slice(-5000));
        const first = { up: client.sent, down: client.received };
        // The next request is sent when the rest has been read: of one read all bytes are the first
        // one's.
        await t.until(async () => {
          await usage.poll();
          return usage.sums.get('1 1')?.up === first.up;
        });
        const through = { authorization: t.basic(t.tokenOf(2)) };
        expect((await client.ask(t.requestText('GET', target, through))).body).toBe('ok');
        await client.close();
        const second = { up: client.sent - first.up, down: client.received - first.down };
        const sums = { '1 1': first, '2 1': second };
        expect(await usage.settled(sums)).toEqual(sums);
      });
    });

    test('that is refused is not read to its end', async () => {
      const client = await t.Client.open(normal);
      client.write(
        `POST ${origin.url} HTTP/1.1\r\nProxy-Authorization: x\r\nContent-Length: 1000000000\r\n\r\n`,
      );
      expect((await client.answer()).headers.connection).toBe('close');
      await client.ended();
    });

    test('that is refused takes with it what was sent behind it', async () => {
      const usage = await t.Usage.from(node.engine);
      const client = await t.Client.open(normal);
      const refused = t.requestText('GET', origin.url, { authorization: 'x' });
      client.write(refused + t.requestText('POST', origin.url, {}, 'u'.repeat(10_000)));
      expect((await client.answer()).headers.connection).toBe('close');
      await client.ended();
      expect(await usage.settled({})).toEqual({});
    });
  });

  describe('a tunnel', () => {
    test.each(['plain', 'TLS'])('passes on the end of either side alone: %s', async (kind) => {
      const through =
        kind === 'plain' ? normal : { port: t.tlsBase + 1, proxy_certificate: node.certificate };
      await withOrigin(
        (socket, heard) => {
          if (heard === 'question') socket.end('answer');
        },
        async (raw) => {
          // The origin ends its side first, and still receives.
          const client = await t.openTunnel(through, `${t.originIp}:${raw.port}`);
          client.write('question');
          expect(await client.takeBytes(6)).toBe('answer');
          await t.until(() => client.isEnded);
          client.write(' and more');
          await t.until(() => raw.text === 'question and more');
          client.socket.end();
          await once(raw.sockets[0] as Socket, 'end');
        },
      );
      await withOrigin(
        () => {},
        async (raw) => {
          // The client ends its side first, and still receives.
          const client = await t.openTunnel(through, `${t.originIp}:${raw.port}`);
          client.socket.end('question');
          client.sent += 8;
          await t.until(() => raw.text === 'question');
          const [socket] = raw.sockets as [Socket];
          await t.until(() => socket.readableEnded);
          socket.end('late answer');
          expect(await client.takeBytes(11)).toBe('late answer');
          await t.until(() => client.isClosed);
        },
      );
    });

    test('that breaks on one side breaks on the other', async () => {
      await withOrigin(
        (socket) => socket.resetAndDestroy(),
        async (raw) => {
          const client = await t.openTunnel(normal, `${t.originIp}:${raw.port}`);
          client.write('x');
          await client.ended();
        },
      );
      await withOrigin(
        () => {},
        async (raw) => {
          const client = await t.openTunnel(normal, `${t.originIp}:${raw.port}`);
          client.write('x');
          await t.until(() => raw.text === 'x');
          client.socket.resetAndDestroy();
          const [socket] = raw.sockets as [Socket];
          await t.until(() => socket.errored !== null);
        },
      );
    });

    test('passes on bytes that were sent before it was open', async () => {
      const client = await t.Client.open(normal);
      client.write(t.requestText('CONNECT', origin.to) + t.requestText('GET', '/early'));
      expect((await client.answer()).status).toBe(200);
      expect(t.read(await client.answer()).url).toBe('/early');
      client.socket.destroy();
    });

    test('may follow plain requests on their connection', async () => {
      const usage = await t.Usage.from(node.engine);
      const client = await t.Client.open(normal);
      client.write(
        t.requestText('GET', `${origin.url}bytes/5000`) + t.requestText('CONNECT', origin.to),
      );
      expect((await client.answer()).body.length).toBe(5000);
      expect((await client.answer()).status).toBe(200);
      await client.ask(t.requestText('GET', '/'));
      await client.close();
      const sum = { up: client.sent, down: client.received };
      expect(await usage.settled({ '1 1': sum })).toEqual({ '1 1': sum });
    });
  });

  test.each(['GET', 'CONNECT'])(
    'what a client no longer waits for is let go of: %s',
    async (method) => {
      await withOrigin(
        () => {},
        async (raw) => {
          slow = Promise.withResolvers();
          isAsked = false;
          const client = await t.Client.open(normal);
          const target = `slow.example:${raw.port}`;
          client.write(t.requestText(method, method === 'GET' ? `http://${target}/` : target));
          await t.until(() => isAsked);
          client.socket.resetAndDestroy();
          slow.resolve([t.originIp]);
          await t.until(() => raw.sockets.length > 0);
          const [socket] = raw.sockets as [Socket];
          await t.until(() => socket.readableEnded || socket.errored !== null);
          expect(raw.text).toBe('');
        },
      );
    },
  );

  describe('its count', () => {
    test('reports finished traffic until it is acknowledged, and nothing twice after that', async () => {
      const { engine } = node;
      await t.Usage.from(engine);
      await (await t.openTunnel(normal, origin.to)).close();
      const first = await engine.poll(undefined);
      expect((await engine.poll(undefined)).finished).toEqual(first.finished);
      expect(first.finished.at(-1)).toMatchObject({ account: 1, user: 1 });

      await (await t.openTunnel({ ...normal, from: t.sources[1] }, origin.to)).close();
      await t.until(
        async () => (await engine.poll(undefined)).finished.length > first.finished.length,
      );
      const second = await engine.poll(JSON.parse(JSON.stringify(first.cursor)));
      expect(second.finished).toMatchObject([{ account: 2, user: 1 }]);
      expect((await engine.poll(first.cursor)).finished).toEqual(second.finished);
      expect((await engine.poll({ boot: 'another', n: 99 })).finished).toEqual(second.finished);
      expect((await engine.poll(second.cursor)).finished).toEqual([]);
    });

    test('is complete when the engine was stopped', async () => {
      const own = await startEmbeddedNode({
        records: t.usualRecords(),
        settings: { EXITWARD_AGENT_PORT_SHIFT: String(shift) },
      });
      const through = { port: t.tlsBase + 1 + shift, proxy_certificate: own.certificate };
      const clients = [
        await t.openTunnel({ port: t.normalPort + shift }, origin.to),
        await t.openTunnel(through, origin.to),
      ];
      for (const client of clients) await client.ask(t.requestText('GET', '/bytes/1000'));
      await own.stop();
      const { finished, open } = await own.engine.poll(undefined);
      expect(open).toEqual([]);
      const total = (side: 'up' | 'down') =>
        finished.reduce((sum, exchange) => sum + exchange[side], 0);
      expect(total('up')).toBe(clients.reduce((sum, { sent }) => sum + sent, 0));
      expect(total('down')).toBe(clients.reduce((sum, { received }) => sum + received, 0));
    });
  });

  test('what the system has not taken yet is not counted', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const reader = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [socket] = (await once(server, 'connection')) as [Socket];
    const connections = new Connections(systemClock, pino({ level: 'silent' }));
    const exchange = await connections.add(socket, 1, () => {}).begin();
    exchange.payer = { account: 1, user: 1 };
    socket.write(Buffer.alloc(100_000_000));
    await once(reader, 'data');
    reader.pause();
    const [open] = connections.poll(undefined).open;
    expect(open?.down).toBeLessThan(100_000_000);
    reader.destroy();
    socket.destroy();
    server.close();
  });

  test('uses of exits are described for the connection log alone', async () => {
    const client = await t.openTunnel(normal, origin.to);
    expect((await node.engine.poll(undefined)).open.length).toBeGreaterThan(0);
    expect([...node.engine.usesUnderWay()]).toEqual([]);
    client.socket.destroy();
  });

  test('what is revoked has ended when the change is applied', async () => {
    const client = await t.openTunnel(normal, origin.to);
    expect((await node.engine.poll(undefined)).open.length).toBeGreaterThan(0);
    await node.apply(t.authlistRecord(1, null));
    expect((await node.engine.poll(undefined)).open).toEqual([]);
    await node.apply(...t.usualRecords());
    client.socket.destroy();
  });

  describe('its ports', () => {
    const settings = { EXITWARD_AGENT_PORT_SHIFT: String(shift) };
    const shifted = (port: number) => ({ port: port + shift });

    test('a port that is taken is reported, the others work, and it is had as soon as it is free', async () => {
      const squatter = createServer().listen(t.normalPort + shift);
      await once(squatter, 'listening');
      const own = await startEmbeddedNode({ records: t.usualRecords(), settings });
      try {
        expect(t.messagesOf(own.engine)).toEqual([
          `Port ${t.normalPort + shift}, for exit ${t.exits[0]} by port scheme default, cannot be listened on: another program uses it.`,
        ]);
        expect((await t.see(shifted(t.base + 2), origin.url)).from).toBe(t.exits[1]);
        await new Promise((resolve) => squatter.close(resolve));
        await own.apply();
        expect(own.engine.faults()).toEqual([]);
        expect((await t.see(shifted(t.normalPort), origin.url)).from).toBe(t.exits[0]);
      } finally {
        squatter.close();
        await own.stop();
      }
    });

    test('a port that a shift moves out of range is reported', async () => {
      const own = await startEmbeddedNode({
        records: t.usualRecords(),
        settings: { EXITWARD_AGENT_PORT_SHIFT: '60000' },
      });
      expect(t.messagesOf(own.engine).join()).toContain(
        'there is no such port (EXITWARD_AGENT_PORT_SHIFT)',
      );
      await own.stop();
    });

    test('without a certificate the TLS ports are reported, and the others work', async () => {
      const own = await startEmbeddedNode({
        records: t.usualRecords(),
        settings: { ...settings, EXITWARD_AGENT_TLS_CERT: '', EXITWARD_AGENT_TLS_KEY: '' },
      });
      const ports = [1, 501, 2, 502].map((port) => t.tlsBase + port).join(', ');
      expect(t.messagesOf(own.engine)).toEqual([
        `There is no certificate for the TLS ports ${ports}: set EXITWARD_AGENT_ACME, or EXITWARD_AGENT_TLS_CERT and EXITWARD_AGENT_TLS_KEY.`,
      ]);
      expect((await t.see(shifted(t.normalPort), origin.url)).from).toBe(t.exits[0]);
      await own.stop();
    });

    test('a new certificate serves new connections, a bad one changes nothing, and open connections continue', async () => {
      const own = await startEmbeddedNode({ records: t.usualRecords(), settings });
      const through = { ...shifted(t.tlsBase + 1), proxy_certificate: own.certificate };
      try {
        const open = await t.openTunnel(through, origin.to);
        writeFileSync(join(own.dir, 'proxy.key'), 'no key');
        await own.apply();
        expect(t.messagesOf(own.engine).join()).toMatch(
          /^The previous certificate stays in use: .*proxy.key/,
        );
        await (await t.openTunnel(through, origin.to)).close();

        const renewed = t.createCertificate('proxy.test');
        writeFileSync(join(own.dir, 'proxy.crt'), renewed.cert);
        writeFileSync(join(own.dir, 'proxy.key'), renewed.key);
        await own.apply();
        expect(own.engine.faults()).toEqual([]);
        await expect(t.Client.open(through)).rejects.toThrow(/self-signed|certificate/);
        await (
          await t.openTunnel({ ...through, proxy_certificate: renewed.cert }, origin.to)
        ).close();
        expect(t.read(await open.ask(t.requestText('GET', '/'))).url).toBe('/');
        open.socket.destroy();
      } finally {
        await own.stop();
      }
    });

    test('bytes that are not TLS do no harm on a TLS port', async () => {
      const client = await t.Client.open({ port: t.tlsBase + 1 });
      client.write(t.requestText('GET', origin.url));
      await client.ended();
      const through = { port: t.tlsBase + 1, proxy_certificate: node.certificate };
      expect((await t.see(through, origin.url)).from).toBe(t.exits[0]);
    });
  });

  test('an operator can leave open what is revoked', async () => {
    const own = await startEmbeddedNode({
      records: t.usualRecords(),
      settings: { EXITWARD_AGENT_PORT_SHIFT: String(shift), EXITWARD_AGENT_ON_REVOKE: 'leave' },
    });
    const through = { port: t.normalPort + shift };
    const client = await t.openTunnel(through, origin.to);
    await own.apply(t.authlistRecord(1, null));
    expect((await t.ask(through, 'CONNECT', origin.to)).status).toBe(407);
    expect(t.read(await client.ask(t.requestText('GET', '/'))).url).toBe('/');
    await own.stop();
  });
});
