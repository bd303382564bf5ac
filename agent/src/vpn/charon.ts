// charon, strongSwan's IKE daemon. It has a configuration of its own, is controlled by VICI, and is
// taken over by the next agent.
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { makeFolderDurably, replaceDurably } from '../../../kit/src/durable.ts';
import type { Clock } from '../clock.ts';
import { Daemon, readIfThere } from './daemon.ts';
import { findKernelLack, findTakenPort } from './machine.ts';
import { radiusAddress } from './radius_server.ts';
import { Vici, type ViciMessage } from './vici.ts';

/** Where its files are. */
export interface CharonPaths {
  dir: string;
  conf: string;
  vici: string;
  radius: string;
  log: string;
}

export interface CharonOptions {
  /** charon has its own folder in here. */
  state_dir: string;
  program: string;
  /** The part that encrypts the packets: the kernel, or charon itself if the kernel cannot. */
  ipsec: 'kernel' | 'userspace';
  clock: Clock;
  log: Logger;
}

/** How charon reaches the agent's RADIUS server. */
interface RadiusReach {
  port: number;
  secret: string;
}

const startingSeconds = 10;
const longestLogBytes = 4 * 1024 * 1024;

const plugins = [
  ...['random', 'nonce', 'openssl', 'pem', 'pkcs1', 'pkcs8', 'x509', 'pubkey', 'constraints'],
  ...['hmac', 'kdf', 'md5', 'sha1', 'sha2', 'aes', 'gcm', 'drbg'],
  ...['socket-default', 'vici', 'eap-identity', 'eap-radius', 'xauth-generic'],
];

export class Charon {
  readonly paths: CharonPaths;
  readonly #options: CharonOptions;
  readonly #radius: RadiusReach;
  readonly #daemon: Daemon;
  readonly #vici: Vici;

  constructor(options: CharonOptions) {
    this.#options = options;
    const dir = join(options.state_dir, 'vpn');
    const at = (name: string) => join(dir, name);
    this.paths = {
      dir,
      conf: at('strongswan.conf'),
      vici: at('charon.vici'),
      radius: at('radius.json'),
      log: at('charon.log'),
    };
    makeFolderDurably(dir);
    this.#radius = readRadius(this.paths.radius) ?? {
      port: 0,
      secret: randomBytes(24).toString('hex'),
    };
    this.#daemon = new Daemon({
      command: [options.program],
      dir,
      pid_file: at('charon.pid'),
      mark: ['STRONGSWAN_CONF', this.paths.conf],
      clock: options.clock,
    });
    this.#vici = new Vici(this.paths.vici, options.log);
  }

  /** The RADIUS server's last port (0: none), and the shared secret. */
  get radius(): Readonly<RadiusReach> {
    return this.#radius;
  }

  /** Sets the RADIUS server's port. A running charon gets a new port by `start`. */
  setRadiusPort(port: number): void {
    this.#radius.port = port;
    replaceDurably(this.paths.radius, JSON.stringify(this.#radius));
  }

  /**
   * Makes charon run with the current configuration. True: it is a new process, without
   * connections. Errors: it does not run.
   */
  async start(): Promise<boolean> {
    const conf = this.#conf();
    const isNew = readIfThere(this.paths.conf) !== conf;
    if (isNew) replaceDurably(this.paths.conf, conf);
    if (this.#daemon.find() !== undefined) {
      if (isNew) await this.#vici.command('reload-settings');
      this.#boundLog();
      return false;
    }
    const { clock, log } = this.#options;
    const lack = (await findKernelLack(this.#options)) ?? (await findTakenPort());
    if (lack) throw new Error(`${lack.sentence}: ${lack.remedy}`);
    rmSync(this.paths.vici, { force: true });
    const pid = await this.#daemon.start();
    log.info({ process: pid }, 'charon is started');
    const until = clock.steady() + startingSeconds;
    for (;;) {
      try {
        await this.#vici.command('version');
        return true;
      } catch (error) {
        if (clock.steady() > until)
          throw new Error(`charon does not start: ${(error as Error).message}`);
      }
      await clock.sleep(0.05);
    }
  }

  /** Stops it, and with it its tunnels. */
  async stop(): Promise<void> {
    this.#vici.close();
    await this.#daemon.stop();
  }

  /** Closes its socket; charon keeps running. */
  close(): void {
    this.#vici.close();
  }

  command(name: string, message?: ViciMessage): Promise<ViciMessage> {
    return this.#vici.command(name, message);
  }

  list(name: string, event: string, message?: ViciMessage): Promise<ViciMessage[]> {
    return this.#vici.list(name, event, message);
  }

  /** Empties a long log. charon appends, so it continues at the new end. */
  #boundLog(): void {
    const size = statSync(this.paths.log, { throwIfNoEntry: false })?.size ?? 0;
    if (size > longestLogBytes) truncateSync(this.paths.log);
  }

  #conf(): string {
    const isKernel = this.#options.ipsec === 'kernel';
    const load = [...plugins, ...(isKernel ? [] : ['kernel-libipsec']), 'kernel-netlink'];
    const { vici, log } = this.paths;
    const { port, secret } = this.#radius;
    return `# Written by exitward-agent at each start.
charon-systemd {
  load = ${load.join(' ')}
  # The kernel's policies need no routes; libipsec's device does.
  install_routes = ${isKernel ? 'no' : 'yes'}
  ikesa_table_size = 4096
  ikesa_table_segments = 16
  threads = 32
  # Many clients may be behind one address, as those of an office are.
  block_threshold = 100
  half_open_timeout = 20
  plugins {
    vici {
      socket = unix://${vici}
    }
    eap-radius {
      # The agent looks at the tunnels themselves: charon is not to end them all when it is away.
      accounting = no
      # It distinguishes two clients behind one address.
      station_id_with_port = yes
      nas_identifier = exitward
      servers {
        exitward {
          address = ${radiusAddress}
          auth_port = ${port}
          secret = ${secret}
          sockets = 16
        }
      }
    }
  }
  journal {
    default = -1
  }
  filelog {
    exitward {
      path = ${log}
      append = yes
      flush_line = yes
      time_format = %Y-%m-%dT%H:%M:%S
      default = 1
    }
  }
}
`;
  }
}

function readRadius(path: string): RadiusReach | undefined {
  try {
    const { port, secret } = JSON.parse(readFileSync(path, 'utf8')) as RadiusReach;
    return Number.isInteger(port) && typeof secret === 'string' ? { port, secret } : undefined;
  } catch {
    return undefined;
  }
}
