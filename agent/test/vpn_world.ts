// The world around a VPN under test, in network namespaces: clients with a real charon, a node, and the Internet beyond it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pino from 'pino';
import { systemClock } from '../src/clock.ts';
import type { Fault } from '../src/faults.ts';
import type { NodeRecord, ServerValue } from '../src/policy/records.ts';
import { Vici, type ViciMessage } from '../src/vpn/vici.ts';
import { sharedKey, vpnPassword, vpnServices } from '../src/vpn_password.ts';
import { contractRecord, createCertificate, userRecord } from './node_records.ts';
import type { Question } from './vpn_node_process.ts';

export const exits = ['203.0.113.1', '203.0.113.2'] as const;
export const hostname = 'fra1.example.net';
/** In the Internet beyond: answers the address of its client, and gives and takes bytes. */
export const origin = '9.9.9.9';
/** Beyond as well, but private: never to be reached. */
export const privateIp = '10.9.9.9';
export const port = 8080;
/** Of the server, from which its passwords follow. */
export const vpn_key = Buffer.alloc(32, 7).toString('base64url');

/** The part that seals packets: the kernel only in a machine whose kernel has ESP. */
const ipsec = process.env.EXITWARD_TEST_VPN_IPSEC ?? 'userspace';
/** Whether packets go through a device, which counts them. */
export const hasDevice = ipsec === 'userspace';
/** A login's time: on a busy machine, and an emulated one, it takes many seconds. */
const login_ms = 30_000;
const names = ['node', 'beyond'] as const;
const client_address = (client: number) => `198.18.${client}.2`;

const originProgram = `
  const { createServer } = require('node:http');
  createServer((request, response) => {
    const size = Number(request.url.slice(1)) || 0;
    let up = 0;
    request.on('data', (bytes) => { up += bytes.length; });
    request.on('end', () => {
      response.setHeader('x-from', request.socket.remoteAddress);
      response.setHeader('x-up', up);
      response.end(Buffer.alloc(size, 120));
    });
  }).listen(${port}, '0.0.0.0', () => console.log('ready'));
`;

export const vpnServer = (change: Partial<ServerValue> = {}): NodeRecord => ({
  kind: 'server',
  value: {
    name: 'fra1',
    hostname,
    services: ipsec === 'kernel' ? [...vpnServices] : ['vpn-ikev2', 'vpn-ikev1'],
    port_schemes: [],
    exit_ips: exits.map((ip, index) => ({ ip, port_base: index })),
    vpn_key,
    ...change,
  },
});

export const vpnRecords = (server = vpnServer()): NodeRecord[] => [
  server,
  { kind: 'keys', value: [] },
  ...[1, 2].flatMap((account) => [contractRecord(account), userRecord(account)]),
];

export const passwordOf = (account: number, token_version = 1, expiry: number | null = null) =>
  vpnPassword(vpn_key, { account, user: 1, token_version, expiry });

export interface Login {
  login?: string;
  password?: string;
  exit?: string;
  service?: 'vpn-ikev2' | 'vpn-ikev1';
}

/** Whose tunnel is up, and its address inside. Errors: it was refused. */
export interface Tunnel {
  address: string;
}

export class VpnWorld {
  readonly dir = mkdtempSync(join(tmpdir(), 'exitward-vpn-'));
  readonly #prefix = `exitward-vpn-${process.pid}`;
  readonly #certificate = createCertificate(hostname);
  readonly #children = new Set<ChildProcess>();
  readonly #clients: VpnClient[] = [];
  #node: NodeProcess | undefined;
  #revision = 1;

