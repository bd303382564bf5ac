// Generated histories of records, and requests against them, in a world so small that everything
// collides.
import fc from 'fast-check';
import { parseNetworks } from '../../kit/src/address.ts';
import type { ServerValue, UserLimits } from '../../kit/src/node_interface.ts';
import { newSeed } from '../../test/seed.ts';
import { probeUser } from '../src/policy/decide.ts';
import type { ProxyRequest, Rules } from '../src/policy/decision.ts';
import { Policy } from '../src/policy/policy.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { createSigningKey, signToken } from './node_records.ts';
import { type Issued, Oracle, type World } from './oracle.ts';

export { createSigningKey, type SigningKey, signToken } from './node_records.ts';

/** The time around which everything expires. */
export const noon = 1_800_000_000;

/** Replays generated tests. */
export const seed = newSeed();

const [first, second] = [createSigningKey('k1'), createSigningKey('k2')];
/** A key of another network with the same name. */
const foreign = createSigningKey('k1');

const accounts = [1, 2, 3];
const users = [1, 2];
const nameOf = (user: number) => (user === 1 ? 'alice' : 'bob');

const issued = new Map<string, Issued>();
for (const account of accounts) {
  for (const user of users) {
    for (const [token_version, expiry] of [
      [1, noon],
      [1, noon + 60],
      [2, noon + 60],
    ] as const) {
      for (const key of [first, second]) {
        const values = [1, key.public.kid, account, user, token_version, expiry];
        const token = { key: key.public, account, user, token_version, expiry };
        issued.set(signToken(key, values), token);
      }
    }
  }
}
const tokens = [...issued.keys()];
/** Those that are valid as long as nothing changes. */
const good = tokens.filter((token) => {
  const { token_version, expiry = 0 } = issued.get(token) ?? {};
  return token_version === 1 && expiry > noon;
});
const [genuine = '', other = ''] = tokens;
const forged = [
  'secret',
  '',
  signToken(foreign),
  signToken(second, [1, 'k1', 1, 1, 1, noon + 60]),
  `${genuine.split('.')[0]}.${other.split('.')[1]}`,
  genuine.slice(0, -1),
  `${genuine}A`,
];

// ---- The operator's rules, addresses and destinations --------------------------------------

export const rules: Rules = {
  node: 7,
  connect_ports: [
    { first: 443, last: 443 },
    { first: 8000, last: 8999 },
  ],
  http_ports: [
    { first: 80, last: 80 },
    { first: 1024, last: 65_535 },
  ],
  allowed: parseNetworks('192.168.0.0/24, fd00:1::/64'),
  staleness_seconds: 3600,
  probe: { password: 'of-the-probe', host: '198.51.100.250', port: 7001 },
};

/** The same addresses in several spellings, and texts that are not addresses. */
const sources = [
  ...['192.0.2.10', '::ffff:192.0.2.10', '::FFFF:c000:020a', '0:0:0:0:0:ffff:192.0.2.10'],
  ...['192.0.2.11', '192.0.2.12', '2001:db8::10', '2001:DB8:0:0:0:0:0:10', '2001:db8::0:0:10'],
  ...['192.0.2.010', '2001:db8::10%eth0', '192.0.2.10 ', '::192.0.2.10', '', 'unix:'],
];
/** The first is that of alice of the first account, and of the third on the other port scheme. */
const listed = ['192.0.2.10', '192.0.2.11', '2001:db8::10'];

export const sourceOfAlice = '::ffff:192.0.2.10';

type Destination = { hostname: string } | { ip: string } | undefined;
const destinations = new Map<string, Destination>([
  ['www.example.com', { hostname: 'www.example.com' }],
  ['WWW.Example.COM', { hostname: 'www.example.com' }],
  ['www.example.com.', { hostname: 'www.example.com' }],
  ['a.example', { hostname: 'a.example' }],
  ['A.EXAMPLE.', { hostname: 'a.example' }],
  ['elsewhere_1.example', { hostname: 'elsewhere_1.example' }],
  ['8.8.8.8', { ip: '8.8.8.8' }],
  ['::ffff:8.8.8.8', { ip: '8.8.8.8' }],
  ['[2600:0::1]', { ip: '2600::1' }],
  ['2600::1', { ip: '2600::1' }],
  ['192.168.0.7', { ip: '192.168.0.7' }],
  ['[fd00:1::7]', { ip: 'fd00:1::7' }],
  ['192.168.1.7', { ip: '192.168.1.7' }],
  ['[fd00:2::7]', { ip: 'fd00:2::7' }],
  ['10.0.0.1', { ip: '10.0.0.1' }],
  ['[::ffff:10.0.0.1]', { ip: '10.0.0.1' }],
  ['[::1]', { ip: '::1' }],
  ['198.51.100.250', { ip: '198.51.100.250' }],
  ['[::ffff:198.51.100.250]', { ip: '198.51.100.250' }],
  ['8.8.8.8.', undefined],
  ['010.8.8.8', undefined],
  ['127.1', undefined],
  ['0x7f.1', undefined],
  ['2130706433', undefined],
  ['[8.8.8.8]', undefined],
  ['www..example.com', undefined],
  ['-www.example.com', undefined],
  ['user@8.8.8.8', undefined],
  ['', undefined],
]);
const hostnames = ['www.example.com', 'a.example'];
const dialled = ['8.8.4.4', '192.168.0.9', '10.0.0.5', '2600::5', 'fc00::5'];

