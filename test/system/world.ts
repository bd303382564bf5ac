// A whole network in small: a control plane, a node of one server, an origin, and customers; all of
// it real.
import { type NameServer, startNameServer } from '../../agent/test/proxy_world.ts';
import type { Environment } from '../../kit/src/settings.ts';
import { type AgentOptions, AgentProcess, type EngineName } from './agent_process.ts';
import { ControlPlaneProcess, type Customer } from './control_plane.ts';
import { type NodePlace, nameServerIp, nextNodePlace } from './places.ts';
import { ask, type Origin, startOrigin, type Through } from './traffic.ts';

/** The ports of the default scheme for the exit of port base 1. */
const port = 10_001;
const overrideOffset = 500;

export class World {
  readonly engine: EngineName;
  readonly control: ControlPlaneProcess;
  readonly origin: Origin;
  readonly agents: AgentProcess[] = [];
  readonly #names: NameServer;
  #named = 0;

  private constructor(
    engine: EngineName,
    control: ControlPlaneProcess,
    origin: Origin,
    names: NameServer,
  ) {
    this.engine = engine;
    this.control = control;
    this.origin = origin;
    this.#names = names;
  }

  /** `program`: the server of another version, to begin with. */
  static async start(
    engine: EngineName,
    settings: Environment = {},
    program?: string,
  ): Promise<World> {
    // Squid asks on this port alone; elsewhere not everybody may have it.
    const at = { ip: nameServerIp, port: engine === 'squid' ? 53 : 0 };
    const names = await startNameServer(new Map(), at);
    const control = await ControlPlaneProcess.start(settings, program);
    return new World(engine, control, await startOrigin(), names);
  }

  /** Ends everything, also after a failure in the middle. */
  async stop(): Promise<void> {
    const agents = this.agents.map((agent) => agent.remove());
    await Promise.allSettled([...agents, this.control.remove(), this.origin.stop()]);
    this.#names.stop();
  }

  async addServer(exit_ip: string): Promise<string> {
    const server = this.#name('srv');
    await this.control.addServer(server, exit_ip);
    return server;
  }

  /** A server with one node, which has joined and does not run yet. */
  async node(settings: Record<string, string> = {}): Promise<Node> {
    const place = nextNodePlace();
    const server = await this.addServer(place.exit_ip);
    const agent = await this.addAgent(server, { place, settings });
    return { server, agent, place };
  }

  async addAgent(server: string, options: Joining): Promise<AgentProcess> {
    const name = this.#name(`${server}-`);
    const agent = await AgentProcess.join(this.control, {
      ...{ engine: this.engine, server, name },
      ...options,
      settings: { EXITWARD_AGENT_DNS_SERVERS: this.#names.address, ...options.settings },
    });
    this.agents.push(agent);
    return agent;
  }

  customer(server: string, more?: object): Promise<Customer> {
    return this.control.addCustomer(this.#name('acct'), server, more);
  }

  get page(): string {
    return `http://${this.origin.host}:${this.origin.http_port}/100`;
  }

  get tunnel(): string {
    return `${this.origin.host}:${this.origin.tunnel_port}`;
  }

  /** The decision about a new connection: the status, and the reason of a denial. */
  async decisionFor(through: Through): Promise<string> {
    const { status, reason } = await ask(through, 'GET', this.page);
    return reason === undefined ? `${status}` : `${status} ${reason}`;
  }

  #name(kind: string): string {
    this.#named += 1;
    return `${kind}${this.#named}`;
  }
}

type Joining = Omit<AgentOptions, 'engine' | 'server' | 'name'> & Partial<AgentOptions>;

export interface Node {
  server: string;
  agent: AgentProcess;
  place: NodePlace;
}

/** A client at the proxy of a node. */
export function through(
  { listen_host, port_shift }: NodePlace,
  from: string,
  more: { credentials?: string; override?: boolean } = {},
): Through {
  const { credentials, override = false } = more;
  return {
    host: listen_host,
    port: port + port_shift + (override ? overrideOffset : 0),
    from,
    credentials,
  };
}

/** By the port scheme, as explain asks. */
export const schemePorts = { normal: port, override: port + overrideOffset };
