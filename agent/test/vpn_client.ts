// A client of the VPN with a real charon of its own, in a network namespace.
import { type ChildProcess, execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { sharedKey } from '../../kit/src/vpn_password.ts';
import { systemClock } from '../src/clock.ts';
import { Vici, type ViciMessage } from '../src/vpn/vici.ts';
import { Sealer } from './forged_packets.ts';
import {
  exits,
  hostname,
  ipsec,
  type Login,
  origin,
  passwordOf,
  port,
  vpnKey,
  type Words,
} from './vpn_scene.ts';
import type { VpnWorld } from './vpn_world.ts';

/** How long a login may take; on a busy or emulated machine, many seconds. */
const loginMs = 30_000;

/** The proposals of Windows for L2TP. */
const windowsWords: Words = { ike: ['aes256-sha1-modp2048'], esp: ['aes256-sha1'] };
const defaultWords: Words = {
  ike: ['aes256gcm16-prfsha256-ecp256', 'aes256-sha256-modp2048'],
  esp: ['aes256gcm16'],
};
/** Longer than a test. */
const patient = { ike: 3600, esp: 3600 };

/** It begins new keys after this many seconds; the old ones are valid for much longer. */
const renewedAfter = (seconds: number) => ({ rekey_time: `${seconds}s`, rand_time: '0s' });
const endlessIke = { over_time: '1h' };
const endlessEsp = { life_time: '2h' };

/** Prints the port from which the origin received a datagram. */
const datagramProgram = `
  const socket = require('node:dgram').createSocket('udp4');
  socket.on('message', (text) => { console.log(String(text)); process.exit(); });
  socket.send('?', ${port}, '${origin}');
  setInterval(() => socket.send('?', ${port}, '${origin}'), 500);
`;

/** The user whose tunnel is up, and its address inside. Errors: it was refused. */
export interface Tunnel {
  address: string;
}

/** A client with strongSwan, as Linux and Android have it. */
export class VpnClient {
  readonly #world: VpnWorld;
  readonly #name: string;
  readonly #certificate: string;
  readonly #dir: string;
  readonly vici: Vici;
  #child: ChildProcess | undefined;

  constructor(world: VpnWorld, name: string, certificate: string) {
    this.#world = world;
    this.#name = name;
    this.#certificate = certificate;
    this.#dir = join(world.dir, name);
    execFileSync('mkdir', ['-p', this.#dir]);
    this.vici = new Vici(join(this.#dir, 'vici'), pino({ level: 'silent' }), 2 * loginMs);
  }

  async start(): Promise<void> {
    const conf = join(this.#dir, 'strongswan.conf');
    writeFileSync(
      conf,
      `charon-systemd {
        load = random nonce openssl pem pkcs1 pkcs8 x509 pubkey constraints hmac kdf md4 md5 sha1 sha2 aes gcm socket-default vici eap-identity eap-mschapv2 xauth-generic resolve ${ipsec === 'kernel' ? '' : 'kernel-libipsec'} kernel-netlink
        port = 0
        port_nat_t = 0
        retransmit_tries = 6
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
          # Shows the keys.
          chd = 4
          default = 1 } }
      }\n`,
    );
    this.#child = this.#world.spawn(this.#name, ['/usr/sbin/charon-systemd'], {
      STRONGSWAN_CONF: conf,
    });
    for (let tries = 0; ; tries += 1) {
      try {
        await this.vici.command('version');
        break;
      } catch (error) {
        if (tries > 100) throw error;
        await systemClock.sleep(0.1);
      }
    }
    const cert = { type: 'X509', flag: 'CA', data: this.#certificate };
    await this.vici.command('load-cert', cert);
  }

  /** The log of its charon. */
  log(): string {
    return readFileSync(join(this.#dir, 'charon.log'), 'utf8');
  }

  stop(): void {
    this.vici.close();
    this.#child?.kill('SIGKILL');
  }

  /** Runs swanctl with a configuration folder of its own. Errors: those that it prints. */
  swanctl(folder: string, ...args: string[]): string {
    const uri = `unix://${join(this.#dir, 'vici')}`;
    const files = args.includes('--load-all') ? ['--file', join(folder, 'swanctl.conf')] : [];
    return execFileSync('swanctl', [...args, ...files, '--uri', uri], {
      encoding: 'utf8',
      env: { ...process.env, SWANCTL_DIR: folder },
    });
  }

  /** The table of its devices, with their counts. Reading it is cheap. */
  devices(): string {
    return readFileSync(`/proc/${this.#child?.pid}/net/dev`, 'utf8');
  }

  /** The node's end of its cable. */
  get gateway(): string {
    return `198.18.${this.#name.replace('client', '')}.1`;
  }

  /**
   * Encrypts its traffic with an exit by L2TP with the shared key. Errors: charon's last words.
   */
  async connectTransport(exit: string, words: Words = windowsWords): Promise<void> {
    await this.disconnect();
    await this.vici.command('clear-creds');
    const shared = { type: 'ike', data: sharedKey(vpnKey), owners: [hostname] };
    await this.vici.command('load-shared', shared);
    const connection: ViciMessage = {
      version: '1',
      remote_addrs: [exit],
      proposals: words.ike,
      ...renewedAfter((words.renewed_after ?? patient).ike),
      ...endlessIke,
      local: { auth: 'psk', id: 'client' },
      remote: { auth: 'psk', id: hostname },
      children: {
        net: {
          mode: 'transport',
          local_ts: ['dynamic[udp/1701]'],
          remote_ts: ['dynamic[udp/1701]'],
          esp_proposals: words.esp,
          ...renewedAfter((words.renewed_after ?? patient).esp),
          ...endlessEsp,
        },
      },
    };
    await this.vici.command('load-conn', { vpn: connection });
    await this.vici.command('initiate', { child: 'net', timeout: `${loginMs}` });
  }

  /**
   * Encrypts like its charon. Once the node has received such a packet, it treats those of charon
   * as repeated.
   */
  sealer(): Sealer {
    const log = readFileSync(join(this.#dir, 'charon.log'), 'utf8');
    const [, dump = ''] = log.split(/encryption initiator key => 36 bytes.*\n/).slice(-2);
    const lines = dump.split('\n').slice(0, 3).join(' ');
    const bytes = Array.from(lines.matchAll(/(?<= )[0-9A-F]{2}(?= )/g), ([byte]) => byte);
    const [, spi = '', source = '', destination = ''] =
      /outbound ESP SA\n.*SPI (\S+), src (\S+) dst (\S+)/.exec(dump) ?? [];
    return new Sealer({
      key: Buffer.from(bytes.join(''), 'hex'),
      spi: Number(spi),
      outer: { source, destination },
      isInUdp: ipsec === 'userspace',
    });
  }

  /** Logs in, and waits for the tunnel. Errors: charon's last words. */
  async connect(options: Login = {}): Promise<Tunnel> {
    const { login = 'alice@contract1', password = passwordOf(1), exit = exits[0] } = options;
    const isOld = options.service === 'vpn-ikev1';
    const words = options.words ?? defaultWords;
    await this.disconnect();
    await this.vici.command('clear-creds');
    await this.vici.command('load-cert', { type: 'X509', flag: 'CA', data: this.#certificate });
    const type = isOld ? 'xauth' : 'eap';
    await this.vici.command('load-shared', { type, data: password, owners: [login] });
    if (isOld) {
      const shared = { type: 'ike', data: sharedKey(vpnKey), owners: [hostname] };
      await this.vici.command('load-shared', shared);
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
      vips: options.ipv6 ? ['0.0.0.0', '::'] : ['0.0.0.0'],
      proposals: words.ike,
      ...renewedAfter((words.renewed_after ?? patient).ike),
      ...endlessIke,
      ...authentication,
      children: {
        net: {
          remote_ts: options.ipv6 ? ['0.0.0.0/0', '::/0'] : ['0.0.0.0/0'],
          esp_proposals: words.esp,
          ...renewedAfter((words.renewed_after ?? patient).esp),
          ...endlessEsp,
        },
      },
    };
    await this.vici.command('load-conn', { vpn: connection });
    await this.vici.command('initiate', { child: 'net', timeout: `${loginMs}` });
    const address = (await this.tunnels())[0];
    if (address === undefined) throw new Error('there is no tunnel');
    return { address };
  }

  /** The addresses inside its tunnels. */
  async tunnels(): Promise<string[]> {
    const events = await this.vici.list('list-sas', 'list-sa');
    return events.flatMap((event) =>
      (Object.values(event) as ViciMessage[]).flatMap((sa) =>
        sa.state === 'ESTABLISHED' ? (sa['local-vips'] as string[]) : [],
      ),
    );
  }

  /** The addresses that it got. */
  nameServers(): string[] {
    const path = join(this.#dir, 'resolv.conf');
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    return Array.from(text.matchAll(/^nameserver (\S+)/gm), ([, address = '']) => address);
  }

  async disconnect(): Promise<void> {
    const how = { ike: 'vpn', force: 'yes', timeout: '3000' };
    await this.vici.command('terminate', how).catch(() => undefined);
  }

  /**
   * Gets this many bytes from the origin, and sends some, only through the tunnel. Returns the
   * address that the origin saw.
   */
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

  /** The ports at the exit from which a connection and a datagram left. */
  exitPorts(): number[] {
    const quiet = ['-sS', '--noproxy', '*', '--max-time', '10', '-o', '/dev/null'];
    const url = `http://${origin}:${port}/`;
    return [
      ['curl', ...quiet, '-w', '%header{x-port}', url],
      [process.execPath, '-e', datagramProgram],
    ].map((command) => Number(this.#world.run(this.#name, ...command)));
  }

  /** Bytes of IP packets that its tunnel sent and received, as its charon reports them. */
  async tunnelBytes(): Promise<{ up: number; down: number }> {
    const [event] = await this.vici.list('list-sas', 'list-sa');
    const [sa] = Object.values(event ?? {}) as ViciMessage[];
    const children = Object.values((sa?.['child-sas'] ?? {}) as ViciMessage) as ViciMessage[];
    const sum = (name: string) => children.reduce((all, child) => all + Number(child[name]), 0);
    return { up: sum('bytes-out'), down: sum('bytes-in') };
  }

  /** Resolves when its tunnel is idle: connections end after their programs. */
  async settle(): Promise<void> {
    for (let before = ''; ; ) {
      const now = JSON.stringify(await this.tunnelBytes());
      if (now === before) return;
      before = now;
      await systemClock.sleep(0.15);
    }
  }

  /**
   * The same by the counts of the tunnel's device; tunnels of the kernel have no device.
   */
  deviceBytes(): { up: number; down: number } {
    return this.#world.deviceBytes(this.#name);
  }
}
