// Clients, exits and destinations of different families: the destinations that can be reached, and
// the responses for others.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tries } from '../../../test/effort.ts';
import { seed } from '../histories.ts';
import * as t from '../proxy_world.ts';
import { at } from './family.ts';
import type { Scene } from './scene.ts';

export function families(s: Scene): void {
  const f = s.family;
  const [own, other] = f.name === 'IPv4' ? ['ipv4', 'ipv6'] : ['ipv6', 'ipv4'];

  describe('the other family', () => {
    test('an exit reaches no destination of the other family, and says that this is why', async () => {
      const { port } = s.origin;
      await s.expectRefusal(s.normal, 'other_family', `${at(f.foreignIp)}:${port}`);
      await s.expectRefusal(s.normal, 'other_family', `${other}.example:${port}`);
      expect((await t.see(s.normal, `http://${own}.example:${port}/`)).at).toBe(f.originIp);
      await s.having([t.overrideRecord(1, 'www.example', f.foreignIp)], () =>
        s.expectRefusal(s.override, 'other_family', `www.example:${port}`),
      );
      // Another exit would not help for a forbidden destination.
      if (f.name === 'IPv4') {
        await s.expectRefusal(s.normal, 'destination_refused', `private6.example:${port}`);
      }
    });

    test('a client of either family reaches what the exit of its port does', async () => {
      for (const { sources } of s.families) {
        for (const port of [f.normalPort, f.overridePort]) {
          const through = { port, from: sources[0] };
          for (const host of ['www.example', at(f.originIp)]) {
            const seen = await t.see(through, `http://${host}:${s.origin.port}/`);
            expect(seen).toMatchObject({ at: f.originIp, from: f.exits[0] });
          }
        }
      }
    });
  });

  test('what is explained is what happens, however a destination is spelled', async () => {
    const escaped = (text: string) =>
      fc
        .subarray([...text].map((_, index) => index))
        .map((which) =>
          [...text]
            .map((character, index) =>
              which.includes(index)
                ? `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`
                : character,
            )
            .join(''),
        );
    const plain = fc.constantFrom(
      ...[t.originIp, '[fd78::2:1]', '[FD78:0:0::2:1]', '[fd78::0.2.0.1]', '[::ffff:127.78.2.1]'],
      ...[t.privateIp, '[fd78::3:1]', '[::1]', 'www.example', 'ipv4.example', 'only.here'],
      ...['ipv6.example', 'private.example', 'private6.example', 'mixed.example', 'none.example'],
    );
    const host = fc.oneof(plain, plain, plain.chain(escaped));
    const question = fc.record({
      host,
      method: fc.constantFrom('GET', 'CONNECT'),
      port: fc.constantFrom(f.normalPort, f.overridePort),
    });
    const override = t.overrideRecord(1, 'only.here', f.otherOriginIp);
    await s.having([override], async () => {
      const property = fc.asyncProperty(question, async ({ host, method, port }) => {
        const { decision, failure } = await s.node.engine.explain({
          kind: 'request',
          ...{ source: f.sources[0], port, method, host, destination_port: s.origin.port },
          credentials: undefined,
        });
        const to = `${host}:${s.origin.port}`;
        s.origin.dialled.clear();
        const target = method === 'GET' ? `http://${to}/` : to;
        const { status, headers } = await t.ask({ ...s.normal, port }, method, target);
        if (decision.verdict !== 'allow') {
          expect([...s.origin.dialled]).toEqual([]);
          // The policy does not see a request that an engine cannot read.
          if (status !== 400) expect(headers['x-exitward-reason']).toBe(decision.reason);
          return;
        }
        // An engine unescapes a hostname, but the policy gets it as written.
        if (failure === undefined) expect(status).toBe(200);
        else expect([400, 502]).toContain(status);
        if (status !== 200) return;
        // The response may arrive before the origin notes the connection.
        await t.until(() => s.origin.dialled.size > 0);
        expect([...s.origin.dialled]).toEqual([decision.dial ?? f.originIp]);
      });
      await fc.assert(property, { numRuns: tries(100), seed });
    });
  });
}
