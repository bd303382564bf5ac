// People who order ends of connections: each node ends them once, and only by an order that it took
// while that lived; and what it says to have carried out, it did.
import { isDeepStrictEqual } from 'node:util';
import type { EndOrder } from '../../kit/src/node_interface.ts';
import { ApiError } from '../../server/src/errors.ts';
import type { Random } from '../../server/test/random.ts';
import type { Center, EndFilter } from './center.ts';
import type { Exchange } from './engine.ts';
import { isLogin } from './engine.ts';
import type { Machine } from './machine.ts';
import type { Scheduler, Trace } from './scheduler.ts';
import { Violation } from './watch.ts';

/** As the decision says: a node takes an order within this time, or never. */
const orderSeconds = 60;
/** A node that hears later that it may take an order does not carry it out. */
const takingSeconds = 15;
/** In quiet times all nodes that are concerned have carried an order out after this long. */
const carriedOutSeconds = 6;

export interface OrdersOptions {
  center: Center;
  machines: readonly Machine[];
  scheduler: Scheduler;
  random: Random;
  trace: Trace;
  /** Whether everything works, and did for a while. */
  isSettled: () => boolean;
}

/** An order that a node took. */
interface TakenOrder {
  machine: Machine;
  wanted: EndOrder;
  at: number;
  isCarriedOut: boolean;
}

export class Orders {
  readonly #options: OrdersOptions;
  /** The orders that were given, by their number: after a restore one may come again. */
  readonly #given = new Map<number, { filter: EndFilter; at: number }>();
  readonly #takenOrders: TakenOrder[] = [];
  readonly #answered = new Set<string>();

  constructor(options: OrdersOptions) {
    this.#options = options;
    const { center, scheduler, machines, trace } = options;
    center.onTaken = (node_id, order) => {
      const given = this.#given.get(order);
      const machine = machines.find(({ joined }) => joined.node_id === node_id);
      if (!given || !machine) throw new Violation(`the order ${order} was never given`);
      trace.note('order-taken', `${machine.name} ${order}`);
      const { time: at } = scheduler;
      if (at >= given.at + orderSeconds) {
        throw new Violation(`${machine.name} took an order ${at - given.at} s after it was given`);
      }
      this.#takenOrders.push({ machine, wanted: wantedOf(given.filter), at, isCarriedOut: false });
    };
    center.onEnded = (node_id, order) => this.#answered.add(`${node_id} ${order}`);
  }

  /** Somebody ends connections: mostly of one user, now and then of all. */
  async order(): Promise<void> {
    const { center, scheduler, trace, isSettled } = this.#options;
    if (!center.isUp) return;
    const filter = this.#drawFilter();
    const { time: at } = scheduler;
    try {
      const { order, nodes } = await center.end(filter);
      this.#given.set(order, { filter, at });
      trace.note('order', `${order} ${JSON.stringify(filter)}`);
      if (filter.account_id === undefined && isSettled()) this.#expect(order, nodes);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      trace.note('order-refused', error.message);
    }
  }

  /** In quiet times these nodes carry the order out at once. */
  #expect(order: number, nodes: readonly string[]): void {
    const { scheduler, machines, isSettled, trace } = this.#options;
    scheduler.after(carriedOutSeconds, () => {
      if (!isSettled()) return;
      trace.count('order-in-quiet');
      for (const { name, joined } of machines) {
        if (!nodes.includes(name) || this.#answered.has(`${joined.node_id} ${order}`)) continue;
        throw new Violation(`${name} has not carried the order ${order} out`);
      }
    });
  }

  #drawFilter(): EndFilter {
    const { machines, random } = this.#options;
    const machine = random.one(machines);
    const { server_id, node_id } = machine.joined;
    const open = [...machine.engine.exchanges.values()];
    const ofMany = random.one<EndFilter>([{ server_id }, { node_id }, {}]);
    if (open.length === 0) return ofMany;
    const { account: account_id, user: user_id, address, exit_ip, service } = random.one(open);
    const user = { account_id, user_id };
    const group = { ...user, address, exit_ip, service };
    const ofOne = [user, { ...user, server_id }, { address }, group, { ...group, node_id }];
    return random.between(0, 7) === 0 ? ofMany : random.one<EndFilter>([...ofOne, { account_id }]);
  }

  /** An engine begins to end connections. Returns a function that is called when it has. */
  noteEnd(machine: Machine, order: EndOrder): () => void {
    const { scheduler, trace } = this.#options;
    const { time } = scheduler;
    const permission = this.#takenOrders.find(
      ({ machine: by, wanted, at, isCarriedOut }) =>
        by === machine &&
        !isCarriedOut &&
        at >= time - takingSeconds &&
        isDeepStrictEqual(wanted, order),
    );
    if (!permission) {
      throw new Violation(
        `${machine.name} ends ${JSON.stringify(order)}, and has no order for it that it took`,
      );
    }
    permission.isCarriedOut = true;
    const named = [...machine.engine.exchanges].filter(
      ([, exchange]) => isNamed(order, exchange) && this.#isKnown(machine, order, exchange),
    );
    return () => {
      trace.note('order-carried-out', `${machine.name} ${named.length}`);
      const open = named.filter(([connection, exchange]) => {
        return machine.engine.exchanges.get(connection) === exchange;
      });
      trace.count(named.length > 0 ? 'order-ended' : 'order-ended-none');
      if (open.length === 0) return;
      const names = open.map(([connection]) => connection);
      throw new Violation(
        `${machine.name} carried ${JSON.stringify(order)} out: ${names} are open`,
      );
    };
  }

  /**
   * A new engine knows the users of the sessions before it within a second, and where their clients
   * are from tunnels alone, which may be gone.
   */
  #isKnown({ engine }: Machine, order: EndOrder, { asked, since }: Exchange): boolean {
    const { address, exit_ip, service } = order;
    if (!isLogin(asked) || since > engine.started_at) return true;
    if ((address ?? exit_ip ?? service) !== undefined) return false;
    return engine.started_at < this.#options.scheduler.time - 2;
  }
}

function wantedOf({ account_id, user_id, address, exit_ip, service }: EndFilter): EndOrder {
  const wanted = { account: account_id, user: user_id, address, exit_ip, service };
  return JSON.parse(JSON.stringify(wanted));
}

function isNamed(order: EndOrder, exchange: Exchange): boolean {
  const { account, user, address, exit_ip, service } = order;
  return (
    (account ?? exchange.account) === exchange.account &&
    (user ?? exchange.user) === exchange.user &&
    (address ?? exchange.address) === exchange.address &&
    (exit_ip ?? exchange.exit_ip) === exchange.exit_ip &&
    (service ?? exchange.service) === exchange.service
  );
}
