// People who look at the open connections: they must see what the engines had open when the nodes
// answered, and the names of all nodes that did not.
import { isDeepStrictEqual } from 'node:util';
import type { OpenConnection } from '../../agent/src/engine.ts';
import type { OpenConnections } from '../../server/src/nodes/nodes.ts';
import type { Random } from '../../server/test/random.ts';
import type { Center, LookFilter, TakenAnswer } from './center.ts';
import type { Machine } from './machine.ts';
import type { Scheduler, Trace } from './scheduler.ts';
import { Violation } from './watch.ts';

/** An answer that is older is not shown. */
const freshSeconds = 10;

export interface LooksOptions {
  center: Center;
  machines: readonly Machine[];
  scheduler: Scheduler;
  random: Random;
  trace: Trace;
}

type ConnectionGroup = OpenConnections['groups'][number];
type Group = Pick<ConnectionGroup, 'connections' | 'since' | 'last_byte_at' | 'up' | 'down'> & {
  by: string[];
  nodes: string[];
};

export class Looks {
  readonly #options: LooksOptions;
  #filter: LookFilter = {};

  constructor(options: LooksOptions) {
    this.#options = options;
  }

  /** Somebody looks: mostly again at the same, now and then at something else. */
  async look(): Promise<void> {
    const { center, random } = this.#options;
    if (!center.isUp) return;
    if (random.between(0, 5) === 0) this.#filter = this.#drawFilter();
    await this.#see(this.#filter);
  }

  /** A fault while some node has not answered a look at the whole network. */
  async missing(): Promise<string | undefined> {
    const missing = await this.#see({});
    return missing.length > 0 ? `${missing} do not say what is open` : undefined;
  }

  #drawFilter(): LookFilter {
    const { machines, random } = this.#options;
    const machine = random.one(machines);
    const { server_id, node_id } = machine.joined;
    const [open] = machine.engine.connections();
    const ofServer: LookFilter[] = [{}, { server_id }, { node_id }];
    if (!open) return random.one(ofServer);
    const { address, exit_ip, authority } = open;
    const { account: account_id, user: user_id } = authority;
    const ofOne = [{ account_id }, { account_id, user_id }, { account_id, server_id }];
    return random.one([...ofServer, ...ofOne, { address }, { exit_ip }]);
  }

  /** Looks. Returns the names of the nodes that have not answered. */
  async #see(filter: LookFilter): Promise<string[]> {
    const { center, scheduler, trace } = this.#options;
    const { shown, answers, expected: names } = await center.look(filter);
    const what = JSON.stringify(filter);
    const fresh = answers.filter(({ at }) => at > scheduler.now() - freshSeconds);
    const silent = names.filter((node) => !fresh.some(({ name }) => name === node)).toSorted();
    const missing = shown.missing.map(({ node }) => node).toSorted();
    trace.note('look', `${what} ${shown.groups.length} ${missing}`);
    if (shown.groups.length > 0) trace.count('look-groups');
    if (missing.length > 0) trace.count('look-missing');
    if (!isDeepStrictEqual(missing, silent)) {
      throw new Violation(`a look at ${what} lacks ${missing}, and ${silent} did not answer`);
    }
    const { groups: expected, unclear } = groupsOf(fresh, filter);
    const seen = new Map(shown.groups.map((group) => [nameOf(group), plain(group)]));
    for (const name of new Set([...expected.keys(), ...seen.keys()])) {
      if (unclear.has(name) || isDeepStrictEqual(seen.get(name), expected.get(name))) continue;
      const [is, should] = [seen.get(name), expected.get(name)].map((group) =>
        JSON.stringify(group),
      );
      throw new Violation(`a look at ${what} shows ${name} as ${is}, and it was ${should}`);
    }
    return missing;
  }
}

const nameOf = ({
  server,
  service,
  account,
  user,
  address,
  exit_ip,
}: Pick<
  ConnectionGroup,
  'server' | 'service' | 'account' | 'user' | 'address' | 'exit_ip'
>): string => [server, service, account, user, address, exit_ip].join(' ');

function plain(group: ConnectionGroup): Group {
  const { connections, since, last_byte_at, up, down, by, nodes } = group;
  return {
    ...{ connections, since, last_byte_at, up, down },
    ...{ by: by.toSorted(), nodes: nodes.toSorted() },
  };
}

/**
 * The groups of what the engines had open. `unclear`: those of an account that was not on the
 * server when the answer came. They are shown if it left lately.
 */
function groupsOf(answers: readonly TakenAnswer[], filter: LookFilter) {
  const groups = new Map<string, Group>();
  const unclear = new Set<string>();
  for (const { name: node, server, connections, served } of answers) {
    for (const connection of connections.filter((open) => isWanted(open, filter))) {
      const { service, address, exit_ip, authority, since, last_byte_at, up, down } = connection;
      const { account, user, by } = authority;
      const name = nameOf({ server, service, account, user, address, exit_ip });
      if (!served.has(account)) unclear.add(name);
      const before = groups.get(name);
      groups.set(name, {
        connections: (before?.connections ?? 0) + 1,
        since: Math.min(before?.since ?? since, since),
        last_byte_at: Math.max(before?.last_byte_at ?? 0, last_byte_at),
        up: (before?.up ?? 0) + up,
        down: (before?.down ?? 0) + down,
        by: [...new Set([...(before?.by ?? []), by])].sort(),
        nodes: [...new Set([...(before?.nodes ?? []), node])].sort(),
      });
    }
  }
  return { groups, unclear };
}

function isWanted({ authority, address, exit_ip }: OpenConnection, filter: LookFilter): boolean {
  return (
    (filter.account_id ?? authority.account) === authority.account &&
    (filter.user_id ?? authority.user) === authority.user &&
    (filter.address ?? address) === address &&
    (filter.exit_ip ?? exit_ip) === exit_ip
  );
}
