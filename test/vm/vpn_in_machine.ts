// The VPN on a kernel that seals the packets itself, as nodes have it: a program, since a test
// runner takes too long in an emulated machine.
// It prints a line for each thing that it tries, `ok NAME` or `not ok NAME`.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import pino from 'pino';
import { systemClock } from '../../agent/src/clock.ts';
import type { FoundUse } from '../../agent/src/connection_log/find_uses.ts';
import type { OpenConnection } from '../../agent/src/engine.ts';
import type { Fault } from '../../agent/src/faults.ts';
import type { NodeRecord } from '../../agent/src/policy/records.ts';
import { readIfThere } from '../../agent/src/vpn/daemon.ts';
import { Vici } from '../../agent/src/vpn/vici.ts';
import { forgedPort, type Packet } from '../../agent/test/forged_packets.ts';
import { L2tpClient } from '../../agent/test/l2tp_client.ts';
import {
  contractRecord,
  createSigningKey,
  now,
  signToken,
  userRecord,
} from '../../agent/test/node_records.ts';
import {
  type Batch,
  Forgeries,
  fromClient,
  fromNeighbour,
  fromNode,
  inFlowsOf,
  type Tunnel,
} from '../../agent/test/vpn_forgeries.ts';
import { type KeyPart, type Keys, keysAt, renew } from '../../agent/test/vpn_keys.ts';
import {
  exits,
  passwordOf,
  privateIp,
  vpnRecords,
  type Words,
} from '../../agent/test/vpn_scene.ts';
import { VpnWorld } from '../../agent/test/vpn_world.ts';
import type { UsageRow, VpnHealthReport } from '../../kit/src/node_interface.ts';
import { builtIn } from '../vpn_words.ts';

// The node that it starts has most of these modules, too.
flushCompileCache();
const world = new VpnWorld();
const key = createSigningKey('k1');
const keys: NodeRecord = { kind: 'keys', value: [key.public] };
const token = (account: number) =>
  signToken(key, [1, 'k1', account, 1, 1, Math.floor(now()) + 3600]);
const overL2tp = builtIn.filter(({ service }) => service === 'vpn-l2tp');
const other = { login: 'alice@contract2', password: passwordOf(2) };

/** Bytes billed so far, by account. */
const billed = new Map<number, { up: number; down: number }>();
const billedOf = (account: number) => billed.get(account) ?? { up: 0, down: 0 };

let hasFailed = false;

async function tick(): Promise<void> {
  for (const { account, up, down } of await world.node.ask<UsageRow[]>({ do: 'tick' })) {
    const sum = billedOf(account);
    billed.set(account, { up: sum.up + up, down: sum.down + down });
  }
}

/**
 * As an agent counts, half as often: it starts two processes. While the agent is restarted nobody
 * counts.
 */
async function count(): Promise<never> {
  for (;;) {
    await tick().catch(() => undefined);
    await systemClock.sleep(2);
  }
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  // Longer than a client is patient, twice.
  const until = systemClock.steady() + 150;
  while (!(await holds())) {
    assert(systemClock.steady() < until, `not in time: ${what}`);
    await systemClock.sleep(0.2);
  }
}

async function tryUntil(what: string, work: () => Promise<unknown>): Promise<void> {
  await until(what, () =>
    work().then(
      () => true,
      () => false,
    ),
  );
}

/**
 * Logs in by L2TP. A client that gives up before an answer, as one on a busy machine may, tries
 * again. Errors: it is refused.
 */
async function connect(options: Parameters<L2tpClient['connect']>[0]): Promise<void> {
  await until('a login by L2TP', () =>
    l2tp.connect(options).then(
      () => true,
      (error: Error) => {
        if (/authentication failed/.test(error.message)) throw error;
        return false;
      },
    ),
  );
}

/** The keys under L2TP, once both sides have the same. */
async function keysByL2tp(): Promise<Keys | undefined> {
  const [there, here] = [await keysAt(charon, '198.18.2.2'), await keysAt(world.client(2).vici)];
  return JSON.stringify(there) === JSON.stringify(here) ? there : undefined;
}

