// A node that follows by itself, and the policy that it comes to.
import { SimulatedNode } from '../../demo/simulated_node.ts';
import { TestNode } from './node.ts';

/** A record, whatever it holds. */
interface Line {
  kind: string;
  account?: number | null;
  id?: number | null;
  value: unknown;
}

export class FollowingNode {
  readonly #node: TestNode;
  readonly #life = new AbortController();
  readonly #policy = new Map<string, string>();

  constructor(node: TestNode) {
    this.#node = node;
    const { url, id, token } = node;
    const still = { random: Math.random, condition: () => 'well' as const, rate: () => 0 };
    const heard = (records: readonly Line[], isSnapshot: boolean) => {
      if (isSnapshot) this.#policy.clear();
      note(this.#policy, records);
    };
    const identity = { url, node: id, server: '', token };
    new SimulatedNode({ ...still, identity, heard }, this.#life.signal);
  }

  /** As sorted lines: what the last snapshot said and the changes since. */
  get policy(): string[] {
    return Array.from(this.#policy.values()).sort();
  }

  /** The policy that a snapshot would give it now. */
  async wanted(): Promise<string[]> {
    const { url, id, token } = this.#node;
    const policy = new Map<string, string>();
    note(policy, await new TestNode(url, id, token).snapshot());
    return Array.from(policy.values()).sort();
  }

  stop(): void {
    this.#life.abort();
  }
}

/** The records that a node forgets as well when it gets such a record (docs/node.md). */
const forgets: Record<string, RegExp> = {
  account: /./,
  authlist_cleared: /^authlist /,
  overrides_cleared: /^override /,
};

function note(policy: Map<string, string>, records: readonly Line[]): void {
  for (const { kind, account, id, value } of records) {
    const key = `${kind} ${account} ${id}`;
    if (value === null) {
      for (const other of policy.keys()) {
        if (other.split(' ')[1] === `${account}` && forgets[kind]?.test(other))
          policy.delete(other);
      }
      policy.delete(key);
    } else policy.set(key, `${key} ${JSON.stringify(value)}`);
  }
}
