// The deeds that every foreign client must be able to do through every engine.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { effort } from '../../../test/effort.ts';
import { newSeed } from '../../../test/seed.ts';
import * as t from '../proxy_world.ts';
import type { ProxyNode, StartNode } from '../scenarios/scene.ts';
import { randomOf } from '../usage_world.ts';
import { Chromium } from './chromium.ts';
import { type Deed, type ForeignClient, foreignClients } from './clients.ts';
import { type Site, startSite } from './site.ts';

/** The address of the clients: they choose none. */
const here = '127.0.0.1';
const alice = `alice:${t.tokenOf(1)}`;

interface Way {
  /** Name and password, if any. */
  credentials?: string;
  port?: number;
  host?: string;
  hasTls?: boolean;
}

const byTls = { credentials: alice, port: t.tlsBase + 2, hasTls: true };
const byOverride = { credentials: alice, port: t.overridePort };

export function clientTests(engine: string, start: StartNode): void {
  describe(`foreign clients (${engine})`, { timeout: 360_000 }, () => {
    let dir: string;
    let site: Site;
    let node: ProxyNode;
    const chromium = new Chromium();
    let deeds = 0;

    beforeAll(async () => {
      dir = mkdtempSync(join(tmpdir(), 'exitward-clients-'));
      site = await startSite(dir);
      const proxy = t.createCertificate(here);
      const [crt, key, authorities] = ['proxy.crt', 'proxy.key', 'authorities.crt'].map((name) =>
        join(dir, name),
      ) as [string, string, string];
      writeFileSync(crt, proxy.cert);
      writeFileSync(key, proxy.key, { mode: 0o600 });
      writeFileSync(authorities, `${proxy.cert}${site.certificate}`);
      node = await start({
        records: [...t.usualRecords(), t.overrideRecord(1, 'www.example', t.otherOriginIp)],
        names: new Map([
          ['www.example', () => [t.originIp]],
          ['private.example', () => [t.privateIp]],
        ]),
        settings: { EXITWARD_AGENT_TLS_CERT: crt, EXITWARD_AGENT_TLS_KEY: key },
      });
    });
    afterAll(async () => {
      await chromium.stop();
      await node?.stop();
      await site?.stop();
      rmSync(dir, { recursive: true, force: true });
    });

    /** Runs one deed, and returns the site's visits of it. */
    function newDeed(scheme: 'http' | 'https', way: Way): { deed: Deed; tag: string } {
      const { credentials = '', host = 'www.example', port = t.normalPort, hasTls = false } = way;
      const tag = `deed${deeds++}`;
      const home = join(dir, tag);
      mkdirSync(home);
      const to = `${here}:${port}`;
      const proxy = `${hasTls ? 'https' : 'http'}://${credentials && `${credentials}@`}${to}`;
      const url = `${scheme}://${host}:${site[scheme]}/${tag}`;
      const authorities = join(dir, 'authorities.crt');
      return { deed: { site: url, proxy, authorities, blob: site.blob, home }, tag };
    }

    /** Expects all bytes to arrive, and a visit at this address from that exit. */
    async function expectSuccess(
      client: ForeignClient,
      scheme: 'http' | 'https',
      way: Way,
      { at = t.originIp, from = t.exits[0] as string, isUpload = false } = {},
    ): Promise<void> {
      const { deed, tag } = newDeed(scheme, way);
      const outcome = await (isUpload ? client.upload?.(deed) : client.download(deed));
      expect(outcome).toEqual({ digest: site.digest, output: outcome?.output });
      const version = scheme === 'https' ? client.version : '1.1';
      for (const visit of site.visits(tag)) expect(visit).toEqual({ at, from, version });
      expect(site.visits(tag).length).toBeGreaterThan(0);
    }

    /** Expects the client to fail with a reason, without a visit. */
    async function expectRefusal(
      client: ForeignClient,
      scheme: 'http' | 'https',
      way: Way,
      status: 403 | 407,
    ): Promise<void> {
      const { deed, tag } = newDeed(scheme, way);
      const { digest, output } = await client.download(deed);
      const words = [`\\b${status}\\b`, ...(client.refusal ? [client.refusal.source] : [])];
      expect(output).toMatch(new RegExp(words.join('|')));
      expect(digest).toBeUndefined();
      expect(site.visits(tag)).toEqual([]);
    }

    const cases = [...foreignClients, chromium].flatMap((client) =>
      client.schemes.map((scheme) => ({ client, scheme, name: client.name })),
    );
    /** Each client with one scheme, the last; in a deep run with both. */
    const once = (selected: typeof cases) =>
      effort === 'deep'
        ? selected
        : [...new Map(selected.map((speaker) => [speaker.name, speaker])).values()];
    const random = randomOf(newSeed());
    /**
     * If the engine treats all clients alike, a submission tries a few, drawn by the seed, and a
     * deep run all.
     */
    const drawn = (from: typeof cases) => {
      if (effort === 'deep') return from;
      const rest = [...from];
      return Array.from({ length: 3 }, () => rest.splice(random(rest.length), 1)).flat();
    };
    const inTunnels = cases.filter(({ scheme }) => scheme === 'https');
    const plain = cases.filter(({ scheme }) => scheme === 'http');
    const tlsCases = once(cases.filter(({ client, scheme }) => client.tlsToProxy.includes(scheme)));
    const speakers = once(cases.filter(({ client }) => client.speak !== undefined));
    const uploads = once(cases.filter(({ client }) => client.upload !== undefined));

    describe.concurrent('from an address on no list', () => {
      test.for(drawn(inTunnels))('$name, $scheme: gets 407 without a token', ({ client, scheme }) =>
        expectRefusal(client, scheme, {}, 407),
      );

      test.for(drawn(plain))('$name, $scheme: gets 407 with a wrong one', ({ client, scheme }) =>
        expectRefusal(client, scheme, { credentials: 'alice:ewt_wrong' }, 407),
      );

      test.for(once(cases))(
        '$name, $scheme: gets every byte with its token',
        ({ client, scheme }) => expectSuccess(client, scheme, { credentials: alice }),
      );

      test.for(drawn(tlsCases))('$name, $scheme: speaks TLS with its proxy', ({ client, scheme }) =>
        expectSuccess(client, scheme, byTls, { from: t.exits[1] }),
      );

      test.for(drawn(uploads))('$name, $scheme: sends every byte', ({ client, scheme }) =>
        expectSuccess(client, scheme, { credentials: alice }, { isUpload: true }),
      );

      test.for(drawn(speakers))('$name, $scheme: speaks through a WebSocket', async (speaker) => {
        const { deed, tag } = newDeed(speaker.scheme, { credentials: alice });
        const outcome = await speaker.client.speak?.(deed);
        expect(outcome).toEqual({ digest: 'hello', output: outcome?.output });
        expect(site.visits(tag).at(-1)?.from).toBe(t.exits[0]);
      });

      test.for(drawn(once(cases)))(
        '$name, $scheme: shows that a destination is refused',
        ({ client, scheme }) =>
          expectRefusal(client, scheme, { credentials: alice, host: 'private.example' }, 403),
      );

      test.for(drawn(once(cases)))(
        '$name, $scheme: sees what custom DNS says',
        ({ client, scheme }) => expectSuccess(client, scheme, byOverride, { at: t.otherOriginIp }),
      );
    });

    describe('from an address on the authlist', () => {
      beforeAll(() => node.apply(t.authlistRecord(1, here)));

      describe.concurrent('needs no token', () => {
        test.for(drawn(cases))('$name, $scheme: gets every byte', ({ client, scheme }) =>
          expectSuccess(client, scheme, {}),
        );
      });
    });
  });
}
