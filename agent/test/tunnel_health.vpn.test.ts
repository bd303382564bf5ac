// The health of VPN services with a real charon in a namespace: it is asked like clients begin, and
// keeps no state of that.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { VpnHealthReport } from '../../kit/src/node_interface.ts';
import { newCertificate } from '../../server/test/certificate.ts';
import { deepTest } from '../../test/deep_test.ts';
import { systemClock } from '../src/clock.ts';
import type { Fault } from '../src/faults.ts';
import { firewallRules } from '../src/firewall.ts';
import { findKernelLack } from '../src/vpn/machine.ts';
import { Vici, type ViciMessage } from '../src/vpn/vici.ts';
import { halt, now, until } from './proxy_world.ts';
import { exits, hostname, vpnRecords, vpnServer } from './vpn_scene.ts';
import { VpnWorld } from './vpn_world.ts';

const world = new VpnWorld();
const path = (name: string) => join(world.dir, name);

beforeAll(() => world.start(1));
afterAll(() => world.stop());

type Health = Partial<VpnHealthReport> & { faults: Fault[] };
const check = () => world.node.ask<Health>({ do: 'health' });
/** Each service at each exit, as in `vpn-ikev2 203.0.113.1 ok`. */
const statuses = ({ services = [] }: Health) =>
  services.map(({ service, ip, status }) => `${service} ${ip} ${status}`).sort();
const everywhere = (ikev2: string, ikev1 = ikev2) =>
  exits.flatMap((ip) => [`vpn-ikev2 ${ip} ${ikev2}`, `vpn-ikev1 ${ip} ${ikev1}`]).sort();
const sentences = ({ faults }: Health) => faults.map(({ message }) => message).sort();

const charon = (name: string, message: ViciMessage = {}) => {
  const vici = new Vici(path('node/vpn/charon.vici'), pino({ level: 'silent' }));
  return vici.command(name, message).finally(() => vici.close());
};
async function halfOpen(): Promise<string> {
  const { ikesas } = (await charon('stats')) as { ikesas: Record<string, string> };
  return `${ikesas['half-open']} of ${ikesas.total}`;
}

beforeEach(async () => {
  await world.client(1).disconnect();
  await world.apply(...vpnRecords());
  await world.serving();
  await until(async () => statuses(await check()).join() === everywhere('ok').join());
});

test('each service is asked at each exit, also behind the firewall of the proxies, and nothing stays half open', async () => {
  const rules = firewallRules({ exit_ips: exits, allowed: [], proxy_user: undefined });
  writeFileSync(path('rules.nft'), rules);
  world.run('node', 'nft', '-f', path('rules.nft'));
  // More than charon accepts of one address while they are half open.
  for (let round = 0; round < 60; round += 1) {
    const health = await check();
    expect(statuses(health)).toEqual(everywhere('ok'));
    expect(health.faults).toEqual([]);
  }
  // charon may still have the last one, but not because of its limit of 20 seconds.
  await expect.poll(halfOpen, { timeout: 10_000 }).toBe('0 of 0');
  world.run('node', 'nft', 'delete', 'table', 'inet', 'exitward');
  for (const service of ['vpn-ikev2', 'vpn-ikev1'] as const) {
    await world.client(1).connect({ service });
    expect(statuses(await check())).toEqual(everywhere('ok'));
    expect(world.client(1).fetch({ down: 10 }).from).toBe(exits[0]);
  }
});

