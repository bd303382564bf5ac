// The machines of the demo of the VPN, and what is typed on them: a node with the control plane
// beside it, a client, an origin.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Namespaces } from './namespaces.ts';
import { sealer } from './vpn_needs.ts';

export const exit = '203.0.113.1';
export const origin = '192.0.2.80';
export const client = '198.51.100.2';
export const hostname = 'vpn.demo.exitward.example';
export const ipsec = sealer();

export interface Answer {
  /** Epoch milliseconds. */
  at: number;
  size: number;
  text: string;
}

const maxSeconds = 30;
const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const inside = [process.execPath, path('vpn_inside.ts')];
const operatorCommand = [process.execPath, path('../server/bin/exitward.js')];
const agentCommand = [process.execPath, path('../agent/bin/exitward-agent.js')];

export class Machines {
  readonly #world = new Namespaces();
  readonly #at = (name: string) => `${this.#world.dir}/${name}`;
  /** The control plane is on the node's own machine, so that it needs no certificate. */
  readonly #server = {
    at: 'node',
    env: {
      EXITWARD_DATA_DIR: this.#at('server'),
      EXITWARD_ADMIN_TOKEN_FILE: this.#at('server/admin-token'),
      EXITWARD_METRICS_LISTEN: 'off',
    },
  };
  readonly #node = {
    at: 'node',
    env: {
      EXITWARD_AGENT_STATE_DIR: this.#at('agent'),
      EXITWARD_AGENT_ENGINE: 'embedded',
      EXITWARD_AGENT_VPN_IPSEC: ipsec,
      EXITWARD_AGENT_TLS_CERT: this.#at('node.crt'),
      EXITWARD_AGENT_TLS_KEY: this.#at('node.key'),
      EXITWARD_AGENT_METRICS_LISTEN: 'off',
      EXITWARD_AGENT_REPORT_SECONDS: '1',
      // It is one of the addresses that are kept for documents, which a node refuses otherwise.
      EXITWARD_AGENT_ALLOW_DESTINATIONS: origin,
    },
  };
  readonly #client = {
    at: 'client',
    env: { STRONGSWAN_CONF: this.#at('client.conf'), SWANCTL_DIR: this.#at('swanctl') },
  };

  /** Makes them and their cables, and starts the origin and the control plane. */
  async start(): Promise<void> {
    const world = this.#world;
    for (const name of ['client', 'node', 'beyond']) await world.make(name);
    await world.connect({ at: 'client', ip: client }, { at: 'node', ip: '198.51.100.1' });
    await world.connect({ at: 'node', ip: exit }, { at: 'beyond', ip: origin });
    await world.run(['sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward'], { at: 'node' });
    await world.start([...inside, 'origin', origin], { at: 'beyond' }, 'ready');
    await world.start([...operatorCommand, 'serve'], this.#server, 'Exitward is listening');
  }

  /** The operator's command. */
  exitward(...words: string[]): Promise<string> {
    return this.#world.run([...operatorCommand, ...words], this.#server);
  }

  /** Joins by the code, and serves; resolves when charon offers the VPN. */
  async startNode(code: string): Promise<void> {
    const world = this.#world;
    const files = ['-keyout', this.#at('node.key'), '-out', this.#at('node.crt')];
    const names = ['-subj', `/CN=${hostname}`, '-addext', `subjectAltName=DNS:${hostname}`];
    const kind = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'.split(' ');
    await world.run(['openssl', 'req', '-x509', ...kind, ...files, ...names]);
    const join = ['join', 'http://127.0.0.1:8080', code, '--name', 'demo'];
    await world.run([...agentCommand, ...join], this.#node);
    await world.start([...agentCommand, 'run'], this.#node, 'charon is started');
    const uri = `unix://${this.#at('agent/vpn/charon.vici')}`;
    await until('the node offers the VPN', async () =>
      (await world.run(['swanctl', '--list-conns', '--uri', uri])).includes('vpn-ikev2'),
    );
  }

  /** Starts the client's charon, and gives it the profile. */
  async startClient(profile: string): Promise<void> {
    const world = this.#world;
    writeFileSync(this.#client.env.STRONGSWAN_CONF, clientConf(world.dir));
    mkdirSync(this.#at('swanctl/x509ca'), { recursive: true });
    // Its own certificate authority: a node on the Internet has a certificate of a public one.
    await world.run(['cp', this.#at('node.crt'), this.#at('swanctl/x509ca')]);
    writeFileSync(this.#at('swanctl/swanctl.conf'), profile);
    await world.start(['charon-systemd'], this.#client, '');
    await until('strongSwan takes the profile', () =>
      this.swanctl('--load-all', '--file', this.#at('swanctl/swanctl.conf')).then(Boolean),
    );
  }

  /**
   * The client logs in by its profile. Errors: neither is its tunnel up then, nor was it refused.
   */
  async isLetIn(): Promise<boolean> {
    const login = await this.swanctl('--initiate', '--child', 'exitward-here').catch(
      (error: Error) => error,
    );
    if (!(login instanceof Error)) return true;
    if (login.message.includes('EAP authentication failed')) return false;
    throw login;
  }

  swanctl(...words: string[]): Promise<string> {
    const uri = `unix://${this.#at('client.vici')}`;
    return this.#world.run(['swanctl', ...words, '--uri', uri], this.#client);
  }

  /** A request from one of the machines. */
  async ask(at: 'client' | 'node', ...words: string[]): Promise<Answer> {
    return JSON.parse(await this.#world.run([...inside, 'ask', ...words], { at })) as Answer;
  }

  /** The same as `exitward user raise-token-version`, to the millisecond. */
  raiseTokenVersion(account: string, user: string): Promise<Answer> {
    const token = readFileSync(this.#server.env.EXITWARD_ADMIN_TOKEN_FILE, 'utf8').trim();
    const url = `http://127.0.0.1:8081/admin/accounts/${account}/users/${user}/token_version`;
    return this.ask('node', url, 'POST', `Bearer ${token}`);
  }

  /**
   * The client loads a page that has no end; resolves when it comes. `ended` resolves with when its
   * last byte came, in epoch milliseconds.
   */
  async watch(): Promise<{ ended: Promise<number> }> {
    const words = [...inside, 'watch', `http://${origin}/stream`];
    const { ended } = await this.#world.start(words, { at: 'client' }, 'it flows');
    return { ended: ended.then((said) => Number(/(\d+)\n$/.exec(said)?.[1])) };
  }

  remove(): Promise<void> {
    return this.#world.remove();
  }
}

/** Waits until it is so. Errors: it is not, in time. */
export async function until(name: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + maxSeconds * 1000;
  for (;;) {
    const outcome = await isSo().catch((error: Error) => error);
    if (outcome === true) return;
    if (performance.now() > end) throw new Error(`${name}: not in ${maxSeconds} s; ${outcome}`);
    await sleep(100);
  }
}

/**
 * Of a device with strongSwan; its own packets of IKE and ESP, which are marked, stay outside of
 * its tunnel.
 */
function clientConf(dir: string): string {
  const sealing = ipsec === 'kernel' ? '' : 'kernel-libipsec';
  return `charon-systemd {
  load = random nonce openssl pem pkcs1 pkcs8 x509 pubkey constraints hmac kdf md4 md5 sha1 sha2 aes gcm socket-default vici eap-identity eap-mschapv2 ${sealing} kernel-netlink
  retransmit_tries = 2
  plugins {
    vici {
      socket = unix://${dir}/client.vici
    }
    kernel-libipsec {
      allow_peer_ts = yes
    }
    kernel-netlink {
      fwmark = !0x42
    }
    socket-default {
      fwmark = 0x42
    }
  }
  journal {
    default = -1
  }
}
`;
}
