// The control plane as a process on a SQLite file: killed, started again where it was, and cut off
// by a relay.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../kit/src/settings.ts';
import { type Outcome, runCommand } from '../../server/test/cli_process.ts';
import { basic, TestClient } from '../../server/test/harness.ts';
import { Relay } from '../../server/test/relay.ts';
import { ServerProcess } from '../../server/test/server_process.ts';
import { nextClientIp, nextControlPlace } from './places.ts';
import type { Sum } from './tally.ts';

const farAway = 4_000_000_000;

/** An account with an active proxy user `alice`. */
export interface Customer {
  name: string;
  /** Calls as the account; paths are those below `/v0`. */
  api: TestClient;
  api_token: string;
  /** Lists a new address of its own; the id is the entry's. */
  list(expiry?: number): Promise<{ ip: string; id: number }>;
  /** A proxy access token, as credentials. */
  credentials(): Promise<string>;
}

export const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

export class ControlPlaneProcess {
  readonly #env: Environment;
  #server: ServerProcess;
  /** The way by which nodes reach it, unless a test says otherwise. */
  readonly relay: Relay;

  private constructor(env: Environment, server: ServerProcess, relay: Relay) {
    this.#env = env;
    this.#server = server;
    this.relay = relay;
  }

  /** `program`: the `serve.ts` of another version. */
  static async start(more: Environment = {}, program?: string): Promise<ControlPlaneProcess> {
    const { listen, admin_listen } = nextControlPlace();
    const env = ServerProcess.settings({
      EXITWARD_LISTEN: listen,
      EXITWARD_ADMIN_LISTEN: admin_listen,
      EXITWARD_METRICS_LISTEN: 'off',
      EXITWARD_LOG_LEVEL: 'info',
      // The least there is.
      EXITWARD_NODE_LOST_SECONDS: '30',
      ...more,
    });
    const server = await ServerProcess.start(env, { program });
    return new ControlPlaneProcess(env, server, await Relay.to(server.node_url));
  }

  get node_url(): string {
    return this.#server.node_url;
  }

  get base_url(): string {
    return this.#server.base_url;
  }

  /** Where nodes join: behind the relay. */
  get url(): string {
    return this.relay.by(this.node_url);
  }

  /** Calls as the operator; paths are those below `/admin`. */
  get operator(): TestClient {
    return this.#server.operator;
  }

  /** `exitward`, as the operator on this machine. Errors: when it fails. */
  async command(...args: string[]): Promise<Outcome> {
    const env = { ...this.#env, EXITWARD_ADMIN_URL: this.#server.admin_url };
    const outcome = await runCommand([...args], env);
    if (outcome.code !== 0) throw new Error(`exitward ${args.join(' ')}: ${outcome.stderr}`);
    return outcome;
  }

  /** Ends it without a word. */
  async kill(): Promise<void> {
    await this.#server.end('SIGKILL');
  }

  /** Stops it in the midst of things, or lets it go on. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#server.child.kill(name);
  }

  /** Starts it again, on the same data and ports; as this version, whatever it was before. */
  async startAgain(): Promise<void> {
    this.#server = await ServerProcess.start(this.#env);
  }

  /** Starts it as this version, and kills it so soon after. */
  async startAndKill(milliseconds: number): Promise<void> {
    const server = ServerProcess.spawn(this.#env);
    await sleep(milliseconds);
    await server.end('SIGKILL');
  }

  async remove(): Promise<void> {
    await this.relay.close();
    await this.#server.remove();
  }

  // ---- Records ------------------------------------------------------------------------------

  async addServer(name: string, exit_ip: string): Promise<void> {
    await this.do('POST', '/servers', {
      name,
      hostname: `${name}.exitward.example`,
      title: name,
      city: 'Geneva',
      country: 'CH',
      latitude: 46.2,
      longitude: 6.1,
      services: ['proxy'],
    });
    await this.do('PUT', `/servers/${name}/exits/${exit_ip}`, { port_base: 1 });
  }

  async addCustomer(name: string, server: string, more: object = {}): Promise<Customer> {
    const created = await this.do('POST', '/accounts', {
      name,
      plan: 'Team',
      expiry: farAway,
      limit_bytes: 1_000_000_000_000,
      on_limit: 'refuse',
      ...more,
    });
    await this.do('PUT', `/accounts/${name}/servers/${server}`, {});
    await this.do('POST', `/accounts/${name}/users`, { name: 'alice', flags: { proxy: true } });
    const api = new TestClient(`${this.#server.base_url}/v0`, {
      authorization: basic(created.api_token),
    });
    return {
      name,
      api,
      api_token: created.api_token,
      async list(expiry = inAnHour()) {
        const ip = nextClientIp();
        const listed = await api.post('/contract/ip-authlist', { user: 'alice', ip, expiry });
        if (listed.status !== 201) throw new Error(listed.text);
        return { ip, id: listed.body.id };
      },
      async credentials() {
        const answered = await api.post('/users/token', { user: 'alice' });
        if (answered.status >= 300) throw new Error(answered.text);
        return `alice:${answered.body.token}`;
      },
    };
  }

  /** The bytes that the account's user is billed. */
  async billed(customer: Customer): Promise<Sum> {
    const { rows } = await this.do('GET', `/accounts/${customer.name}/usage?by=user`);
    const [{ up = 0, down = 0 } = {}] = rows;
    return { up, down };
  }

  /** An operator's request. Errors: when it is refused. */
  // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
  async do(method: string, path: string, body?: object): Promise<any> {
    const answer = await this.operator.send(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  }
}
