// Custom DNS entries: their account, the ports where they apply, and the requests that they do not
// affect.
import { once } from 'node:events';
import { connect as connectTls } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { bodyOf } from '../../src/policy/denials.ts';
import * as t from '../proxy_world.ts';
import type { Scene } from './scene.ts';

export function customDns(s: Scene): void {
  const f = s.family;
  describe('custom DNS', () => {
    const first = s.override;
    const other = { ...s.override, from: f.sources[1] };

    test('counts for its account alone, on the override port alone', async () => {
      const records = [
        t.overrideRecord(1, 'www.example', f.otherOriginIp),
        t.overrideRecord(2, 'www.example', f.originIp),
      ];
      const named = `http://www.example:${s.origin.port}/`;
      await s.having(records, async () => {
        for (let round = 0; round < 3; round++) {
          expect((await t.see(first, named)).at).toBe(f.otherOriginIp);
          expect((await t.see(other, named)).at).toBe(f.originIp);
          expect((await t.see(s.normal, named)).at).toBe(f.originIp);
        }
      });
    });

    test('gives a name to what no name server knows, and never a private address', async () => {
      await s.having([t.overrideRecord(1, 'only.here', f.otherOriginIp)], async () => {
        const seen = await t.see(first, `http://Only.Here.:${s.origin.port}/`);
        expect(seen.at).toBe(f.otherOriginIp);
      });
      await s.having([t.overrideRecord(1, 'only.here', f.privateIp)], async () => {
        const answer = await t.ask(first, 'CONNECT', `only.here:${s.origin.port}`);
        expect(answer).toMatchObject({ status: 403, body: bodyOf('destination_refused') });
      });
    });

    test('holds from the next request on a connection that is open', async () => {
      const client = await t.Client.open(first);
      const named = t.requestText('GET', `http://www.example:${s.origin.port}/`);
      try {
        for (let round = 0; round < 5; round++) {
          for (const ip of [f.otherOriginIp, f.originIp]) {
            await s.node.apply(t.overrideRecord(1, 'www.example', ip));
            expect(t.read(await client.ask(named)).at).toBe(ip);
          }
        }
      } finally {
        await s.node.apply(t.overrideRecord(1, 'www.example', null));
        client.socket.destroy();
      }
    });

    test('leaves the name inside a tunnel, and the certificate for it, as they are', async () => {
      await s.having([t.overrideRecord(1, 'www.example', f.otherOriginIp)], async () => {
        const client = await t.openTunnel(first, `www.example:${s.origin.tls_port}`);
        const inside = connectTls({
          socket: client.socket,
          servername: 'www.example',
          ca: s.origin.certificate,
        });
        await once(inside, 'secureConnect');
        expect(inside.authorized).toBe(true);
        inside.write('GET / HTTP/1.0\r\n\r\n');
        let text = '';
        for await (const chunk of inside) text += chunk;
        expect(text).toContain(`"at":"${f.otherOriginIp}"`);
      });
    });
  });
}