test('a charon that hangs is crit within one check, and ok again once it continues', async () => {
  const pid = world.charonPid();
  await halt(pid);
  try {
    const health = await check();
    expect(statuses(health)).toEqual(everywhere('crit'));
    expect(sentences(health)[0]).toBe(
      `The service vpn-ikev1 at ${exits[0]} fails: charon does not answer.`,
    );
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  expect(statuses(await check())).toEqual(everywhere('ok'));
});

deepTest(
  'an exit that charon does not serve is crit, and the others are not, until the agent gives its connection back',
  async () => {
    let health: Health = { faults: [] };
    const unload = () =>
      charon('unload-conn', { name: `vpn-ikev2 ${exits[1]}` }).catch(() => undefined);
    // The agent restores it once a second, so it is removed again and again during the check, which
    // may see it in between.
    await until(async () => {
      await unload();
      const checked = check();
      const isOver = checked.then(() => true);
      while (!(await Promise.race([isOver, systemClock.sleep(0.02)]))) await unload();
      health = await checked;
      return health.faults.length > 0;
    });
    expect(statuses(health).filter((statuse) => !statuse.endsWith('ok'))).toEqual([
      `vpn-ikev2 ${exits[1]} crit`,
    ]);
    expect(sentences(health)).toEqual([
      `The service vpn-ikev2 at ${exits[1]} fails: charon has no connection for it.`,
    ]);
    await until(async () => statuses(await check()).join() === everywhere('ok').join());
  },
);

deepTest(
  'an exit that the machine does not have is crit, and nothing is sent elsewhere for it',
  async () => {
    const exit_ips = [...exits, '9.9.9.9'].map((ip, index) => ({ ip, port_base: index }));
    await world.apply(vpnServer({ exit_ips, services: ['vpn-ikev2'] }));
    const health = await check();
    expect(statuses(health).filter((statuse) => !statuse.endsWith('ok'))).toEqual([
      'vpn-ikev2 9.9.9.9 crit',
    ]);
    expect(sentences(health)).toEqual([
      'The service vpn-ikev2 at 9.9.9.9 fails: the address is not on this machine.',
    ]);
  },
);

deepTest('a server without a VPN has no health of one', async () => {
  await world.apply(vpnServer({ services: ['proxy'] }));
  expect(await check()).toEqual({ faults: [] });
});

deepTest(
  'a certificate that ends soon is a warning, one that has ended is crit; IKEv1 shows none',
  async () => {
    const [cert, key] = ['node.crt', 'node.key'].map((name) => readFileSync(path(name), 'utf8'));
    const put = (pair: { cert?: string | undefined; key?: string | undefined }) => {
      writeFileSync(path('node.crt'), pair.cert ?? '');
      writeFileSync(path('node.key'), pair.key ?? '');
    };
    const utcTime = (at: number) =>
      `${new Date(at * 1000).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)}Z`;
    const five_days = now() + 5 * 86_400;
    put(newCertificate(hostname, { ends: utcTime(five_days) }));
    await until(async () => (await check()).certificate_expiry === five_days);
    await until(async () => statuses(await check()).join() === everywhere('warn', 'ok').join());
    const soon = now() + 6;
    put(newCertificate(hostname, { ends: utcTime(soon) }));
    await until(async () => (await check()).certificate_expiry === soon);
    await until(() => now() >= soon);
    expect(statuses(await check())).toEqual(everywhere('crit', 'ok'));
    put({ cert, key });
    await until(async () => statuses(await check()).join() === everywhere('ok').join());
  },
);

deepTest(
  'without a certificate nothing is served: all is crit, and there is no expiry to report',
  async () => {
    const restart = async (settings: Record<string, string>) => {
      await world.node.ask({ do: 'stop', leave_running: false });
      await world.startNode(settings);
    };
    await restart({ EXITWARD_AGENT_TLS_CERT: '', EXITWARD_AGENT_TLS_KEY: '' });
    const health = await check();
    expect([health.certificate_expiry, statuses(health)]).toEqual([null, everywhere('crit')]);
    await restart({});
  },
);

deepTest(
  'a kernel without ESP is a fault that says what to do, unless charon seals the packets itself',
  async () => {
    expect(await findKernelLack({ ipsec: 'userspace' })).toBeUndefined();
    const lack = await findKernelLack({ ipsec: 'kernel' });
    // The kernel lists it only after its first use.
    const hasEsp = /\besp_init_state\b/.test(readFileSync('/proc/kallsyms', 'latin1'));
    expect(lack === undefined).toBe(hasEsp);
    await world.node.ask({ do: 'stop', leave_running: false });
    await world.startNode({ EXITWARD_AGENT_VPN_IPSEC: 'kernel' });
    const says =
      /^The VPN does not work: the kernel accepts no ESP keys \(.+\): modprobe -a esp4 xfrm_user gcm/;
    await until(async () => {
      const faults = await world.node.ask<Fault[]>({ do: 'faults' });
      const isTold = faults.some(({ kind, message }) => kind === 'vpn' && says.test(message));
      return hasEsp ? statuses(await check()).join() === everywhere('ok').join() : isTold;
    });
    await world.node.ask({ do: 'stop', leave_running: false });
    await world.startNode();
  },
);