/** Waits for other keys than these; traffic goes on with them. */
async function otherKeysByL2tp(part: KeyPart, before: Keys | undefined): Promise<void> {
  await until(`other keys of ${part}`, async () => {
    const after = await keysByL2tp();
    return after !== undefined && after[part] !== before?.[part];
  });
  assert.equal(world.client(2).fetch({ down: 10, seconds: 30 }).from, exits[0]);
}

async function renewByL2tp(part: KeyPart): Promise<void> {
  const before = await keysByL2tp();
  await renew(world.client(2).vici, part);
  await otherKeysByL2tp(part, before);
}

async function idle(): Promise<void> {
  const tunnels = async () =>
    (await world.node.ask<{ tunnels?: number }>({ do: 'counts' })).tunnels;
  await until('no tunnels', async () => (await tunnels()) === 0);
  for (let count = 0; count < 3; count += 1) await tick();
}

const logs = () =>
  readFileSync(join(world.dir, 'node', 'agent.log'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { msg: string; reason?: string; service?: string });
const lastDenial = () => logs().findLast(({ msg }) => msg === 'a VPN login was denied');

async function openByL2tp(): Promise<OpenConnection[]> {
  const connections = await world.node.ask<OpenConnection[]>({ do: 'connections' });
  return connections.filter(({ service }) => service === 'vpn-l2tp');
}

/** How many processes of pppd the node has. */
function pppdsOfNode(): number {
  const folder = join(world.dir, 'node', 'vpn', 'l2tp');
  const lines = readdirSync('/proc').map((pid) => readIfThere(`/proc/${pid}/cmdline`) ?? '');
  return lines.filter((line) => /^\S*pppd\0/.test(line) && line.includes(folder)).length;
}

/**
 * Bytes of IP packets that went through the device of a client's tunnel: PPP counts what it
 * negotiates elsewhere.
 */
function bytesAt(name: string, device: string): { up: number; down: number } {
  const [link] = JSON.parse(world.run(name, 'ip', '-json', '-statistics', 'link', 'show', device));
  const { tx, rx } = (link as { stats64: Record<'tx' | 'rx', { bytes: number }> }).stats64;
  return { up: tx.bytes, down: rx.bytes };
}

async function attempt(name: string, work: () => Promise<void>): Promise<void> {
  const start = systemClock.steady();
  try {
    await work();
    console.log(`ok ${name} (${(systemClock.steady() - start).toFixed(1)} s)`);
  } catch (error) {
    hasFailed = true;
    console.log(`not ok ${name}\n${(error as Error).stack}`);
  }
}

await world.start(2);
await world.apply(...vpnRecords(), keys);
void count();
const charon = new Vici(join(world.dir, 'node', 'vpn', 'charon.vici'), pino({ level: 'silent' }));
const l2tp = new L2tpClient(world, 'client2', world.client(2));

await attempt('the node has no fault', async () => {
  const faults = () => world.node.ask<Fault[]>({ do: 'faults' });
  await tryUntil('a first login', () => world.client(1).connect());
  await world.client(1).disconnect();
  assert.deepEqual(await faults(), []);
});

await attempt('each service is well at each exit', async () => {
  const health = () => world.node.ask<Partial<VpnHealthReport>>({ do: 'health' });
  await until('six of them', async () => {
    const { services = [] } = await health();
    return services.filter(({ status }) => status === 'ok').length === 3 * exits.length;
  });
});

await attempt(
  'vpn-ikev2: bytes are billed as the client counts them, and leave from the exit',
  async () => {
    const client = world.client(1);
    for (const exit of exits) {
      await client.connect({ exit });
      assert.deepEqual(client.fetch({ down: 50_000, seconds: 30 }), { from: exit, down: 50_000 });
      client.fetch({ up: 20_000, seconds: 30 });
      await client.settle();
    }
    const { up, down } = await client.tunnelBytes();
    await client.disconnect();
    await idle();
    // Of the two tunnels the second one is asked; the first one carried as much within a packet or
    // two.
    const sum = billedOf(1);
    assert(sum.down > 1.9 * down && sum.down < 2.1 * down, JSON.stringify([sum, down]));
    assert(sum.up > 1.8 * up && sum.up < 2.2 * up, JSON.stringify([sum, up]));
  },
);

await attempt('a client that asks for IPv6 gets a tunnel of a node that has none', async () => {
  world.setIpv6(true, { node: false });
  await world.client(1).connect({ ipv6: true });
  assert.equal(world.client(1).fetch({ down: 10, seconds: 30 }).from, exits[0]);
  await world.client(1).disconnect();
});

await attempt('IPv6 inside the tunnel is rejected at once, and IPv4 goes on', async () => {
  world.setIpv6(true, { route: true });
  await world.client(1).connect({ ipv6: true });
  const { from } = world.client(1).fetch({ down: 10, seconds: 30 });
  assert.equal(from, exits[0]);
  const start = systemClock.steady();
  assert.throws(() => world.client(1).fetch({ host: '[2001:470::1]', seconds: 60 }));
  assert(systemClock.steady() - start < 30);
  const rules = world.run('node', 'nft', 'list', 'table', 'inet', 'exitward_vpn');
  assert.match(rules, /ip6 saddr fd65\S+ counter packets [1-9]\d* bytes \d+ reject/);
  await world.client(1).disconnect();
  world.setIpv6(false);
});

await attempt('vpn-ikev1: a proxy access token opens it', async () => {
  await world.client(1).connect({ service: 'vpn-ikev1', password: token(1) });
  assert.equal(world.client(1).fetch({ down: 10, seconds: 30 }).from, exits[0]);
  await world.client(1).disconnect();
});

await attempt(
  'vpn-l2tp: a login by MS-CHAPv2 is billed to the byte, and leaves from the exit',
  async () => {
    await connect({ ...other, exit: exits[1] });
    const bytes = () => bytesAt('client2', l2tp.device());
    const before = bytes();
    assert.deepEqual(world.client(2).fetch({ down: 50_000, seconds: 30 }), {
      from: exits[1],
      down: 50_000,
    });
    world.client(2).fetch({ up: 20_000, seconds: 30 });
    let after = bytes();
    await until('nothing moves', async () => {
      const last = after.up + after.down;
      await systemClock.sleep(2);
      after = bytes();
      return after.up + after.down === last;
    });
    await l2tp.disconnect();
    await idle();
    const expected = { up: after.up - before.up, down: after.down - before.down };
    assert.deepEqual(billedOf(2), expected);
  },
);

await attempt('vpn-l2tp: a proxy access token opens it, with PAP', async () => {
  await connect({ login: 'alice@contract2', password: token(2), method: 'pap' });
  assert.equal(world.client(2).fetch({ down: 10, seconds: 30 }).from, exits[0]);
});

await attempt(
  'two tunnels at once: neither reaches the other, the node, private addresses or mail',
  async () => {
    const { address } = await world.client(1).connect();
    for (const host of [privateIp, address, exits[1], '203.0.113.1']) {
      assert.throws(() => world.client(2).fetch({ host, seconds: 5 }), `by L2TP: ${host}`);
    }
    assert.throws(() => world.client(1).fetch({ host: privateIp, seconds: 5 }));
    assert.equal(world.client(1).fetch({ down: 10, seconds: 30 }).from, exits[0]);
    assert.equal(world.client(2).fetch({ down: 10, seconds: 30 }).from, exits[0]);
  },
);

const forgeries = new Forgeries(world);
/** Of client 1 by IKEv2, and of client 2 by L2TP. */
let tunnels: [Tunnel, Tunnel];

await attempt(
  'a client sends nothing as somebody else by IPv4 and IPv6, whether or not the kernel looks at sources',
  async () => {
    await forgeries.start();
    await world.client(1).connect({ ipv6: true });
    const [address = '', address6] = (await world.client(1).tunnels()).sort();
    const ike = { name: 'client1', device: 'to-node', sealer: world.client(1).sealer() };
    const ppp = { name: 'client2', device: l2tp.device() };
    const own = { address: l2tp.address, exit: exits[0] };
    tunnels = [
      { client: 'client1', address, address6, exit: exits[0], sender: ike, port: 5001 },
      { client: 'client2', ...own, sender: ppp, port: 5002 },
    ];
    const batches = [fromClient(...tunnels), fromClient(tunnels[1], tunnels[0])];
    for (const filter of [0, 2]) {
      world.run('node', 'sysctl', '-qw', `net.ipv4.conf.all.rp_filter=${filter}`);
      const escapes = await forgeries.escapes(tunnels, ...batches);
      assert.deepEqual(escapes, [], `rp_filter=${filter}`);
    }
  },
);

await attempt(
  'neighbours and the node itself reach no tunnel unasked, and send nothing as its client',
  async () => {
    const batches = [fromNeighbour(tunnels), fromNode(tunnels)];
    assert.deepEqual(await forgeries.escapes(tunnels, ...batches), []);
  },
);

await attempt(
  'vpn-l2tp: the next client with an address has none of the flows of the one before',
  async () => {
    const [, former] = tunnels;
    assert.deepEqual(await forgeries.escapes([former]), []);
    await l2tp.disconnect();
    await connect(other);
    assert.equal(l2tp.address, former.address);
    const sender = { name: 'client2', device: l2tp.device() };
    const next = { ...former, sender, port: former.port + 100 };
    assert.deepEqual(await forgeries.escapes([next], inFlowsOf(former).down), []);
  },
);

await attempt('what is sealed for L2TP reaches no other program of the node', async () => {
  const [source, exit] = ['198.18.2.2', exits[0]];
  const [, reqid = ''] =
    new RegExp(`src ${source} dst ${exit}\\s+proto esp spi \\S+ reqid (\\d+)`).exec(
      world.run('client2', 'ip', 'xfrm', 'state'),
    ) ?? [];
  const all = `src ${source} dst ${exit} dir out`;
  const sealed = `tmpl src ${source} dst ${exit} proto esp reqid ${reqid} mode transport`;
  // The firewall in front of the machine lets nothing pass but IPsec.
  world.run(
    'node',
    'nft',
    `table inet front {
      chain front {
        type filter hook prerouting priority -500
        iifname lo accept
        udp dport ${forgedPort} meta ipsec missing drop
        udp dport ${forgedPort} counter
      }
    }`,
  );
  world.ip('client2', `xfrm policy add ${all} priority 1 ${sealed}`);
  const packet: Packet = { source, destination: exit };
  const batch: Batch = [{ name: 'client2' }, [['a packet to another port', packet]]];
  const escapes = await forgeries.escapes([], batch);
  await until('the packet is unsealed', () =>
    / packets [1-9]/.test(world.run('node', 'nft', 'list', 'table', 'inet', 'front')),
  );
  assert.deepEqual([...escapes, ...(await forgeries.escapes([]))], []);
  world.run('node', 'nft', 'delete table inet front');
  world.ip('client2', `xfrm policy delete ${all}`);
  forgeries.stop();
  world.setIpv6(false);
  // The node has seen numbers of packets that its charon has yet to come to.
  await world.client(1).connect();
});

await attempt(
  'a restart of the agent leaves both open, and a suspension ends the one by L2TP alone',
  async () => {
    await world.node.kill();
    assert.equal(world.client(2).fetch({ down: 10, seconds: 30 }).from, exits[0]);
    await world.startNode();
    await world.apply(contractRecord(2, { suspended: true }));
    assert.throws(() => world.client(2).fetch({ down: 10, seconds: 5 }));
    await until('the tunnel by L2TP is ended', () => !l2tp.hasTunnel());
    assert.equal(world.client(1).fetch({ down: 10, seconds: 30 }).from, exits[0]);
  },
);

await attempt(
  'vpn-l2tp: a suspended contract and a wrong password are denied, for one reason each',
  async () => {
    await l2tp.disconnect();
    await assert.rejects(connect(other), /authentication failed/);
    assert.deepEqual(
      [lastDenial()?.service, lastDenial()?.reason],
      ['vpn-l2tp', 'contract_suspended'],
    );
    await l2tp.disconnect();
    await world.apply(contractRecord(2));
    await assert.rejects(
      connect({ ...other, password: 'aaaaa-bbbbb-ccccc-ddddd' }),
      /authentication failed/,
    );
    assert.equal(lastDenial()?.reason, 'bad_token');
    await l2tp.disconnect();
  },
);

await attempt(
  'vpn-l2tp: new keys, as Windows, Apple and NetworkManager begin them, and traffic goes on',
  async () => {
    for (const words of overL2tp) {
      await connect({ ...other, words });
      for (let round = 0; round < 2; round += 1) await renewByL2tp('esp');
      await l2tp.disconnect();
    }
  },
);

await attempt('vpn-l2tp: keys that run out are replaced twice, and traffic goes on', async () => {
  // Never both at once: when two exchanges cross, charon as a client gives one up and starts no
  // other.
  const words = { ...(overL2tp[0] as Words), renewed_after: { ike: 40, esp: 15 } };
  await connect({ ...other, words });
  for (const part of ['esp', 'ike', 'esp', 'ike'] as const) {
    await otherKeysByL2tp(part, await keysByL2tp());
  }
  await l2tp.disconnect();
});

await attempt('L2TP outside IPsec is not responded to', async () => {
  const program = `const s = require('node:dgram').createSocket('udp4'); s.on('message', () => process.exit(1));
    s.send(Buffer.from('c80200140000000000000000800800000000000180080000000000020100', 'hex'), 1701, '${exits[0]}'); setTimeout(() => process.exit(0), 2000)`;
  world.run('client2', process.execPath, '-e', program);
  const dropped = world.run('node', 'nft', 'list', 'chain', 'inet', 'exitward_vpn', 'input');
  assert.match(dropped, /meta ipsec missing .* dport 1701 counter packets [1-9]/);
});

await attempt(
  'vpn-l2tp: an open connection names its user, address and exit, and its ports at the exit name it in the connection log',
  async () => {
    await world.restartNode({ EXITWARD_AGENT_CONNECTION_LOG: 'sources' });
    await world.serving();
    await tryUntil('a login by IKEv2', () => world.client(1).connect({ exit: exits[1] }));
    await connect({ ...other, exit: exits[1] });
    const ports = world.client(2).exitPorts();
    await until('it is listed with its bytes', async () => {
      const [connection, ...others] = await openByL2tp();
      return others.length === 0 && (connection?.down ?? 0) > 0;
    });
    const [connection] = await openByL2tp();
    const { account, user, by } = connection?.authority ?? {};
    assert.deepEqual(
      [account, user, by, connection?.address, connection?.exit_ip],
      [2, 1, 'vpn', '198.18.2.2', exits[1]],
    );
    for (const exit_port of ports) {
      const when = { at: Math.floor(now()), margin_seconds: 60 };
      const question = { exit_ip: exits[1], port: exit_port, ...when };
      const find = () => world.node.ask<FoundUse[]>({ do: 'find', question });
      await until('the log names it', async () => (await find()).length > 0);
      for (const { exit_ports, ...use } of await find()) {
        const { first = 0, last = 0 } = exit_ports ?? {};
        assert(first <= exit_port && exit_port <= last && last - first === 1007, `${exit_port}`);
        assert.deepEqual(
          [use.service, use.account, use.user, use.address, use.unknown],
          ['vpn-l2tp', 2, 1, '198.18.2.2', []],
        );
      }
    }
  },
);

await attempt(
  'vpn-l2tp: an order ends the session that it names, and no other, its pppd is gone, and the client may connect again',
  async () => {
    assert.equal(pppdsOfNode(), 1);
    const order = { service: 'vpn-l2tp', address: '198.18.2.2', exit_ip: exits[1] };
    assert.equal(await world.node.ask({ do: 'end', order: { ...order, account: 1 } }), 0);
    assert.equal(await world.node.ask({ do: 'end', order }), 1);
    assert.throws(() => world.client(2).fetch({ down: 10, seconds: 5 }));
    await until('pppd is gone', () => pppdsOfNode() === 0);
    await until('the client has no tunnel', () => !l2tp.hasTunnel());
    assert.deepEqual(await openByL2tp(), []);
    assert.equal(world.client(1).fetch({ down: 10, seconds: 30 }).from, exits[1]);
    await connect({ ...other, exit: exits[1] });
    assert.equal(world.client(2).fetch({ down: 10, seconds: 30 }).from, exits[1]);
    await l2tp.disconnect();
  },
);

await attempt(
  'vpn-l2tp: a session beyond the limit of the user is refused, and one that ended gives its place back',
  async () => {
    await world.apply(userRecord(2, { limits: { connections: 1 } }));
    await tryUntil('a login by IKEv2', () => world.client(1).connect(other));
    await assert.rejects(connect(other), /authentication failed/);
    assert.deepEqual(
      [lastDenial()?.service, lastDenial()?.reason],
      ['vpn-l2tp', 'too_many_connections'],
    );
    assert.equal(world.client(1).fetch({ down: 10, seconds: 30 }).from, exits[0]);
    await l2tp.disconnect();
    await world.client(1).disconnect();
    await tryUntil('a login by L2TP', () => connect(other));
    assert.equal(world.client(2).fetch({ down: 10, seconds: 30 }).from, exits[0]);
    await l2tp.disconnect();
    await world.apply(userRecord(2));
    await tryUntil('a login by IKEv2', () => world.client(1).connect());
  },
);

await attempt(
  'charon and xl2tpd that are killed are there again, and their clients log in anew',
  async () => {
    await connect(other);
    const numberIn = (file: string) =>
      Number(readFileSync(join(world.dir, 'node/vpn', file), 'utf8'));
    for (const pid of [world.charonPid(), ...exits.map((exit) => numberIn(`l2tp/${exit}.pid`))]) {
      process.kill(pid, 'SIGKILL');
    }
    await l2tp.disconnect();
    await tryUntil('a login by IKEv2', () => world.client(1).connect());
    await tryUntil('a login by L2TP', () => connect(other));
    for (const client of [1, 2]) {
      assert.equal(world.client(client).fetch({ down: 10, seconds: 30 }).from, exits[0]);
    }
    await l2tp.disconnect();
  },
);

await attempt(
  'loss and delay: new keys in the middle of a transfer cost no byte and no session',
  async () => {
    const client = world.client(1);
    const ends = { client1: 'to-node', node: 'to-client1' };
    const netem = (verb: 'add' | 'delete', ...how: string[]) => {
      for (const [name, device] of Object.entries(ends)) {
        world.run(name, 'tc', 'qdisc', verb, 'dev', device, 'root', ...how);
      }
    };
    netem('add', 'netem', 'delay', '30ms', 'loss', '2%');
    const before = await keysAt(client.vici);
    const transfer = world.spawn('client1', [
      ...['curl', '-sS', '--noproxy', '*', '--max-time', '90', '--limit-rate', '30k'],
      ...['-o', '/dev/null', '-w', 'ready %{size_download}', 'http://9.9.9.9:8080/300000'],
    ]);
    let output = '';
    transfer.stdout?.on('data', (bytes) => {
      output += bytes;
    });
    await systemClock.sleep(1);
    for (const part of ['esp', 'ike'] as const) {
      await tryUntil(`new keys of ${part}`, () => renew(client.vici, part));
    }
    await until('other keys', async () => {
      const after = await keysAt(client.vici);
      return after !== undefined && after.ike !== before?.ike && after.esp !== before?.esp;
    });
    await until('the transfer is over', () => output.includes('ready'));
    assert.equal(output, 'ready 300000');
    await tick();
    const sum = billedOf(1).down;
    // The client hears once that it is over.
    netem('delete');
    await world.apply(contractRecord(1, { suspended: true }));
    await until('the tunnel is ended', async () => (await client.tunnels()).length === 0);
    assert(sum > 300_000, String(sum));
  },
);

if (hasFailed) console.log(readFileSync(join(world.dir, 'node', 'agent.log'), 'utf8'));
await world.stop();
process.exit(hasFailed ? 1 : 0);
