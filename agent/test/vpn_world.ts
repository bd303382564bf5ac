// The network of a VPN under test, in namespaces: clients with a real charon, a node, and the
// Internet behind it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { systemClock } from '../src/clock.ts';
import type { Fault } from '../src/faults.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { createCertificateChain } from './node_records.ts';
import { VpnClient } from './vpn_client.ts';
import type { Question } from './vpn_node_process.ts';
import { exits, hostname, ipsec, origin, port, privateIp, vpnRecords } from './vpn_scene.ts';

const names = ['node', 'beyond'] as const;
const clientAddress = (client: number) => `198.18.${client}.2`;

const originProgram = `
  const { createServer } = require('node:http');
  createServer((request, response) => {
    const size = Number(request.url.slice(1)) || 0;
    let up = 0;
    request.on('data', (bytes) => { up += bytes.length; });
    request.on('end', () => {
      response.setHeader('x-from', request.socket.remoteAddress);
      response.setHeader('x-port', request.socket.remotePort);
      response.setHeader('x-up', up);
      response.end(Buffer.alloc(size, 120));
    });
  }).listen(${port}, '0.0.0.0', () => console.log('ready'));
  const udp = require('node:dgram').createSocket('udp4');
  udp.on('message', (_, from) => udp.send(String(from.port), from.port, from.address));
  udp.bind(${port}, '${origin}');
`;

export class VpnWorld {
  readonly dir = mkdtempSync(join(tmpdir(), 'exitward-vpn-'));
  readonly #prefix = `exitward-vpn-${process.pid}`;
  readonly #certificate = createCertificateChain(hostname);
  readonly #children = new Set<ChildProcess>();
  readonly #clients: VpnClient[] = [];
  #node: NodeProcess | undefined;
  #settings: Record<string, string> = {};
  #revision = 1;

