// The process of all nodes of the demo, next to the server's, which starts it, says what to run,
// and outlives it.
import { type Customer, keepListing } from './customer.ts';
import { otherServers, type Plan, type PlannedNode } from './inventory.ts';
import { conditionsAt, draws, rateAt } from './life.ts';
import { type DemoNode, identityOf, startNode } from './node.ts';
import { SimulatedNode } from './simulated_node.ts';

/** The first message that it gets; it answers with `NodesRun`. */
export interface NodesToRun extends Plan {
  customer?: Customer | undefined;
}

/** The state of the real node. */
export type NodesRun = Pick<DemoNode, 'proxy' | 'faults'> | { error: string };

const life = new AbortController();
let real: DemoNode | undefined;

process.on('message', (message: NodesToRun | 'stop') => {
  void (message === 'stop' ? stop() : run(message));
});
// Without the server's process there is nothing to do here.
process.on('disconnect', () => process.exit());
// Ctrl-C reaches both processes; the server's says when this one is to end.
process.on('SIGINT', () => {});

async function run({ customer, ...plan }: NodesToRun): Promise<void> {
  const answer: NodesRun = await startNode(plan).then(
    (node) => {
      real = node;
      return { proxy: node.proxy, faults: node.faults };
    },
    (error: Error) => ({ error: error.message }),
  );
  process.send?.(answer);
  if (plan.simulated.length === 0) return;
  const servers = new Map(otherServers().map((server) => [server.name, server]));
  const names = plan.simulated.map(({ server }) => server);
  const now = () => Date.now() / 1000;
  const simulate = async (node: PlannedNode) => {
    const { server } = node;
    const { longitude = 0 } = servers.get(server) ?? {};
    const options = {
      identity: await identityOf(plan.url, node),
      random: draws(server, Math.floor(now())),
      condition: () => conditionsAt(now(), names).get(server) ?? 'well',
      rate: () => rateAt(now(), { name: server, longitude }),
    };
    if (!life.signal.aborted) new SimulatedNode(options, life.signal);
  };
  // One that cannot join is one less.
  await Promise.allSettled(plan.simulated.map(simulate));
  if (customer) await keepListing(customer, life.signal);
}

/** The last counts are still accepted. */
async function stop(): Promise<void> {
  life.abort();
  await real?.stop();
  process.exit();
}
