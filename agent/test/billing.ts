// The table of billed traffic for every engine: traffic that reached an origin, in bytes of the
// client's connection.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as t from './proxy_world.ts';
import { at, type Family, recordsOf } from './scenarios/family.ts';
import type { ProxyNode, StartNode } from './scenarios/scene.ts';

interface Place {
  family: Family;
  /** The origin: as a URL and as `host:port`. */
  url: string;
  to: string;
  port: number;
  /** `host:port` of an origin that sends half of a response, and no more. */
  silent: string;
  /** `host:port` of an origin that ends each connection when it gets a request. */
  mute: string;
}
interface Billed {
  up: number;
  down: number;
}
/** Plays the client, and returns the bytes that must be billed. */
type Play = (client: t.Client, place: Place) => Promise<Billed>;

const nothing = { up: 0, down: 0 };
const all = (client: t.Client): Billed => ({ up: client.sent, down: client.received });
const body = 'u'.repeat(20_000);
const free = (method: string, targetOf: (place: Place) => string, ...statuses: number[]): Play => {
  return async (client, place) => {
    const answer = await client.ask(t.requestText(method, targetOf(place)));
    expect(statuses).toContain(answer.status);
    return nothing;
  };
};
const headOf = (url: string, ...lines: string[]) =>
  [`POST ${url} HTTP/1.1`, 'Host: x', ...lines, '', ''].join('\r\n');
const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${'u'.repeat(bytes)}\r\n`;
/** Everything that arrives, up to and including this text. */
const endOf = (text: string, words: string) => {
  const length = text.indexOf(words) + words.length;
  return text.includes(words) ? { value: text.slice(0, length), length } : undefined;
};
const half = 'the half of it.';
const table: Array<[billed: string, play: Play, source?: number]> = [
  [
    'a request, with all headers',
    async (client, { url }) => {
      await client.ask(t.requestText('GET', `${url}bytes/30000`));
      return all(client);
    },
  ],
  [
    'an upload and the response to it',
    async (client, { url }) => {
      await client.ask(t.requestText('POST', url, {}, body));
      return all(client);
    },
  ],
  [
    'each request of a connection that is kept',
    async (client, { url }) => {
      for (const bytes of [1, 20, 3000]) {
        await client.ask(t.requestText('GET', `${url}bytes/${bytes}`));
      }
      return all(client);
    },
  ],
  [
    'a tunnel, with the request for it',
    async (client, { to }) => {
      await client.ask(t.requestText('CONNECT', to));
      await client.ask(t.requestText('POST', '/bytes/40000', {}, body));
      return all(client);
    },
  ],
  [
    'a response of the origin that is an error',
    async (client, { url }) => {
      await client.ask(t.requestText('GET', `${url}status/503`));
      return all(client);
    },
  ],
  [
    'a request that its origin ends without a response',
    async (client, { mute }) => {
      expect((await client.ask(t.requestText('GET', `http://${mute}/`))).status).toBe(502);
      return all(client);
    },
  ],
  [
    'not a request that is challenged, only the one after it',
    async (client, { url }) => {
      const before = await client.ask(t.requestText('GET', url));
      expect(before.status).toBe(407);
      const { sent, received } = client;
      const authorization = t.basic(t.tokenOf(1));
      await client.ask(t.requestText('GET', url, { authorization }));
      return { up: client.sent - sent, down: client.received - received };
    },
    2,
  ],
  [
    'the body of an upload in chunks, not their framing',
    async (client, { url }) => {
      const head = headOf(url, 'Transfer-Encoding: chunked');
      for (const part of [head, chunk(1), chunk(300), chunk(70_000)]) client.write(part);
      await client.ask('0\r\nX-Trailer: 1\r\n\r\n');
      const first = { up: head.length + 70_301, down: client.received };
      const { sent } = client;
      await client.ask(t.requestText('GET', url));
      return { up: first.up + client.sent - sent, down: client.received };
    },
  ],
  [
    'a response in chunks, as the client gets it',
    async (client, { url }) => {
      const headers = encodeURIComponent('{"Transfer-Encoding":"chunked"}');
      client.write(t.requestText('GET', `${url}with/${headers}`));
      await client.take((text) => endOf(text, '\r\n0\r\n\r\n'));
      return all(client);
    },
  ],
  ...[true, false].map((waits): [string, Play] => [
    `not a 100 Continue, to a client that ${waits ? 'waits' : 'does not wait'} for it`,
    async (client, { url }) => {
      client.write(headOf(url, 'Expect: 100-continue', `Content-Length: ${body.length}`));
      if (!waits) client.write(body);
      const interim = await client.take((text) => endOf(text, '\r\n\r\n'));
      expect(interim).toMatch(/^HTTP\/1.1 100 Continue\r\n/);
      if (waits) client.write(body);
      expect(t.read(await client.answer()).body_bytes).toBe(body.length);
      return { up: client.sent, down: client.received - interim.length };
    },
  ]),
  [
    'a download that the client ends in the middle, as far as it came',
    async (client, { silent }) => {
      client.write(t.requestText('GET', `http://${silent}/`));
      await client.take((text) => endOf(text, half));
      client.socket.destroy();
      return all(client);
    },
  ],
  [
    'each request of a connection but the refused one between them',
    async (client, { url, port, family }) => {
      const targets = [
        `${url}bytes/10`,
        `http://${at(family.privateIp)}:${port}/`,
        `${url}bytes/2000`,
      ];
      const sum = { up: 0, down: 0 };
      for (const target of targets) {
        const { sent, received } = client;
        const { status } = await client.ask(t.requestText('GET', target));
        expect(status).toBe(target.startsWith(url) ? 200 : 403);
        if (status !== 200) continue;
        sum.up += client.sent - sent;
        sum.down += client.received - received;
      }
      return sum;
    },
  ],
  [
    'not a tunnel to a port that is not allowed',
    free('CONNECT', ({ family }) => `${at(family.originIp)}:25`, 403),
  ],
  [
    'not a request to a private address',
    free('GET', ({ port, family }) => `http://${at(family.privateIp)}:${port}/`, 403),
  ],
  [
    'not a request for an unknown name',
    free('GET', ({ port }) => `http://none.example:${port}/`, 502),
  ],
  ['not a tunnel to an unknown name', free('CONNECT', ({ port }) => `none.example:${port}`, 502)],
  [
    'not a request that no origin takes',
    free('GET', ({ family }) => `http://${at(family.originIp)}:81/`, 502, 503),
  ],
  [
    'not a tunnel that no origin takes',
    free('CONNECT', ({ family }) => `${at(family.originIp)}:81`, 502, 503),
  ],
];