export const world: World = {
  issued,
  destinations,
  allowed: [
    ['192.168.0.0', '192.168.0.255'],
    ['fd00:1::', 'fd00:1::ffff:ffff:ffff:ffff'],
  ],
};

// ---- Records ------------------------------------------------------------------------------

export const server: ServerValue = {
  name: 'fra1',
  hostname: 'fra1.example.net',
  services: ['proxy', 'proxy-https', 'vpn-ikev2'],
  vpn_key: Buffer.alloc(32, 9).toString('base64url'),
  port_schemes: [
    {
      name: 'default',
      bases: [
        { base: 10_000, service: 'proxy' },
        { base: 12_000, service: 'proxy-https' },
      ],
    },
    { name: 'high', bases: [{ base: 20_000, service: 'proxy' }] },
  ],
  exit_ips: [
    { ip: '198.51.100.1', port_base: 1 },
    { ip: '198.51.100.3', port_base: 3 },
    { ip: '2001:db8::6', port_base: 6 },
  ],
};
const ports = [10_001, 10_003, 10_006, 10_501, 10_503, 10_506];
const rarePorts = [12_001, 12_501, 20_001, 20_503, 10_002, 0];
const servers: Array<ServerValue | null> = [
  ...[server, server, server, server, server],
  { ...server, services: ['proxy'] },
  { ...server, port_schemes: server.port_schemes.slice(0, 1), drained_nodes: [6, 8] },
  { ...server, drained_nodes: [6, 7] },
  null,
];
const keys = [first.public, second.public];

const often = (percent: number) => fc.noBias(fc.nat(99)).map((roll) => roll < percent);
const mostly = <T>(usual: readonly T[], others: readonly T[]): fc.Arbitrary<T> =>
  often(75).chain((is) => fc.constantFrom(...(is ? usual : others)));
const maybeNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 6 });
const account = fc.constantFrom(...accounts);
const expiry = fc.constantFrom(noon - 1, noon, noon + 1, noon + 60, noon + 60);
const scheme = fc.constantFrom('default', 'default', 'default', 'high');
const contract = (kind: 'contract') =>
  fc.record({
    kind: fc.constant(kind),
    account,
    value: maybeNull(
      fc.record({
        name: fc.constantFrom('acme', 'globex'),
        expiry,
        suspended: often(8),
        blocked: often(12),
        port_scheme: scheme,
      }),
    ),
  });
/** Often none. */
const limits: fc.Arbitrary<UserLimits | undefined> = fc.constantFrom<UserLimits | undefined>(
  ...Array<undefined>(6).fill(undefined),
  {},
  { connections: 2, addresses: 1, address_seconds: 60 },
  { until: noon },
  { until: noon - 1 },
  { services: ['proxy'] },
  { services: ['vpn-ikev2'] },
  { not_here: true },
  { over: true },
);
export const user = fc.constantFrom(...users).chain((id) =>
  fc.record({
    kind: fc.constant('user' as const),
    account,
    id: fc.constant(id),
    value: maybeNull(
      fc.record({
        name: fc.constant(nameOf(id)),
        active: often(80),
        proxy: often(75),
        token_version: fc.constantFrom(1, 1, 2),
        limits,
      }),
    ),
  }),
);
const entryId = fc.integer({ min: 1, max: 3 });
const authlistValue = fc.record({
  ip: fc.constantFrom(...listed),
  user: fc.constantFrom(1, 1, 1, 2, 3),
  expiry,
});
const authlist = fc.record({
  kind: fc.constant('authlist' as const),
  ...{ account, id: entryId, value: maybeNull(authlistValue) },
});
/** From the node's own count, so it always comes after the user's record. */
export const ownCount = fc.record({
  kind: fc.constant('user_limit_reached' as const),
  account,
  id: fc.constantFrom(...users),
  value: maybeNull(fc.record({ until: expiry })),
});
const overrideValue = fc.record({
  hostname: fc.constantFrom(...hostnames),
  ip: fc.constantFrom(...dialled),
  expiry,
});
const override = fc.record({
  kind: fc.constant('override' as const),
  ...{ account, id: entryId, value: maybeNull(overrideValue) },
});
const whole = fc.oneof(
  fc.record({ kind: fc.constant('account' as const), account, value: fc.constant(null) }),
  fc.record({ kind: fc.constant('authlist_cleared' as const), account, value: fc.constant(null) }),
  fc.record({ kind: fc.constant('overrides_cleared' as const), account, value: fc.constant(null) }),
  fc.record({
    kind: fc.constant('keys' as const),
    value: fc.constantFrom(keys, keys, keys, [first.public], [second.public], []),
  }),
  fc.record({
    kind: fc.constant('server' as const),
    value: fc.constantFrom(...servers),
  }),
  // From a newer version: ignored.
  fc.constant({ kind: 'firewall', account: 1, value: { on: true } } as unknown as NodeRecord),
);
const record: fc.Arbitrary<NodeRecord> = fc.oneof(
  { weight: 5, arbitrary: contract('contract') },
  { weight: 4, arbitrary: user },
  { weight: 8, arbitrary: authlist },
  { weight: 5, arbitrary: override },
  { weight: 2, arbitrary: whole },
);

