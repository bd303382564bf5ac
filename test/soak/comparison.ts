// The end of a history: bytes, decisions and records are compared, each with what else knows them.
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { policyFolder } from '../../agent/src/identity.ts';
import type { ProxyRequest } from '../../agent/src/policy/decision.ts';
import { statusOf } from '../../agent/src/policy/denials.ts';
import type { NodeRecord } from '../../agent/src/policy/records.ts';
import { Replica } from '../../agent/src/store/replica.ts';
import { type Issued, Oracle } from '../../agent/test/oracle.ts';
import { TestNode } from '../../server/test/node.ts';
import type { Sum } from '../system/tally.ts';
import type { Through } from '../system/traffic.ts';
import { schemePorts } from '../system/world.ts';
import { decisionOf, type Player, patienceSeconds, type Scene } from './scene.ts';

const anywhere = [{ first: 1, last: 65_535 }];
const rules = {
  ...{ connect_ports: anywhere, http_ports: anywhere, allowed: [] },
  staleness_seconds: 86_400,
};

/** Takes the snapshots of a server, as a node that serves nobody. */
export async function snapshotReader(
  scene: Pick<Scene, 'world' | 'node'>,
): Promise<() => Promise<NodeRecord[]>> {
  const { control } = scene.world;
  const invited = await control.command('node', 'invite', scene.node.server, '--json');
  const { code } = JSON.parse(invited.stdout) as { code: string };
  const node = await TestNode.invited(control.node_url, code, 'reader');
  return async () => (await node.snapshot()) as NodeRecord[];
}

/** All differences, a line each. */
export async function compare(scene: Scene, read: () => Promise<NodeRecord[]>): Promise<string[]> {
  const bytes = (await Promise.all(scene.players.map((player) => bytesOf(scene, player)))).flat();
  const records = await untilSame(() => recordsOf(scene, read));
  const decisions = await untilSame(() => decisionsOf(scene, read));
  return [...bytes, ...records, ...decisions];
}

/** The latest changes may be on their way: the differences that stay. */
async function untilSame(look: () => Promise<string[]>): Promise<string[]> {
  const over = performance.now() + patienceSeconds * 1000;
  for (;;) {
    const differences = await look().catch((error: Error) => [error.message]);
    if (differences.length === 0 || performance.now() > over) return differences;
    await sleep(500);
  }
}

// ---- Bytes --------------------------------------------------------------------------------

async function bytesOf(scene: Scene, { customer, tally }: Player): Promise<string[]> {
  return billDifferences(customer.name, await finallyBilled(scene, customer), tally.bounds);
}

/** Where a bill is not what the clients counted. */
export function billDifferences(
  name: string,
  billed: Sum,
  { min, max }: { min: Sum; max: Sum },
): string[] {
  return (['up', 'down'] as const).flatMap((way) =>
    min[way] <= billed[way] && billed[way] <= max[way]
      ? []
      : [`${name} ${way}: billed ${billed[way]}, seen ${min[way]} to ${max[way]}`],
  );
}

/**
 * The bill, when it has not changed for longer than an agent that has just started takes to count,
 * and to report first.
 */
async function finallyBilled({ world }: Scene, customer: Player['customer']): Promise<Sum> {
  let billed = await world.control.billed(customer);
  for (let same = 0; same < 12; ) {
    await sleep(500);
    const before = billed;
    billed = await world.control.billed(customer);
    same = isDeepStrictEqual(before, billed) ? same + 1 : 0;
  }
  return billed;
}

// ---- Records ------------------------------------------------------------------------------

/** The records that the node holds, against those that it would be sent. */
async function recordsOf({ node }: Scene, read: () => Promise<NodeRecord[]>): Promise<string[]> {
  const replica = new Replica(policyFolder(node.agent.state_dir));
  await replica.load();
  const held = textsOf(replica.policy.records());
  replica.close();
  const wanted = textsOf(await read());
  const lacking = [...wanted].filter((text) => !held.has(text)).map((text) => `lacks ${text}`);
  const strange = [...held].filter((text) => !wanted.has(text)).map((text) => `holds ${text}`);
  return [...lacking, ...strange].map((difference) => `${node.agent.name} ${difference}`);
}

/** An end by its own count is the node's alone, and passes. */
function textsOf(records: Iterable<NodeRecord>): Set<string> {
  const texts = new Set<string>();
  for (const record of records) {
    if (record.kind !== 'limit_reached') texts.add(canonical(record));
  }
  return texts;
}

/** As JSON, whatever the order of its members. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, item) =>
    item && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

// ---- Decisions ----------------------------------------------------------------------------

/** The proxy's answer to a real request, explain's, and the oracle's. */
async function decisionsOf(scene: Scene, read: () => Promise<NodeRecord[]>): Promise<string[]> {
  const { world, players } = scene;
  const records = await read();
  const differences: string[] = [];
  for (const { customer, byAddress, byToken } of players) {
    for (const by of [byAddress, byToken]) {
      const answers = {
        engine: await decisionOf(world, by),
        explain: await explained(scene, by),
        oracle: evaluated(scene, by, records),
      };
      if (new Set(Object.values(answers)).size === 1) continue;
      const way = by.credentials === undefined ? 'address' : 'token';
      differences.push(`${customer.name} by ${way}: ${JSON.stringify(answers)}`);
    }
  }
  return differences;
}

function requestOf({ world }: Scene, { from, credentials = '' }: Through): ProxyRequest {
  const [user = '', password = ''] = credentials.split(':');
  return {
    kind: 'request',
    source: from,
    port: schemePorts.normal,
    method: 'GET',
    host: world.origin.host,
    destination_port: world.origin.http_port,
    credentials: credentials === '' ? undefined : { user, password },
  };
}

async function explained(scene: Scene, by: Through): Promise<string> {
  const { kind: _, source, credentials, ...request } = requestOf(scene, by);
  const token = credentials ? { user: credentials.user, token: credentials.password } : {};
  const path = `/servers/${scene.node.server}/explain`;
  const question = { ...request, from: source, ...token };
  const { verdict, status, reason } = await scene.world.control.do('POST', path, question);
  return verdict === 'allow' ? '200' : `${status} ${reason}`;
}

function evaluated(scene: Scene, by: Through, records: NodeRecord[]): string {
  const request = requestOf(scene, by);
  const { host } = request;
  const oracle = new Oracle(
    {
      issued: issuedBy(records, request.credentials?.password),
      destinations: new Map([[host, { ip: host }]]),
      allowed: [[host, host]],
    },
    rules,
  );
  for (const record of records) oracle.receive(record);
  const now = Math.floor(Date.now() / 1000);
  oracle.heard_at = now;
  const evaluation = oracle.evaluate(request, now);
  return 'reason' in evaluation ? `${statusOf(evaluation.reason)} ${evaluation.reason}` : '200';
}

/** The token as the control plane meant it, by its own text. */
function issuedBy(records: NodeRecord[], token: string | undefined): Map<string, Issued> {
  const [, payload] = /^ewt_([\w-]+)\./.exec(token ?? '') ?? [];
  const keys = records.flatMap((record) => (record.kind === 'keys' ? record.value : []));
  if (token === undefined || payload === undefined) return new Map();
  const [, kid, account, user, token_version, expiry] = JSON.parse(
    Buffer.from(payload, 'base64url').toString(),
  );
  const key = keys.find((key) => key.kid === kid);
  return key ? new Map([[token, { key, account, user, token_version, expiry }]]) : new Map();
}
