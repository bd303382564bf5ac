// A network that falls apart: three nodes on machines of their own lose the control plane, each in
// another way.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../server/test/waiting.ts';
import { AgentProcess, type EngineName } from './system/agent_process.ts';
import { ControlPlaneProcess, type Customer, inAnHour } from './system/control_plane.ts';
import { type Front, startFront } from './system/front.ts';
import { type Cut, Island, islandNetwork } from './system/island.ts';
import { Tally } from './system/tally.ts';
import { ask, type Origin, openTunnel, startOrigin } from './system/traffic.ts';
import { through } from './system/world.ts';

/** Nothing is heard for so long, at most; and a moment to notice. */
const silenceSeconds = 40 + 5;

const kinds: Array<{ cut: Cut; engine: EngineName }> = [
  { cut: 'link down', engine: 'embedded' },
  { cut: 'nothing comes in', engine: 'embedded' },
  { cut: 'nothing goes out', engine: 'squid' },
];

interface Member {
  cut: Cut;
  island: Island;
  server: string;
  agent: AgentProcess;
  /** Requests that tell whether it serves, of clients that are known before and after the cut. */
  early(): Promise<string>;
  late(): Promise<string>;
  /** A tunnel that counts: there is one from before the cut, and new ones. */
  transfer(): Promise<void>;
}

let control: ControlPlaneProcess;
let front: Front;
let origin: Origin;
let watcher: Customer;
let counted: Customer;
const islands: Island[] = [];
const agents: AgentProcess[] = [];
const members: Member[] = [];
const tally = new Tally();

beforeAll(async () => {
  control = await ControlPlaneProcess.start();
  origin = await startOrigin('0.0.0.0');
  for (const number of kinds.keys()) islands.push(new Island(number));
  front = await startFront(
    control.node_url,
    islands.map(({ control_ip }) => control_ip),
  );
  for (const [index, kind] of kinds.entries()) await addMember(islands[index] as Island, kind);
});

afterAll(async () => {
  await Promise.allSettled([
    ...agents.map((agent) => agent.remove()),
    front?.stop(),
    control?.remove(),
    origin?.stop(),
  ]);
  for (const island of islands) island.remove();
});

async function addMember(island: Island, { cut, engine }: (typeof kinds)[0]): Promise<void> {
  const server = `srv${agents.length + 1}`;
  await control.addServer(server, island.ip);
  watcher ??= await control.addCustomer('watcher', server);
  counted ??= await control.addCustomer('counted', server);
  for (const { name } of [watcher, counted]) {
    await control.do('PUT', `/accounts/${name}/servers/${server}`, {});
  }
  const place = { listen_host: island.ip, port_shift: 0, exit_ip: island.ip };
  const settings = {
    EXITWARD_AGENT_ALLOW_DESTINATIONS: islandNetwork,
    NODE_EXTRA_CA_CERTS: front.ca_file,
  };
  const url = `https://${island.control_ip}:${front.port}`;
  const { namespace } = island;
  const options = { engine, server, name: cut.replaceAll(' ', '-'), place, settings, url };
  const agent = await AgentProcess.join(control, { ...options, namespace });
  agents.push(agent);
  await agent.follow();
  const credentials = await counted.credentials();
  const target = `${island.client_ip}:${origin.tunnel_port}`;
  const page = `http://${island.client_ip}:${origin.http_port}/10`;
  const decisionFor = async (from: string) => {
    const { status, reason } = await ask(through(place, from), 'GET', page);
    return reason === undefined ? `${status}` : `${status} ${reason}`;
  };
  await watcher.api.post('/contract/ip-authlist', authlistEntry(island.client_ip));
  const open = () => openTunnel(through(place, island.client_ip, { credentials }), target);
  const steady = await open();
  tally.addWhole({ up: steady.sent, down: steady.received });
  members.push({
    ...{ cut, island, server, agent },
    early: () => decisionFor(island.client_ip),
    late: () => decisionFor(island.late_client_ip),
    async transfer() {
      const before = { up: steady.sent, down: steady.received };
      await steady.transfer(50_000, 70_000);
      tally.addWhole({ up: steady.sent - before.up, down: steady.received - before.down });
      const other = await open();
      await other.transfer(1000, 2000);
      await other.close();
      tally.addWhole({ up: other.sent, down: other.received });
    },
  });
}

const authlistEntry = (ip: string) => ({ user: 'alice', ip, expiry: inAnHour() });

interface NodeRow {
  server: string;
  live: boolean;
  lag: number;
}

const nodes = async () => (await control.do('GET', '/nodes')) as NodeRow[];
const each = <T>(action: (member: Member) => Promise<T>) => Promise.all(members.map(action));

async function addEntries(hostname: string): Promise<number[]> {
  const entry = { hostname, ip: '192.0.2.1', expiry: inAnHour() };
  const added = await each(({ server }) =>
    watcher.api.post('/contract/overrides', { server, ...entry }),
  );
  return added.map(({ body }) => body.id as number);
}

async function statusesOf(ids: number[]): Promise<string[]> {
  const shown = await Promise.all(ids.map((id) => watcher.api.get(`/contract/overrides/${id}`)));
  return shown.map(({ body }) => body.status as string);
}

test('nodes that are cut off serve on by what they know, notice it, and are one with the others when it is over', async () => {
  await each(({ early }) => until(async () => (await early()) === '200'));
  await each(({ transfer }) => transfer());
  const before = await addEntries('before.example');
  await until(async () => (await statusesOf(before)).every((status) => status === 'active'));

  const start = performance.now();
  for (const { island, cut } of members) island.cut(cut);
  for (const { island } of members) {
    const listed = await watcher.api.post(
      '/contract/ip-authlist',
      authlistEntry(island.late_client_ip),
    );
    expect(listed.status).toBe(201);
  }
  const during = await addEntries('during.example');
  await each(({ transfer }) => transfer());
  expect(await each(({ early }) => early())).toEqual(['200', '200', '200']);
  expect(await statusesOf(during)).toEqual(['pending', 'pending', 'pending']);
  const noticed = await each(async ({ agent, cut }) => {
    await agent.until(({ state }) => state === 'connecting', silenceSeconds);
    return `${cut}: ${((performance.now() - start) / 1000).toFixed(1)} s`;
  });
  console.log(`noticed after: ${noticed.join(', ')}`);
  await until(async () => (await nodes()).every(({ live }) => !live), silenceSeconds);
  expect(await each(({ early }) => early())).toEqual(['200', '200', '200']);
  // Changes that are sent before the first answer is missed may still reach the node that cannot be
  // heard.
  const deaf = members.filter(({ cut }) => cut !== 'nothing goes out');
  for (const { late } of deaf) expect(await late()).toBe('407 unknown_address');
  await each(({ transfer }) => transfer());

  const healed = performance.now();
  for (const { island, cut } of members) island.heal(cut);
  await each(({ late }) => until(async () => (await late()) === '200', 45));
  await until(async () => (await nodes()).every(({ live, lag }) => live && lag === 0), 45);
  console.log(`one again after ${((performance.now() - healed) / 1000).toFixed(1)} s`);
  expect(await statusesOf([...before, ...during])).toEqual(Array(6).fill('active'));
  await each(({ transfer }) => transfer());
  const isBilled = async () => {
    const { up, down } = await control.billed(counted);
    return up >= tally.sum.up && down >= tally.sum.down;
  };
  await until(isBilled, 45);
  expect(await control.billed(counted)).toEqual(tally.sum);
});
