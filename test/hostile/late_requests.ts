// Clients that connect to a node and send no request, half of one, or none after their first. The
// same on both engines.
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as t from '../../agent/test/proxy_world.ts';
import type { ProxyNode, StartNode } from '../../agent/test/scenarios/scene.ts';
import { beside } from './attackers.ts';

/** How long a client may take, in milliseconds. */
interface Patience {
  first_request_ms: number;
  next_request_ms: number;
}

/** Engines look at their connections every few seconds; this machine may be busy. */
const lateMs = 60_000;

export function lateRequests(name: string, start: StartNode, patience: Patience): void {
  const { first_request_ms, next_request_ms } = patience;
  describe(name, () => {
    let node: ProxyNode;
    let origin: t.Origin;
    let url: string;
    const victim = () => t.see({ port: t.normalPort }, url);

    beforeAll(async () => {
      origin = await t.startOrigin();
      url = `http://${t.originIp}:${origin.port}/`;
      node = await start({ records: t.usualRecords() });
    });
    afterAll(async () => {
      await node?.stop();
      await origin?.stop();
    });

    /** Milliseconds until the node ends the connection. */
    async function endOf({ socket, isEnded, isClosed }: t.Client): Promise<number> {
      const began = performance.now();
      if (!isEnded && !isClosed) await Promise.race([once(socket, 'end'), once(socket, 'close')]);
      socket.destroy();
      return performance.now() - began;
    }

    test('a connection without a first request, and one without a next, are closed in their time', {
      timeout: first_request_ms + next_request_ms + lateMs,
    }, async () => {
      const open = () => t.Client.open({ port: t.normalPort });
      const [silent, half, served] = await Promise.all([open(), open(), open()]);
      half.write(`GET ${url} HTTP/1.1\r\nHost: `);
      expect((await served.ask(t.requestText('GET', url))).status).toBe(200);
      const ends = Promise.all([endOf(silent), endOf(half), endOf(served)]);
      await beside([victim], ends);
      const [first = 0, begun = 0, next = 0] = await ends;
      // Squid gives the rest of a request that has begun as long as the next one.
      for (const [ended, least, max] of [
        [first, first_request_ms, first_request_ms],
        [begun, first_request_ms, next_request_ms],
        [next, next_request_ms, next_request_ms],
      ] as const) {
        // A moment of it was over before it was counted from here.
        expect(ended).toBeGreaterThan(least / 2);
        expect(ended).toBeLessThan(max + lateMs / 2);
      }
    });
  });
}
