// Orders to end connections. This node takes each order at most once, while the control plane
// offers it, and ends the connections that are open then.
import type { EndOrder } from '../../../kit/src/node_interface.ts';
import type { ControlError } from '../control_error.ts';
import type { Engine } from '../engine.ts';
import type { ReportParts } from '../reporting.ts';

/** The part of the control plane that is needed. Rejects with a ControlError. */
export interface OrderReports {
  /** Takes an order. Errors: 404 if it is over, or this node has taken it before. */
  takeOrder(order: number): Promise<void>;
  reportEnded(order: number, ended: number): Promise<void>;
}

interface Parts extends ReportParts<OrderReports> {
  engine: Pick<Engine, 'end'>;
}

/**
 * An order must be carried out within this time after the node began to take it. Otherwise a
 * machine that slept meanwhile would end connections by surprise.
 */
const maxTakingSeconds = 15;
/** If more orders wait, the account with the longest queue loses its newest one. */
const maxWaiting = 256;

interface Waiting {
  id: number;
  order: EndOrder;
  /** Called once it is carried out or dropped. */
  onOver: () => void;
}

export class EndOrders {
  readonly #parts: Parts;
  /** By the account whose connections end; undefined: all accounts. The next turn comes first. */
  readonly #queues = new Map<number | undefined, Waiting[]>();
  #count = 0;
  #isRunning = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Carries an order out when it is the turn of its account. Never rejects. */
  note(id: number, order: EndOrder): Promise<void> {
    return new Promise((onOver) => {
      const queue = this.#queues.get(order.account) ?? [];
      this.#queues.set(order.account, queue);
      queue.push({ id, order, onOver });
      this.#count += 1;
      if (this.#count > maxWaiting) this.#dropOf(order.account);
      void this.#run();
    });
  }

  /** Drops the newest order of the longest queue; of equally long ones, of this account's. */
  #dropOf(account: number | undefined): void {
    let longest = this.#queues.get(account) ?? [];
    for (const queue of this.#queues.values()) if (queue.length > longest.length) longest = queue;
    longest.pop()?.onOver();
    this.#count -= 1;
    if (this.#queues.get(account)?.length === 0) this.#queues.delete(account);
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (const next of this.#turns()) {
      try {
        await this.#carryOut(next.id, next.order);
      } catch (error) {
        const { id } = next;
        this.#parts.log.warn({ err: error, order: id }, 'an order to end connections failed');
      }
      this.#count -= 1;
      next.onOver();
    }
    this.#isRunning = false;
  }

  /** One order of each account in turn, so that no account delays the orders of others. */
  *#turns(): Generator<Waiting> {
    for (let turn = first(this.#queues); turn; turn = first(this.#queues)) {
      const [account, queue] = turn;
      this.#queues.delete(account);
      const next = queue.shift();
      if (queue.length > 0) this.#queues.set(account, queue);
      if (next) yield next;
    }
  }

  async #carryOut(id: number, order: EndOrder): Promise<void> {
    const { engine, control, clock, log } = this.#parts;
    const start = clock.steady();
    try {
      // If an earlier agent carried this order out and died, the control plane refuses it here.
      await control.takeOrder(id);
    } catch (error) {
      if ((error as Partial<ControlError>).status === 404) return;
      throw error;
    }
    if (clock.steady() - start > maxTakingSeconds) throw new Error('it was taken too late');
    const ended = await engine.end(order);
    log.info({ order: id, ...order, ended }, 'connections were ended as ordered');
    await control.reportEnded(id, ended);
  }
}

function first<K, V>(map: ReadonlyMap<K, V>): [K, V] | undefined {
  return map.entries().next().value;
}
