// Orders to end connections: each is taken at most once by this node, within the moments for which
// the control plane gives it out, and ends the connections that are open then.
import type { Logger } from 'pino';
import type { EndOrder } from '../../../kit/src/node_interface.ts';
import { SerialQueue } from '../../../kit/src/serial_queue.ts';
import type { Clock } from '../clock.ts';
import type { ControlError } from '../control_error.ts';
import type { Engine } from '../engine.ts';

/** The part of the control plane that is needed. A rejection is a ControlError. */
export interface OrderReports {
  /** Takes an order. Errors: 404 if it is over, or this node has taken it before. */
  takeOrder(order: number): Promise<void>;
  reportEnded(order: number, ended: number): Promise<void>;
}

export interface EndOrdersOptions {
  engine: Pick<Engine, 'end'>;
  control: OrderReports;
  clock: Clock;
  log: Logger;
}

/**
 * An order is not carried out later than this after this node began to take it: a machine that
 * slept meanwhile would end connections by surprise.
 */
const maxTakingSeconds = 15;
/** The control plane gives out fewer in the time that one lives. */
const maxWaiting = 256;

export class EndOrders {
  readonly #options: EndOrdersOptions;
  readonly #queue = new SerialQueue();
  #waiting = 0;

  constructor(options: EndOrdersOptions) {
    this.#options = options;
  }

  /** Carries an order out, after those before it. Never rejects. */
  async note(id: number, order: EndOrder): Promise<void> {
    if (this.#waiting >= maxWaiting) return;
    this.#waiting += 1;
    try {
      await this.#queue.run(() => this.#carryOut(id, order));
    } catch (error) {
      this.#options.log.warn({ err: error, order: id }, 'an order to end connections failed');
    } finally {
      this.#waiting -= 1;
    }
  }

  async #carryOut(id: number, order: EndOrder): Promise<void> {
    const { engine, control, clock, log } = this.#options;
    const start = clock.steady();
    try {
      // An agent that ended its connections and died may get the order again: it is refused here.
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
