// The table of what is billed, for every engine: what reached an origin, in bytes of the client's own connection.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as t from './proxy_world.ts';
import type { ProxyNode, StartNode } from './scenarios/scene.ts';

interface Place {
  /** The origin: as a URL and as `host:port`. */
  url: string;
  to: string;
  port: number;
}
interface Billed {
  up: number;
  down: number;
}
/** Plays the client, and tells what of it is billed. */
type Play = (client: t.Client, place: Place) => Promise<Billed>;

const nothing = { up: 0, down: 0 };
const all = (client: t.Client): Billed => ({ up: client.sent, down: client.received });
const body = 'u'.repeat(20_000);
const free = (method: string, targetOf: (place: Place) => string, status: number): Play => {
  return async (client, place) => {
    const answer = await client.ask(t.requestText(method, targetOf(place)));
    expect(answer.status).toBe(status);
    return nothing;
  };
};
const table: Array<[billed: string, play: Play, from?: string]> = [
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
    'not a request that is challenged, only the one after it',
    async (client, { url }) => {
      const before = await client.ask(t.requestText('GET', url));
      expect(before.status).toBe(407);
      const { sent, received } = client;
      const authorization = t.basic(t.tokenOf(1));
      await client.ask(t.requestText('GET', url, { authorization }));
      return { up: client.sent - sent, down: client.received - received };
    },
    t.sources[2],
  ],
  ['not a tunnel to a port that is not allowed', free('CONNECT', () => `${t.originIp}:25`, 403)],
  [
    'not a request to a private address',
    free('GET', ({ port }) => `http://${t.privateIp}:${port}/`, 403),
  ],
  [
    'not a request for an unknown name',
    free('GET', ({ port }) => `http://none.example:${port}/`, 502),
  ],
  ['not a tunnel to an unknown name', free('CONNECT', ({ port }) => `none.example:${port}`, 502)],
];

export function billingTable(name: string, start: StartNode): void {
  describe(`billed by ${name} is`, () => {
    let origin: t.Origin;
    let node: ProxyNode;
    beforeAll(async () => {
      origin = await t.startOrigin();
      node = await start({ records: t.usualRecords(), names: new Map() });
    });
    afterAll(async () => {
      await node?.stop();
      await origin?.stop();
    });

    test.each(table)('%s', async (_, play, from = t.sources[0]) => {
      const to = `${t.originIp}:${origin.port}`;
      const url = `http://${to}/`;
      for (const port of [t.normalPort, t.tlsBase + 1]) {
        const isTls = port !== t.normalPort;
        const usage = await t.Usage.from(node.engine, url);
        const proxy = isTls ? { proxy_certificate: node.certificate } : {};
        const client = await t.Client.open({ port, from, ...proxy });
        const billed = await play(client, { url, to, port: origin.port });
        await client.close();
        // Counted in order: when this one is, the one before is.
        const last = await t.Client.exchange(url);
        const sum = { up: billed.up + last.sent, down: billed.down + last.received };
        expect(await usage.settled({ '1 1': sum })).toEqual({ '1 1': sum });
      }
    });
  });
}
