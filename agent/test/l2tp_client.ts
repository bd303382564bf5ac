// A client of L2TP/IPsec as on Linux: strongSwan encrypts, xl2tpd and pppd run inside. It needs a
// kernel that supports all of them.
import type { ChildProcess } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../src/clock.ts';
import type { VpnClient } from './vpn_client.ts';
import { exits, type Login, passwordOf } from './vpn_scene.ts';
import type { VpnWorld } from './vpn_world.ts';

/** How long a client may take for everything, even on an emulated machine. */
const patienceSeconds = 60;

export class L2tpClient {
  readonly #world: VpnWorld;
  readonly #name: string;
  readonly #client: VpnClient;
  readonly #dir: string;
  #daemon: ChildProcess | undefined;
  #address = '';

  /** `client`: its charon, in the namespace of that name. */
  constructor(world: VpnWorld, name: string, client: VpnClient) {
    this.#world = world;
    this.#name = name;
    this.#client = client;
    this.#dir = join(world.dir, `${name}-l2tp`);
    mkdirSync(this.#dir);
  }

  /**
   * Logs in by MS-CHAPv2, or with the plain password, and routes everything through the tunnel;
   * returns the address inside. Errors: the login was refused, or there is no tunnel in time.
   */
  async connect(options: Login & { method?: 'mschap-v2' | 'pap' } = {}): Promise<string> {
    const { login = 'alice@contract1', password = passwordOf(1), exit = exits[0] } = options;
    if (this.#daemon) await this.disconnect();
    const refused = options.method === 'pap' ? ['mschap-v2', 'mschap', 'chap'] : ['pap'];
    await this.#client.connectTransport(exit, options.words);
    const at = (file: string) => join(this.#dir, file);
    for (const file of ['log', 'control']) rmSync(at(file), { force: true });
    writeFileSync(
      at('options'),
      [
        ...['noauth', `name ${login}`, `password "${password}"`, 'refuse-eap', 'noccp', 'noipv6'],
        ...refused.map((method) => `refuse-${method}`),
        ...[
          'mtu 1400',
          'mru 1400',
          'nodefaultroute',
          'lcp-max-terminate 1',
          `logfile ${at('log')}`,
        ],
      ].join('\n'),
    );
    writeFileSync(
      at('conf'),
      `[global]\nauth file = ${at('secrets')}\n[lac vpn]\nlns = ${exit}\npppoptfile = ${at('options')}\nlength bit = yes\n`,
    );
    const files = ['-c', at('conf'), '-s', at('secrets'), '-p', at('pid'), '-C', at('control')];
    this.#daemon = this.#world.spawn(this.#name, ['/usr/sbin/xl2tpd', '-D', ...files]);
    await this.#until(() => {
      appendFileSync(at('control'), 'c vpn\n', { flag: 'r+' });
      return true;
    });
    let address: string | undefined;
    await this.#until(() => {
      const log = readFileSync(at('log'), 'utf8');
      if (/authentication failed/.test(log)) throw new Refused(log);
      [, address] = /local {2}IP address (\S+)/.exec(log) ?? [];
      return address !== undefined;
    });
    // Everything except the tunnel itself.
    const ways = [`${exit} via ${this.#client.gateway}`, `default dev ${this.device()}`];
    this.#world.ip(this.#name, ...ways.map((way) => `route replace ${way}`));
    this.#address = address ?? '';
    return this.#address;
  }

  /** Its address inside the tunnel, as of its last login. */
  get address(): string {
    return this.#address;
  }

  async disconnect(): Promise<void> {
    this.#daemon?.kill('SIGTERM');
    this.#daemon = undefined;
    await this.#until(() => this.#devices().length === 0);
    this.#world.ip(this.#name, `route replace default via ${this.#client.gateway}`);
    await this.#client.disconnect();
  }

  /** The device of the tunnel. Errors: there is none. */
  device(): string {
    const [device] = this.#devices();
    if (device === undefined) throw new Error(`${this.#name} has no tunnel by PPP`);
    return device;
  }

  hasTunnel(): boolean {
    return this.#devices().length > 0;
  }

  #devices(): string[] {
    return Array.from(this.#client.devices().matchAll(/^ *(ppp\d+):/gm), ([, name = '']) => name);
  }

  async #until(holds: () => boolean): Promise<void> {
    const until = systemClock.steady() + patienceSeconds;
    for (;;) {
      try {
        if (holds()) return;
      } catch (error) {
        if (error instanceof Refused || systemClock.steady() > until) throw error;
      }
      if (systemClock.steady() > until) throw new Error(`${this.#name}: it took too long`);
      await systemClock.sleep(0.1);
    }
  }
}

class Refused extends Error {}
