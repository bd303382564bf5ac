// The scenarios that every engine must pass, with real sockets: the same for every engine and
// address family.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { effort } from '../../../test/effort.ts';
import * as t from '../proxy_world.ts';
import { addressesAtOnce } from './addresses_at_once.ts';
import { customDns } from './custom_dns.ts';
import { destinations } from './destinations.ts';
import { ending } from './ending.ts';
import { exits } from './exits.ts';
import { families as otherFamily } from './families.ts';
import type { Family } from './family.ts';
import { at, recordsOf } from './family.ts';
import { headers } from './headers.ts';
import { http } from './http.ts';
import { revocation } from './revocation.ts';
import { Scene, type Stage, type StartNode } from './scene.ts';
import { usage } from './usage.ts';
import { usesOfExits } from './uses_of_exits.ts';
import { whoMay } from './who_may.ts';

/** One node serves all scenarios, so a name has the addresses of all families. */
export function engineScenarios(
  name: string,
  start: StartNode,
  ...families: [Family, ...Family[]]
): void {
  describe(name, () => {
    let flips = 0;
    const all = (of: (family: Family) => string[]) => () => families.flatMap(of);
    const names: t.Names = new Map([
      ['www.example', all((f) => [f.originIp])],
      ['private.example', all((f) => [f.privateIp])],
      ['mixed.example', all((f) => [f.privateIp, f.originIp])],
      ['rebind.example', all((f) => [flips++ % 2 === 0 ? f.originIp : f.privateIp])],
      ['none.example', () => []],
      ['own.example', all((f) => [f.publicIp])],
      ['ipv4.example', () => [t.originIp]],
      ['ipv6.example', () => ['fd78::2:1']],
      ['private6.example', () => ['fd78::3:1']],
    ]);
    const stage = { families, origins: new Map() } as unknown as Stage;

    beforeAll(async () => {
      for (const family of families) {
        stage.origins.set(family, await t.startOrigin(family.name === 'IPv4' ? '0.0.0.0' : '::'));
      }
      stage.node = await start({ records: recordsOf(families), names });
    });
    afterAll(async () => {
      await stage.node?.stop();
      for (const origin of stage.origins.values()) await origin.stop();
    });

    test('it listens without a fault', () => {
      expect(stage.node.engine.faults()).toEqual([]);
      expect(stage.node.engine.listeners().size).toBe(12 * families.length);
    });

    describe.each(families)('by $name', (family) => {
      const scene = new Scene(stage, family);
      // Scenarios that do not depend on the address family are tested with the first one; a deep
      // run tests them with each.
      const isOfEach = family === families[0] || effort === 'deep';
      if (isOfEach) whoMay(scene);
      addressesAtOnce(scene);
      exits(scene);
      destinations(scene);
      otherFamily(scene);
      customDns(scene);
      if (isOfEach) headers(scene);
      if (isOfEach) http(scene);
      revocation(scene);
      ending(scene);
      usage(scene);
    });

    // These come last, since each ends the node and leaves another one.
    describe('with other settings', () => {
      const scene = new Scene(stage, families[0]);
      const { privateIp, exits } = families[0];

      test('a node that has not heard of its control plane for long trusts tokens alone', async () => {
        await stage.node.stop();
        stage.node = await start({ records: recordsOf(families), heard_at: t.now() - 4000 });
        await scene.expectRefusal(scene.normal, 'stale');
        for (const answer of await scene.askBoth(scene.tokened(1))) expect(answer.status).toBe(200);
      });

      usesOfExits(stage, start, families);

      test('the checks of the node itself are let in everywhere, to one destination, and not billed', async () => {
        await stage.node.stop();
        const { port } = scene.origin;
        const probe = { password: 'secret', host: 'private.example', port };
        stage.node = await start({ records: recordsOf(families), rules: { probe }, names });
        const counted = await t.Usage.from(stage.node.engine);
        const through = { ...scene.tokened(1), authorization: t.basic('secret', '-probe') };
        const seen = await t.see(through, `http://private.example:${port}/`);
        expect(seen).toMatchObject({ at: privateIp, from: exits[0] });
        expect((await t.ask(through, 'CONNECT', `${at(privateIp)}:${port}`)).status).toBe(403);
        expect(await counted.settled({})).toEqual({});
      });
    });
  });
}
