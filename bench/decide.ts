// The cost of a decision on a node: by address and by token, with 1,000 authlist entries and with
// 1,000,000, side by side; and what it costs to count and time each, and what limits of users add.
//   node bench/decide.ts [--entries 1000000] [--rounds 7]
import { generateKeyPairSync, sign } from 'node:crypto';
import { decide } from '../agent/src/policy/decide.ts';
import type { ProxyRequest, Rules } from '../agent/src/policy/decision.ts';
import { DecisionTally } from '../agent/src/policy/decision_tally.ts';
import { readCredentials } from '../agent/src/policy/identify.ts';
import { Policy } from '../agent/src/policy/policy.ts';
import { UserCounts } from '../agent/src/user_counts.ts';
import type { UserLimits } from '../kit/src/node_interface.ts';
import { sizesFrom } from './flags.ts';
import { report } from './goals.ts';
import { median } from './load.ts';

const { entries, rounds } = sizesFrom({ entries: 1_000_000, rounds: 7 });
const now = Math.floor(Date.now() / 1000);
const expiry = now + 86_400;
const pair = generateKeyPairSync('ed25519');
const publicKey = pair.publicKey.export({ format: 'jwk' }).x as string;

const rules: Rules = {
  connect_ports: [80, 443, 8080, 8443].map((port) => ({ first: port, last: port })),
  http_ports: [{ first: 80, last: 80 }],
  allowed: [],
  staleness_seconds: 86_400,
};

function headerOf(account: number, lifetime_seconds: number): string {
  const claims = JSON.stringify([1, 'k1', account, 1, 1, now + lifetime_seconds]);
  const payload = Buffer.from(claims).toString('base64url');
  const signature = sign(null, Buffer.from(payload), pair.privateKey).toString('base64url');
  return `Basic ${Buffer.from(`alice:ewt_${payload}.${signature}`).toString('base64')}`;
}