  async start(clients: number): Promise<void> {
    for (const name of names) this.#make(name);
    this.#link('node', 'beyond', ['203.0.113.1', '203.0.113.2'], [origin, privateIp]);
    // As each machine on the Internet has one: the kernel's policies apply to packets that are routed.
    this.run('node', 'ip', 'route', 'add', 'default', 'dev', 'to-beyond');
    this.run('node', 'sysctl', '-qw', 'net.ipv4.ip_forward=1');
    await this.spawnReady('beyond', [process.execPath, '-e', originProgram]);
    for (let at = 1; at <= clients; at += 1) {
      const name = `client${at}`;
      this.#make(name);
      this.#link(name, 'node', [client_address(at)], [`198.18.${at}.1`]);
      this.run(name, 'ip', 'route', 'add', 'default', 'via', `198.18.${at}.1`);
      const client = new VpnClient(this, name, this.#certificate.cert);
      this.#clients.push(client);
      await client.start();
    }
    writeFileSync(join(this.dir, 'node.crt'), this.#certificate.cert);
    writeFileSync(join(this.dir, 'node.key'), this.#certificate.key, { mode: 0o600 });
    await this.startNode();
    // As the meter does at its start.
    await this.node.ask({ do: 'tick' });
    await this.node.ask({ do: 'replace', revision: this.#revision, records: vpnRecords() });
  }

  get node(): NodeProcess {
    if (!this.#node) throw new Error('the node has not started');
    return this.#node;
  }

  /** By which the node shows who it is; its own authority. */
  get certificate(): string {
    return this.#certificate.cert;
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
        ...settings,
      },
    );
    this.#node = new NodeProcess(child);
  }

  /** Waits until the node serves all that it is to. Right after its start it has no faults, and serves nothing. */
  async serving(): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      const { tunnels } = await this.node.ask<{ tunnels?: number }>({ do: 'counts' });
      const faults = await this.node.ask<Fault[]>({ do: 'faults' });
      if (tunnels !== undefined && faults.length === 0) return;
      if (tries > 600) throw new Error(`the node does not serve: ${JSON.stringify(faults)}`);
      await systemClock.sleep(0.1);
    }
  }

  async apply(...records: NodeRecord[]): Promise<void> {
    this.#revision += 1;
    await this.node.ask({ do: 'apply', revision: this.#revision, records });
  }

  charonPid(): number {
    return Number(readFileSync(join(this.dir, 'node', 'vpn', 'charon.pid'), 'utf8'));
  }

  /** Bytes that the device of the tunnels sent and received there. */
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

  /** Starts a program, and waits until it says that it is ready. */
  async spawnReady(name: string, command: string[], env?: Record<string, string>) {
    const child = this.spawn(name, command, env);
    const [first] = await Promise.race([
      once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data'),
      once(child, 'exit').then(() => ['it ended']),
    ]);
    if (!String(first).includes('ready')) throw new Error(`${name}: ${first}`);
    return child;
  }

  #make(name: string): void {
    execFileSync('ip', ['netns', 'add', this.nameOf(name)]);
    this.run(name, 'ip', 'link', 'set', 'lo', 'up');
    // Its devices would send packets of their own.
    this.run(name, 'sysctl', '-qw', 'net.ipv6.conf.default.disable_ipv6=1');
  }

  /** A cable between two, each with its addresses; the routes go to what the other has. */
  #link(one: string, other: string, here: string[], there: string[]): void {
    const [left, right] = [`to-${other}`, `to-${one}`];
    const peer = ['type', 'veth', 'peer', 'name', right, 'netns', this.nameOf(other)];
    this.run(one, 'ip', 'link', 'add', left, ...peer);
    for (const [name, link, own] of [
      [one, left, here],
      [other, right, there],
    ] as const) {
      // One packet each, as on a wire: merged ones share the bytes of one header (docs/vpn.md).
      this.run(name, 'ip', 'link', 'set', link, 'gso_max_segs', '1', 'gro_max_size', '1', 'up');
      for (const ip of own) this.run(name, 'ip', 'address', 'add', `${ip}/32`, 'dev', link);
    }
    for (const [name, link, beyond] of [
      [one, left, there],
      [other, right, here],
    ] as const) {
      for (const ip of beyond) this.run(name, 'ip', 'route', 'add', ip, 'dev', link);
    }
  }
}

/** The node's process, which is asked line by line. */
export class NodeProcess {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(child: ChildProcess) {
    this.#child = child;
    const input = child.stdout as NonNullable<ChildProcess['stdout']>;
    this.#lines = createInterface({ input })[Symbol.asyncIterator]();
  }

  ask<T = unknown>(question: Question): Promise<T> {
    const asked = this.#last.then(async () => {
      this.#child.stdin?.write(`${JSON.stringify(question)}\n`);
      const { value, done } = await this.#lines.next();
      if (done) throw new Error('the node has ended');
      const answer = JSON.parse(value) as T & { error?: string };
      if (answer?.error) throw new Error(answer.error);
      return answer;
    });
    this.#last = asked.catch(() => undefined);
    return asked;
  }

  async kill(): Promise<void> {
    // `ip netns exec` becomes the program.
    this.#child.kill('SIGKILL');
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      await once(this.#child, 'exit');
    }
  }
}

