// A node that follows by itself as an agent does: it connects again, and takes a snapshot where it is told to.
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeRecord } from '../src/nodes/records.ts';
import { TestNode } from './node.ts';

const pause_milliseconds = 50;

export class FollowingNode {
  readonly #node: TestNode;
  #stopped = false;
  #snapshot: NodeRecord[] = [];

  constructor(node: TestNode) {
    this.#node = node;
    void this.#run();
  }

  /** Its policy as sorted lines: what the last snapshot said and the changes since. */
  get policy(): string[] {
    return policyOf([...this.#snapshot, ...this.#node.events.flatMap((event) => event.records)]);
  }

  /** The policy that a snapshot would give it now. */
  async wanted(): Promise<string[]> {
    const { url, id, token } = this.#node;
    return policyOf(await new TestNode(url, id, token).snapshot());
  }

  stop(): void {
    this.#stopped = true;
    this.#node.stop();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        if (this.#node.epoch === '') await this.#start();
        await this.#node.follow();
        await this.#acknowledge();
      } catch (error) {
        if (/^follow: 409/.test((error as Error).message)) this.#node.epoch = '';
      }
      await sleep(pause_milliseconds);
    }
  }

  async #start(): Promise<void> {
    const fresh = await this.#node.snapshot();
    this.#snapshot = fresh;
    this.#node.events.length = 0;
  }

  async #acknowledge(): Promise<void> {
    for (let acknowledged = -1; !this.#node.ended && !this.#stopped; ) {
      const { revision } = this.#node;
      if (revision !== acknowledged && (await this.#node.ack(revision)) < 300) {
        acknowledged = revision;
      }
      await sleep(pause_milliseconds);
    }
  }
}

function policyOf(records: NodeRecord[]): string[] {
  const policy = new Map<string, string>();
  for (const { kind, account, id, value } of records) {
    const key = `${kind} ${account} ${id}`;
    if (value === null) policy.delete(key);
    else policy.set(key, `${key} ${JSON.stringify(value)}`);
  }
  return Array.from(policy.values()).sort();
}