const address = (index: number) =>
  index % 4 === 3
    ? `2001:db8:${(index >> 16).toString(16)}:${(index & 0xffff).toString(16)}::1`
    : `${11 + (index >> 24)}.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;

/** A hundred entries for each account, a tenth of them its custom DNS. */
function fill(entries: number, limits?: UserLimits): Policy {
  const policy = new Policy();
  policy.heard_at = now;
  policy.apply({
    kind: 'server',
    value: {
      name: 'fra1',
      hostname: 'fra1.example.net',
      services: ['proxy'],
      port_schemes: [{ name: 'default', bases: [{ base: 10_000, service: 'proxy' }] }],
      exit_ips: [{ ip: '198.51.100.1', port_base: 1 }],
    },
  });
  policy.apply({ kind: 'keys', value: [{ kid: 'k1', public_key: publicKey }] });
  for (let index = 0; index < entries; index++) {
    const account = 1 + Math.floor(index / 100);
    const id = 1 + (index % 100);
    if (id === 1) {
      const contract = { name: `c${account}`, expiry, suspended: false, blocked: false };
      policy.apply({ kind: 'contract', account, value: { ...contract, port_scheme: 'default' } });
      const user = { name: 'alice', active: true, proxy: true, token_version: 1 };
      const value = limits ? { ...user, limits } : user;
      policy.apply({ kind: 'user', account, id: 1, value });
    }
    policy.apply({ kind: 'authlist', account, id, value: { ip: address(index), user: 1, expiry } });
    if (id % 10 === 0) {
      const value = { hostname: `host${id}.example.com`, ip: '8.8.8.8', expiry };
      policy.apply({ kind: 'override', account, id, value });
    }
  }
  return policy;
}

/** A request, with the header that its credentials are still to be read from. */
type Ask = (index: number) => ProxyRequest & { header: string | undefined };
const decisionCount = 20_000;

/**
 * Nanoseconds for each decision, counted by `tally` and by `users` as engines do. Every text is new
 * to the machine, as one from the network is.
 */
function measure(
  policy: Policy,
  ask: Ask,
  count = decisionCount,
  tally?: DecisionTally,
  users?: UserCounts,
): number {
  const requests = Array.from({ length: count }, (_, index) => ask(index));
  const before = performance.now();
  for (const request of requests) {
    const start = tally && performance.now();
    request.credentials = readCredentials(request.header);
    const decision = decide(policy, rules, request, now);
    if (decision.verdict !== 'allow') throw new Error('refused');
    if (users?.isConcerned(request.source, decision.authority)) {
      const { source } = request;
      const reason = users.objectionTo(source, decision.authority, now, source);
      if (reason) throw new Error(reason);
      users.admit(source, source, decision.authority, now);
    }
    if (!tally || start === undefined) continue;
    tally.noteTime((performance.now() - start) / 1000);
    tally.note(decision.authority.by);
  }
  return ((performance.now() - before) * 1e6) / count;
}

const fresh = (text: string) => Buffer.from(text).toString('latin1');
const plain = {
  kind: 'request' as const,
  method: 'CONNECT',
  destination_port: 443,
  credentials: undefined,
  header: undefined,
};
function works(entries: number): Array<[string, Ask, number?]> {
  const spread = (index: number) => Math.floor((index * entries) / decisionCount) % entries;
  const host = () => fresh('www.example.com');
  const source = (index: number) => fresh(address(spread(index)));
  const headers = Array.from({ length: 10 }, (_, index) => headerOf(index + 1, 60));
  let lifetime_seconds = 100;
  return [
    ['address', (index) => ({ ...plain, source: source(index), port: 10_001, host: host() })],
    [
      'address, custom DNS',
      (index) => {
        const hostname = fresh('Host10.example.com');
        return { ...plain, source: source(index), port: 10_501, host: hostname };
      },
    ],
    [
      'token seen before',
      (index) => {
        const header = fresh(headers[index % 10] as string);
        return { ...plain, source: '192.0.2.1', port: 10_001, host: host(), header };
      },
    ],
    [
      'token first seen',
      () => {
        const header = headerOf(1, lifetime_seconds++);
        return { ...plain, source: '192.0.2.1', port: 10_001, host: host(), header };
      },
      200,
    ],
  ];
}

const sizes = [1000, entries] as const;
const [few, many] = [fill(sizes[0]), fill(sizes[1])];
const [fewWorks, manyWorks] = [works(sizes[0]), works(sizes[1])];
console.log(`${rounds} alternating rounds, medians: nanoseconds for each decision`);
for (const [at, [name, ask, count]] of fewWorks.entries()) {
  const [, askMany] = manyWorks[at] as [string, Ask];
  const [a, b]: [number[], number[]] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    const cost = [measure(few, ask, count), measure(many, askMany, count)] as const;
    // The first round warms up.
    if (round > 0) {
      a.push(cost[0]);
      b.push(cost[1]);
    }
  }
  report({
    work: `a decision: ${name}, ${sizes[1]} entries`,
    ours: median(b),
    unit: 'ns',
    peer: { name: `${sizes[0]} entries`, value: median(a) },
  });
}

/** The most that a counted decision may take of one that is not. */
const maxRatio = 2;
const [, ask] = fewWorks[0] as [string, Ask];
const [bare, counted]: [number[], number[]] = [[], []];
for (let round = 0; round <= rounds; round++) {
  const cost = [measure(few, ask), measure(few, ask, decisionCount, new DecisionTally())] as const;
  if (round === 0) continue;
  bare.push(cost[0]);
  counted.push(cost[1]);
}
report({
  work: 'a decision by address, counted and timed',
  ours: median(counted),
  unit: 'ns',
  peer: { name: 'not counted', value: median(bare) },
  goal: { atMost: maxRatio },
});

/** The most that limits of users may add to a decision about a user without any: a twentieth. */
const maxRatioOfLimits = 1.05;
const limits = { connections: 1_000_000, addresses: 1000, address_seconds: 60, until: expiry };
const limited = fill(sizes[0], limits);
const [without, unlimited, withLimits]: [number[], number[], number[]] = [[], [], []];
// The difference is small beside the noise, so these rounds are more.
for (let round = 0; round <= 5 * rounds; round++) {
  const of = (policy: Policy, users?: UserCounts) =>
    measure(policy, ask, decisionCount, new DecisionTally(), users);
  const cost = [
    of(few),
    of(few, new UserCounts(() => few)),
    of(limited, new UserCounts(() => limited)),
  ] as const;
  if (round === 0) continue;
  without.push(cost[0]);
  unlimited.push(cost[1]);
  withLimits.push(cost[2]);
}
const notCounted = { name: 'not counted by user', value: median(without) };
report({
  work: 'a decision about a user without limits',
  ours: median(unlimited),
  unit: 'ns',
  peer: notCounted,
  goal: { atMost: maxRatioOfLimits },
});
report({
  work: 'a decision about a user with limits on connections and addresses',
  ours: median(withLimits),
  unit: 'ns',
  peer: notCounted,
});