/** A client with strongSwan, as Linux and Android have it. */
export class VpnClient {
  readonly #world: VpnWorld;
  readonly #name: string;
  readonly #certificate: string;
  readonly #dir: string;
  readonly #vici: Vici;
  #child: ChildProcess | undefined;

  constructor(world: VpnWorld, name: string, certificate: string) {
    this.#world = world;
    this.#name = name;
    this.#certificate = certificate;
    this.#dir = join(world.dir, name);
    execFileSync('mkdir', ['-p', this.#dir]);
    this.#vici = new Vici(join(this.#dir, 'vici'), pino({ level: 'silent' }), 2 * login_ms);
  }

  async start(): Promise<void> {
    const conf = join(this.#dir, 'strongswan.conf');
    writeFileSync(
      conf,
      `charon-systemd {
        load = random nonce openssl pem pkcs1 pkcs8 x509 pubkey constraints hmac kdf md4 md5 sha1 sha2 aes gcm socket-default vici eap-identity eap-mschapv2 xauth-generic ${ipsec === 'kernel' ? '' : 'kernel-libipsec'} kernel-netlink
        port = 0
        port_nat_t = 0
        retransmit_tries = 4
        retransmit_timeout = 1.0
        plugins {
          vici { socket = unix://${join(this.#dir, 'vici')} }
          kernel-libipsec { allow_peer_ts = yes }
          kernel-netlink { fwmark = !0x42 }
          socket-default { fwmark = 0x42 }
          resolve { file = ${join(this.#dir, 'resolv.conf')} }
        }
        journal { default = -1 }
        filelog { client { path = ${join(this.#dir, 'charon.log')}
          flush_line = yes
          default = 1 } }
      }\n`,
    );
    this.#child = this.#world.spawn(this.#name, ['/usr/sbin/charon-systemd'], {
      STRONGSWAN_CONF: conf,
    });
    for (let tries = 0; ; tries += 1) {
      try {
        await this.#vici.command('version');
        break;
      } catch (error) {
        if (tries > 100) throw error;
        await systemClock.sleep(0.1);
      }
    }
    const cert = { type: 'X509', flag: 'CA', data: this.#certificate };
    await this.#vici.command('load-cert', cert);
  }

  stop(): void {
    this.#vici.close();
    this.#child?.kill('SIGKILL');
  }

  /** Runs swanctl with a folder of configuration of its own. Errors: what it says. */
  swanctl(folder: string, ...args: string[]): string {
    const uri = `unix://${join(this.#dir, 'vici')}`;
    const files = args.includes('--load-all') ? ['--file', join(folder, 'swanctl.conf')] : [];
    return execFileSync('swanctl', [...args, ...files, '--uri', uri], {
      encoding: 'utf8',
      env: { ...process.env, SWANCTL_DIR: folder },
    });
  }

  /** The node's end of its cable. */
  get gateway(): string {
    return `198.18.${this.#name.replace('client', '')}.1`;
  }

  /** Seals what it sends to an exit by L2TP, and the other way, with the shared key. Errors: charon's last words. */
  async connectTransport(exit: string): Promise<void> {
    await this.disconnect();
    await this.#vici.command('clear-creds');
    const shared = { type: 'ike', data: sharedKey(vpn_key), owners: [hostname] };
    await this.#vici.command('load-shared', shared);
    const connection: ViciMessage = {
      version: '1',
      remote_addrs: [exit],
      // As Windows proposes.
      proposals: ['aes256-sha1-modp2048'],
      local: { auth: 'psk', id: 'client' },
      remote: { auth: 'psk', id: hostname },
      children: {
        net: {
          mode: 'transport',
          local_ts: ['dynamic[udp/1701]'],
          remote_ts: ['dynamic[udp/1701]'],
          esp_proposals: ['aes256-sha1'],
        },
      },
    };
    await this.#vici.command('load-conn', { vpn: connection });
    await this.#vici.command('initiate', { child: 'net', timeout: `${login_ms}` });
  }

  /** New keys for the tunnel, and for what leads it. Errors: charon's. */
  async rekey(): Promise<void> {
    await this.#vici.command('rekey', { child: 'net' });
    await this.#vici.command('rekey', { ike: 'vpn' });
  }

  /** The names of its keys: others after each rekeying. */
  async keys(): Promise<{ ike: string; esp: string }> {
    const [event] = await this.#vici.list('list-sas', 'list-sa');
    const [sa] = Object.values(event ?? {}) as ViciMessage[];
    const children = Object.values((sa?.['child-sas'] ?? {}) as ViciMessage) as ViciMessage[];
    return { ike: String(sa?.uniqueid), esp: children.map((one) => one['spi-in']).join(' ') };
  }

  /** Logs in, and waits for the tunnel. Errors: charon's last words. */
  async connect(options: Login = {}): Promise<Tunnel> {
    const { login = 'alice@contract1', password = passwordOf(1), exit = exits[0] } = options;
    const isOld = options.service === 'vpn-ikev1';
    await this.disconnect();
    await this.#vici.command('clear-creds');
    await this.#vici.command('load-cert', { type: 'X509', flag: 'CA', data: this.#certificate });
    const type = isOld ? 'xauth' : 'eap';
    await this.#vici.command('load-shared', { type, data: password, owners: [login] });
    if (isOld) {
      const shared = { type: 'ike', data: sharedKey(vpn_key), owners: [hostname] };
      await this.#vici.command('load-shared', shared);
    }
    const authentication: ViciMessage = isOld
      ? {
          local: { auth: 'psk', id: 'client' },
          'local-2': { auth: 'xauth', xauth_id: login },
          remote: { auth: 'psk', id: hostname },
        }
      : {
          local: { auth: 'eap-mschapv2', id: 'client', eap_id: login },
          remote: { auth: 'pubkey', id: hostname },
        };
    const connection: ViciMessage = {
      version: isOld ? '1' : '2',
      remote_addrs: [exit],
      vips: ['0.0.0.0'],
      proposals: ['aes256gcm16-prfsha256-ecp256', 'aes256-sha256-modp2048'],
      ...authentication,
      children: {
        net: { remote_ts: ['0.0.0.0/0'], esp_proposals: ['aes256gcm16'] },
      },
    };
    await this.#vici.command('load-conn', { vpn: connection });
    await this.#vici.command('initiate', { child: 'net', timeout: `${login_ms}` });
    const address = (await this.tunnels())[0];
    if (address === undefined) throw new Error('there is no tunnel');
    return { address };
  }

  /** The addresses inside its tunnels. */
  async tunnels(): Promise<string[]> {
    const events = await this.#vici.list('list-sas', 'list-sa');
    return events.flatMap((event) =>
      (Object.values(event) as ViciMessage[]).flatMap((sa) =>
        sa.state === 'ESTABLISHED' ? (sa['local-vips'] as string[]) : [],
      ),
    );
  }

  async disconnect(): Promise<void> {
    const how = { ike: 'vpn', force: 'yes', timeout: '3000' };
    await this.#vici.command('terminate', how).catch(() => undefined);
  }

  /** Gets so many bytes of the origin, and sends some; through the tunnel or not at all. Returns the address that the origin saw. */
  fetch({ down = 0, up = 0, host = origin, seconds = 10, rate = 'G' } = {}): {
    from: string;
    down: number;
  } {
    const body = join(this.#dir, 'body');
    writeFileSync(body, Buffer.alloc(up, 97));
    const out = this.#world.run(
      this.#name,
      ...[
        'curl',
        '-sS',
        '--noproxy',
        '*',
        '--max-time',
        `${seconds}`,
        '--limit-rate',
        `100${rate}`,
        '-o',
        '/dev/null',
      ],
      ...['--data-binary', `@${body}`, '-w', '%header{x-from} %{size_download}'],
      `http://${host}:${port}/${down}`,
    );
    const [from = '', size] = out.split(' ');
    return { from, down: Number(size) };
  }

  /** Bytes of IP packets that its tunnel sent and received, as its charon tells them. */
  async tunnelBytes(): Promise<{ up: number; down: number }> {
    const [event] = await this.#vici.list('list-sas', 'list-sa');
    const [sa] = Object.values(event ?? {}) as ViciMessage[];
    const children = Object.values((sa?.['child-sas'] ?? {}) as ViciMessage) as ViciMessage[];
    const sum = (name: string) => children.reduce((all, child) => all + Number(child[name]), 0);
    return { up: sum('bytes-out'), down: sum('bytes-in') };
  }

  /** Resolves when nothing moves in its tunnel: connections end after their programs. */
  async settle(): Promise<void> {
    for (let before = ''; ; ) {
      const now = JSON.stringify(await this.tunnelBytes());
      if (now === before) return;
      before = now;
      await systemClock.sleep(0.15);
    }
  }

  /** The same as the device of the tunnel counts them, where there is one: the kernel's own has none. */
  deviceBytes(): { up: number; down: number } {
    return this.#world.deviceBytes(this.#name);
  }
}
