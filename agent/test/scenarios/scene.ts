// The scene of a scenario: a node, an origin, and clients of one family.
import { expect } from 'vitest';
import type { Engine } from '../../src/engine.ts';
import type { Decision, Rules } from '../../src/policy/decision.ts';
import { bodyOf, type Reason, statusOf } from '../../src/policy/denials.ts';
import { readCredentials } from '../../src/policy/identify.ts';
import type { NodeRecord } from '../../src/policy/records.ts';
import * as t from '../proxy_world.ts';
import { at, type Family, recordsOf } from './family.ts';

export interface NodeOptions {
  records: NodeRecord[];
  /** The names that the node's name server knows. */
  names?: t.Names;
  /** The address of the name server. */
  name_server?: string;
  rules?: Partial<Rules>;
  settings?: Record<string, string>;
  /** When the control plane was last heard from, in epoch seconds. */
  heard_at?: number;
  /** Called with the folder of the policy, before there is any. */
  prepare?: (policy: string) => void;
}

export interface ProxyNode {
  engine: Engine;
  /** The certificate of its TLS ports, for proxy.test; PEM. */
  certificate: string;
  /** Stores a revision, which the engine applies. */
  apply(...records: NodeRecord[]): Promise<void>;
  stop(): Promise<void>;
}

export type StartNode = (options: NodeOptions) => Promise<ProxyNode>;

/** The part that all scenes share, once it is started. */
export interface Stage {
  node: ProxyNode;
  families: readonly Family[];
  origins: Map<Family, t.Origin>;
}

export class Scene {
  readonly family: Family;
  readonly #stage: Stage;

  constructor(stage: Stage, family: Family) {
    this.#stage = stage;
    this.family = family;
  }

  get node(): ProxyNode {
    return this.#stage.node;
  }

  get families(): readonly Family[] {
    return this.#stage.families;
  }

  get origin(): t.Origin {
    return this.#stage.origins.get(this.family) as t.Origin;
  }

  /** The origin, as a tunnel's destination and as a URL. */
  get to(): string {
    return `${at(this.family.originIp)}:${this.origin.port}`;
  }

  get url(): string {
    return `http://${this.to}/`;
  }

  get normal() {
    return { port: this.family.normalPort, from: this.family.sources[0] };
  }

  get override() {
    return { port: this.family.overridePort, from: this.family.sources[0] };
  }

  /** A client at an unknown address, with a token. */
  tokened(account: number, change: t.TokenChange = {}) {
    return {
      port: this.family.normalPort,
      from: this.family.sources[2],
      authorization: t.basic(t.tokenOf(account, change), change.user === 2 ? 'bob' : 'alice'),
    };
  }

  /** Runs with changed records, and restores the usual ones. */
  async having(records: NodeRecord[], work: () => Promise<void>): Promise<void> {
    await this.node.apply(...records);
    try {
      await work();
    } finally {
      const overrides = [1, 2].map((account) => t.overrideRecord(account, '', null));
      await this.node.apply(...recordsOf(this.families), ...overrides);
    }
  }

  /** With both kinds of requests. */
  async askBoth(through: t.Through, to = this.to): Promise<t.Answer[]> {
    return [await t.ask(through, 'GET', `http://${to}/`), await t.ask(through, 'CONNECT', to)];
  }

  async expectRefusal(through: t.Through, reason: Reason, to?: string): Promise<void> {
    for (const answer of await this.askBoth(through, to)) {
      const isChallenge = statusOf(reason) === 407;
      expect(answer).toMatchObject({ status: statusOf(reason), body: bodyOf(reason) });
      expect(answer.headers['x-exitward-reason']).toBe(reason);
      expect(answer.headers['proxy-authenticate'] ?? '').toMatch(isChallenge ? /^Basic / : /^$/);
    }
    expect(await this.explain(through, to), 'explained').toMatchObject({ reason });
  }

  /** The decision on a tunnel, as the node explains it. */
  async explain({ from, port, authorization }: t.Through, to = this.to): Promise<Decision> {
    const [, host = '', destination_port] = /^(.*):(\d+)$/.exec(to) ?? [];
    const { decision } = await this.node.engine.explain({
      ...{ kind: 'request', source: from ?? '', port, method: 'CONNECT', host },
      ...{ destination_port: Number(destination_port) },
      credentials: readCredentials(authorization),
    });
    return decision;
  }
}
