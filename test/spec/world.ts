// The network that the walk through the spec looks at: every field has a value that a test can
// name.

import type { Variant } from '../../server/src/api/account/session.ts';
import { bumpVersion } from '../../server/src/changes/changes.ts';
import { setContractServer } from '../../server/src/contract_servers/contract_servers.ts';
import { setGeoStatuses } from '../../server/src/geo/geo.ts';
import { recordHealth, requireServer } from '../../server/src/servers/servers.ts';
import { recordUsage } from '../../server/src/usage/usage.ts';
import { changeUser } from '../../server/src/users/users.ts';
import type { BuiltAccount } from '../../server/test/builders.ts';
import {
  type Answer,
  startTestApp,
  type TestApp,
  type TestClient,
} from '../../server/test/harness.ts';
import type { TestNode } from '../../server/test/node.ts';

/** When the walk begins, epoch seconds: where the tests' clock stands at first. */
export const begin = 1_800_000_000;
export const day = 86_400;
/** An expiry that the whole walk stays before. */
export const later = begin + 1000 * day;
export const variants: Variant[] = ['current', 'earlier'];

export interface World {
  t: TestApp;
  /**
   * Detailed server billing; fra1 has a limit of its own, nyc1 has none; lon1 is not on the
   * contract.
   */
  acme: BuiltAccount;
  /** No detailed server billing; fra1 has a limit of its own there too. */
  flat: BuiltAccount;
  /** The node of fra1, which follows, and acknowledges when a test says so. */
  node: TestNode;
  as(variant: Variant, account?: BuiltAccount): TestClient;
  /** Lists a fresh address for alice; `body` says otherwise. */
  list(variant: Variant, body?: object): Promise<Answer>;
  /** Overrides a fresh hostname on fra1; `body` says otherwise. */
  override(body?: object, variant?: Variant): Promise<Answer>;
}

/** Where each variant finds the IP authentication list. */
export const authlistPath = {
  current: '/contract/ip-authlist',
  earlier: '/contract/whitelist',
} as const;

let fresh = 0;
export const freshIp = () => `203.0.${Math.floor(++fresh / 250)}.${(fresh % 250) + 1}`;
export const freshName = () => `host${++fresh}.example.com`;

/** The claims of a proxy access token, which nobody but a node needs to read. */
export const claimsOf = (token: string): number[] =>
  JSON.parse(Buffer.from(token.slice(4).split('.')[0] ?? '', 'base64url').toString());

export async function buildWorld(database_url: string): Promise<World> {
  const t = await startTestApp(database_url);
  await t.server('fra1', {
    title: 'Frankfurt',
    services: ['proxy', 'proxy-https', 'vpn-ikev1', 'vpn-ikev2', 'vpn-l2tp'],
    exit_ips: ['198.51.100.1', '198.51.100.2', '198.51.100.3', '198.51.100.4'],
  });
  await t.server('nyc1', { title: 'New York', exit_ips: ['198.51.100.11'] });
  await t.server('lon1', { title: 'London', exit_ips: [] });
  // Since 5 November 2026, 08:00: the walk begins ten days into the third billing period.
  const start = Date.UTC(2026, 10, 5, 8) / 1000;
  const contract = { servers: ['fra1', 'nyc1'], start, limit_bytes: 1_000_000 };
  const acme = await t.account('acme', { ...contract, detailed_billing: true });
  const flat = await t.account('flat', contract);
  await t.user(acme, 'bob', { billing: true });
  const carol = await t.user(acme, 'carol', { proxy: true });

  await t.write(async (tx) => {
    await changeUser(tx, carol, { active: false });
    const fra1 = await requireServer(tx, 'fra1');
    const nyc1 = await requireServer(tx, 'nyc1');
    await setContractServer(tx, acme.account, fra1, 400_000);
    await setContractServer(tx, flat.account, fra1, 400_000);
    await recordHealth(tx, fra1.id, [
      { ip: '198.51.100.1', status: 'ok', status_time: begin - 60 },
      { ip: '198.51.100.2', status: 'warn', status_time: begin - 50 },
      { ip: '198.51.100.3', status: 'crit', status_time: begin - 40 },
    ]);
    for (const [provider, status] of [
      ['maxmind', 'ok'],
      ['ip2location', 'warn'],
      ['dbip', 'crit'],
    ] as const) {
      const place = { country: 'DE', distance_km: null };
      await setGeoStatuses(tx, [
        {
          ip: '198.51.100.1',
          provider,
          status,
          status_time: begin - 30,
          ...place,
        },
      ]);
    }
    await bumpVersion(tx, 0);
    const account_id = acme.account.id;
    const used = (server_id: number, days_ago: number, up: number, down: number) => ({
      account_id,
      server_id,
      user_id: 1,
      hour: begin - days_ago * day,
      up,
      down,
    });
    const buckets = [
      used(fra1.id, 0, 100, 200),
      used(nyc1.id, 1, 50, 0),
      // In the billing period before, within the last 30 days; and before those.
      used(fra1.id, 20, 1000, 0),
      used(fra1.id, 40, 90_000, 0),
    ];
    await recordUsage(tx, buckets, () => start);
    await bumpVersion(tx, account_id);
  });
  const node = await t.node('fra1');
  await node.start();
  const as: World['as'] = (variant, account = acme) => t.as(account, variant);
  return {
    t,
    acme,
    flat,
    node,
    as,
    list: (variant, body) =>
      as(variant).post(authlistPath[variant], {
        ip: freshIp(),
        user: 'alice',
        expiry: later,
        ...body,
      }),
    override: (body, variant = 'current') =>
      as(variant).post('/contract/overrides', {
        server: 'fra1',
        hostname: freshName(),
        ip: '192.0.2.80',
        expiry: later,
        ...body,
      }),
  };
}