/** At every address of a family. */
async function listen(host: string, onData: (socket: Socket) => void): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => onData(socket));
  });
  await once(server.listen({ host, port: 0, ipv6Only: true }), 'listening');
  return server;
}
const portOf = (server: Server) => (server.address() as AddressInfo).port;

export function billingTable(name: string, start: StartNode, ...families: Family[]): void {
  describe(`billed by ${name} is`, () => {
    let node: ProxyNode;
    beforeAll(async () => {
      node = await start({ records: recordsOf(families), names: new Map() });
    });
    afterAll(() => node?.stop());

    describe.each(families)('by $name', (family) => {
      const host = family.name === 'IPv4' ? '0.0.0.0' : '::';
      let origin: t.Origin;
      let silent: Server;
      let mute: Server;
      beforeAll(async () => {
        origin = await t.startOrigin(host);
        const head = 'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n';
        silent = await listen(host, (socket) => socket.write(head + half));
        mute = await listen(host, (socket) => socket.end());
      });
      afterAll(async () => {
        silent?.close();
        mute?.close();
        await origin?.stop();
      });

      test.each(table)('%s', async (_, play, source = 0) => {
        const toPort = (port: number) => `${at(family.originIp)}:${port}`;
        const { port } = origin;
        const to = toPort(port);
        const url = `http://${to}/`;
        const place = {
          family,
          url,
          to,
          port,
          silent: toPort(portOf(silent)),
          mute: toPort(portOf(mute)),
        };
        const through = { port: family.normalPort, from: family.sources[0] };
        for (const isTls of [false, true]) {
          const usage = await t.Usage.from(node.engine, url, through);
          const client = await t.Client.open({
            from: family.sources[source] as string,
            port: isTls ? t.tlsBase + family.port_base : family.normalPort,
            ...(isTls ? { proxy_certificate: node.certificate } : {}),
          });
          const billed = await play(client, place);
          await client.close();
          // Counts come in order: when this request is counted, the one before is, too.
          const last = await t.Client.exchange(url, through);
          const sum = { up: billed.up + last.sent, down: billed.down + last.received };
          expect(await usage.settled({ '1 1': sum })).toEqual({ '1 1': sum });
        }
      });
    });
  });
}