/** The beginning of a snapshot, so that most requests meet records. */
export const usual: NodeRecord[] = [
  { kind: 'server', value: server },
  { kind: 'keys', value: keys },
  ...accounts.flatMap((id): NodeRecord[] => [
    {
      kind: 'contract',
      account: id,
      value: {
        name: `contract-${id}`,
        expiry: noon + 60,
        suspended: false,
        blocked: false,
        port_scheme: id === 3 ? 'high' : 'default',
      },
    },
    ...users.map((user): NodeRecord => {
      const value = { name: nameOf(user), active: true, proxy: true, token_version: 1 };
      return { kind: 'user', account: id, id: user, value };
    }),
    {
      kind: 'authlist',
      account: id,
      id: 1,
      value: { ip: listed[id === 2 ? 1 : 0] as string, user: 1, expiry: noon + 60 },
    },
    ...hostnames.map((hostname, at): NodeRecord => {
      const value = { hostname, ip: dialled[at] as string, expiry: noon + id - 2 };
      return { kind: 'override', account: id, id: at + 1, value };
    }),
  ]),
];

/** Records in the order in which they come. */
export const history: fc.Arbitrary<NodeRecord[]> = fc
  .tuple(often(92), fc.array(record, { maxLength: 24, size: 'max' }))
  .map(([begun, records]) => (begun ? [...usual, ...records] : records));

// ---- Requests -----------------------------------------------------------------------------

const credentials = fc.oneof(
  { weight: 10, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constant(null) },
  {
    weight: 8,
    arbitrary: fc.constantFrom(...tokens, ...good, ...good).map((password) => {
      const { user = 0 } = issued.get(password) ?? {};
      return { user: nameOf(user), password };
    }),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(...good).map((password) => {
      const { key, ...rest } = issued.get(password) as Issued;
      return { user: nameOf(rest.user), claims: { kid: key.kid, ...rest } };
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      user: fc.constantFrom('alice', 'bob', 'Alice', '', probeUser),
      password: fc.constantFrom(...tokens, ...forged),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      user: fc.constantFrom(probeUser, probeUser, 'alice'),
      password: fc.constant('of-the-probe'),
    }),
  },
);
const plain: fc.Arbitrary<ProxyRequest> = fc.record({
  kind: fc.constant('request'),
  source: mostly(listed, sources),
  port: mostly(ports, rarePorts),
  method: fc.constantFrom('CONNECT', 'CONNECT', 'CONNECT', 'GET', 'POST'),
  host: mostly(hostnames, [...destinations.keys()]),
  destination_port: mostly([443, 8000, 8999], [1024, 80, 25, 0, 65_536, 7001]),
  credentials,
});
/** Sometimes the destination of the node's own checks. */
export const request: fc.Arbitrary<ProxyRequest> = fc
  .tuple(plain, often(3))
  .map(([request, own]) =>
    own
      ? {
          ...request,
          host: '[::ffff:198.51.100.250]',
          destination_port: 7001,
          credentials: { user: probeUser, password: 'of-the-probe' },
        }
      : request,
  );

/** When a request comes, and when the control plane was last heard from. */
export const moment = fc.record({
  now: fc.integer({ min: noon - 2, max: noon + 2 }),
  /** Negative: the clock was set back. */
  silence: fc.constantFrom(0, 0, 0, 0, 0, 3599, 3600, -3599, -3600),
});
export type Moment = typeof moment extends fc.Arbitrary<infer T> ? T : never;

/** A policy and an oracle that got the same records. */
export function tell(records: NodeRecord[]): { policy: Policy; oracle: Oracle } {
  const pair = { policy: new Policy(), oracle: new Oracle(world, rules) };
  for (const record of records) {
    pair.policy.apply(record);
    pair.oracle.receive(record);
  }
  return pair;
}

/** Sets when the control plane was last heard from. */
export function hear(pair: { policy: Policy; oracle: Oracle }, { now, silence }: Moment): void {
  pair.policy.heard_at = now - silence;
  pair.oracle.heard_at = now - silence;
}