  /** `settings`: those of the node, for each start. */
  async start(clients: number, settings: Record<string, string> = {}): Promise<void> {
    this.#settings = settings;
    const clientNames = Array.from({ length: clients }, (_, index) => `client${index + 1}`);
    this.#make([...names, ...clientNames]);
    this.#link('node', 'beyond', [...exits], [origin, privateIp]);
    // A default route, as on the Internet: the kernel's policies apply only to routed packets.
    this.ip('node', 'route add default dev to-beyond');
    this.run('node', 'sysctl', '-qw', 'net.ipv4.ip_forward=1');
    await this.spawnReady('beyond', [process.execPath, '-e', originProgram]);
    for (const [index, name] of clientNames.entries()) {
      const gateway = `198.18.${index + 1}.1`;
      this.#link(name, 'node', [clientAddress(index + 1)], [gateway]);
      this.ip(name, `route add default via ${gateway}`);
      const client = new VpnClient(this, name, this.authority);
      this.#clients.push(client);
      await client.start();
    }
    writeFileSync(join(this.dir, 'node.crt'), this.#certificate.cert);
    writeFileSync(join(this.dir, 'node.key'), this.#certificate.key, { mode: 0o600 });
    await this.startNode();
    // The meter's first poll.
    await this.node.ask({ do: 'tick' });
    await this.node.ask({ do: 'replace', revision: this.#revision, records: vpnRecords() });
  }

  get node(): NodeProcess {
    if (!this.#node) throw new Error('the node has not started');
    return this.#node;
  }

  /** The node's certificate and the intermediate one. */
  get certificate(): string {
    return this.#certificate.cert;
  }

  /** The root certificate, which its clients trust. */
  get authority(): string {
    return this.#certificate.authority;
  }

  client(number: number): VpnClient {
    return this.#clients[number - 1] as VpnClient;
  }

  async startNode(settings: Record<string, string> = {}): Promise<void> {
    const state = join(this.dir, 'node');
    const child = await this.spawnReady(
      'node',
      [process.execPath, join(import.meta.dirname, 'vpn_node_process.ts'), state],
      {
        EXITWARD_AGENT_ENGINE: 'embedded',
        EXITWARD_AGENT_VPN_IPSEC: ipsec,
        EXITWARD_AGENT_TLS_CERT: join(this.dir, 'node.crt'),
        EXITWARD_AGENT_TLS_KEY: join(this.dir, 'node.key'),
        ...this.#settings,
        ...settings,
      },
    );
    this.#node = new NodeProcess(child);
  }

  /**
   * Waits until the node serves everything. Right after its start it serves nothing, and has no
   * faults.
   */
  async serving(): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      const { tunnels } = await this.node.ask<{ tunnels?: number }>({ do: 'counts' });
      const faults = await this.node.ask<Fault[]>({ do: 'faults' });
      if (tunnels !== undefined && faults.length === 0) return;
      if (tries > 600) throw new Error(`the node does not serve: ${JSON.stringify(faults)}`);
      await systemClock.sleep(0.1);
    }
  }

  /** Ends agent and charon, and starts them again. */
  async restartNode(settings?: Record<string, string>): Promise<void> {
    await this.node.ask({ do: 'stop', leave_running: false });
    await this.startNode(settings);
  }

  /**
   * Switches IPv6 on or off, everywhere or except on the node. The node may have a route for it,
   * and forward it.
   */
  setIpv6(on: boolean, { node = on, route = false, forwards = false } = {}): void {
    const wanted = { node, client1: on, beyond: on };
    for (const [name, isOn] of Object.entries(wanted)) {
      const settings = ['default', 'all'].map(
        (devices) => `${devices}.disable_ipv6=${Number(!isOn)}`,
      );
      if (name === 'node') settings.push(`all.forwarding=${Number(forwards)}`);
      this.run(name, 'sysctl', '-qw', ...settings.map((setting) => `net.ipv6.conf.${setting}`));
    }
    if (on && route) this.run('node', 'ip', '-6', 'route', 'add', 'default', 'dev', 'to-beyond');
  }

  async apply(...records: NodeRecord[]): Promise<void> {
    this.#revision += 1;
    await this.node.ask({ do: 'apply', revision: this.#revision, records });
  }

  charonPid(): number {
    return Number(readFileSync(join(this.dir, 'node', 'vpn', 'charon.pid'), 'utf8'));
  }

  /** The bytes that the device of the tunnels has sent and received. */
  deviceBytes(name = 'node'): { up: number; down: number } {
    const read = (direction: string) =>
      Number(this.run(name, 'cat', `/sys/class/net/ipsec0/statistics/${direction}_bytes`));
    return { up: read('tx'), down: read('rx') };
  }

  /** Runs a command in a namespace; returns what it prints. */
  run(name: string, ...command: string[]): string {
    const args = ['netns', 'exec', this.nameOf(name), ...command];
    return execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
  }

  /** Runs several commands of `ip` in a namespace, in one process. */
  ip(name: string, ...commands: string[]): void {
    const args = ['-netns', this.nameOf(name), '-batch', '-'];
    execFileSync('ip', args, { input: commands.join('\n') });
  }

  nameOf(name: string): string {
    return `${this.#prefix}-${name}`;
  }

  spawn(name: string, command: string[], env: Record<string, string> = {}): ChildProcess {
    const child = spawn('ip', ['netns', 'exec', this.nameOf(name), ...command], {
      stdio: ['pipe', 'pipe', openSync(join(this.dir, 'errors.log'), 'a')],
      env: { ...process.env, ...env },
    });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return child;
  }

  async stop(): Promise<void> {
    await this.#node?.ask({ do: 'stop', leave_running: false }).catch(() => undefined);
    for (const client of this.#clients) client.stop();
    for (const child of this.#children) child.kill('SIGKILL');
    for (const name of execFileSync('ip', ['netns', 'list'], { encoding: 'utf8' }).split('\n')) {
      const [own = ''] = name.split(' ');
      if (own.startsWith(`${this.#prefix}-`)) execFileSync('ip', ['netns', 'delete', own]);
    }
    if (!process.env.KEEP) rmSync(this.dir, { recursive: true, force: true });
  }

  /** Starts a program, and waits until it reports that it is ready. */
  async spawnReady(name: string, command: string[], env?: Record<string, string>) {
    const child = this.spawn(name, command, env);
    const [first] = await Promise.race([
      once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data'),
      once(child, 'exit').then(() => ['it ended']),
    ]);
    if (!String(first).includes('ready')) throw new Error(`${name}: ${first}`);
    return child;
  }

  #make(made: string[]): void {
    const commands = made.flatMap((name) => [
      `netns add ${this.nameOf(name)}`,
      // Its devices would send packets of their own.
      `netns exec ${this.nameOf(name)} sysctl -qw net.ipv6.conf.default.disable_ipv6=1`,
    ]);
    execFileSync('ip', ['-batch', '-'], { input: commands.join('\n') });
    for (const name of made) this.ip(name, 'link set lo up');
  }

  /** Connects two namespaces by a cable, each with its addresses, and routes to the other's. */
  #link(near: string, far: string, here: string[], there: string[]): void {
    const [nearDevice, farDevice] = [`to-${far}`, `to-${near}`];
    const end = (link: string, own: string[], beyond: string[]) => [
      // One packet each, as on a wire: merged ones share the bytes of one header (docs/vpn.md).
      `link set ${link} gso_max_segs 1 gro_max_size 1 up`,
      ...own.map((ip) => `address add ${ip}/32 dev ${link}`),
      ...beyond.map((ip) => `route add ${ip} dev ${link}`),
    ];
    const cable = `link add ${nearDevice} type veth peer name ${farDevice} netns ${this.nameOf(far)}`;
    this.ip(near, cable, ...end(nearDevice, here, there));
    this.ip(far, ...end(farDevice, there, here));
  }
}

/** The node's process, which is asked line by line. */
export class NodeProcess {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(child: ChildProcess) {
    this.#child = child;
    // If the process has ended, the missing response shows that.
    child.stdin?.on('error', () => {});
    const input = child.stdout as NonNullable<ChildProcess['stdout']>;
    this.#lines = createInterface({ input })[Symbol.asyncIterator]();
  }

  ask<T = unknown>(question: Question): Promise<T> {
    const outcome = this.#last.then(async () => {
      this.#child.stdin?.write(`${JSON.stringify(question)}\n`);
      const { value, done } = await this.#lines.next();
      if (done) throw new Error('the node has ended');
      const answer = JSON.parse(value) as T & { error?: string };
      if (answer?.error) throw new Error(answer.error);
      return answer;
    });
    this.#last = outcome.catch(() => undefined);
    return outcome;
  }

  async kill(): Promise<void> {
    // `ip netns exec` becomes the program.
    this.#child.kill('SIGKILL');
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      await once(this.#child, 'exit');
    }
  }
}
