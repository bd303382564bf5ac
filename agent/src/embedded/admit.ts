// Turns a request into a connection to its destination: it decides, resolves and dials. Or returns
// the reason why not.
import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { canonicalAddress } from '../../../kit/src/address.ts';
import type { Clock } from '../clock.ts';
import type { OutgoingPorts } from '../outgoing_ports.ts';
import { type Allowed, decide, mayReach, type Rules, readCredentials } from '../policy/decide.ts';
import type { DecisionTally, Outcome } from '../policy/decision_tally.ts';
import type { LastUsedTimes } from '../policy/last_used.ts';
import type { Sessions } from '../policy/sessions.ts';
import type { Replica } from '../store/replica.ts';

import type { Accepted } from './accepted.ts';
import type { Connection, Connections, Exchange } from './connections.ts';
import type { Destination } from './destination.ts';
import { dial } from './dial.ts';
import { connectFor } from './download.ts';
import { isDenial, type Rejection } from './rejections.ts';
import type { Resolver } from './resolver.ts';

/** The parts that handling a request needs. */
export interface Context {
  replica: Replica;
  rules: Rules;
  clock: Clock;
  log: Logger;
  resolver: Resolver;
  outgoing_ports: OutgoingPorts;
  sessions: Sessions;
  uses: LastUsedTimes;
  decisions: DecisionTally;
  connections: Connections;
  accepted: Accepted;
  /** A tunnel without traffic ends after this long. */
  idle_seconds: number;
}

/**
 * Opens the connection to the destination that the policy gives this request, and sets who pays for
 * the exchange. It dials only checked addresses, and only from the exit of the port.
 */
export async function admit(
  ctx: Context,
  connection: Connection,
  exchange: Exchange,
  request: IncomingMessage,
  destination: Destination,
): Promise<Socket | Rejection> {
  const now = ctx.clock.now();
  const start = performance.now();
  const verdict = decide(
    ctx.replica.policy,
    ctx.rules,
    {
      kind: 'request',
      source: connection.socket.remoteAddress ?? '',
      port: connection.port,
      method: request.method ?? '',
      host: destination.host,
      destination_port: destination.port,
      credentials: credentialsOf(request),
    },
    now,
  );
  ctx.decisions.noteTime((performance.now() - start) / 1000);
  const noted = <T extends Outcome>(outcome: T) => {
    ctx.decisions.note(outcome);
    return outcome;
  };
  if (verdict.verdict !== 'allow') return noted(verdict.reason);
  if (!ctx.accepted.admit(connection.socket, verdict.authority)) {
    return noted('too_many_connections');
  }
  // From here on it can be revoked, even while it waits for a name or a destination.
  const { authority, exit_ip } = verdict;
  ctx.sessions.open(connection.name, authority);
  ctx.uses.note(authority, now);
  const addresses = await addressesOf(ctx, verdict, destination.host);
  noted(typeof addresses === 'string' && isDenial(addresses) ? addresses : authority.by);
  if (typeof addresses === 'string') return addresses;
  const { own, socket: client } = connection;
  const origin = await dial(own, addresses, destination.port, {
    ip: exit_ip,
    ports: ctx.outgoing_ports,
    ...(request.method === 'CONNECT' && {
      connectTo: (options) => connectFor(client, own, options),
    }),
  });
  // Without an origin nothing is billed.
  if (typeof origin !== 'string' && authority.by !== 'probe') exchange.payer = authority;
  return origin;
}

/** Reads the raw headers: of two, it is unknown which one the client meant. */
function credentialsOf({ rawHeaders }: IncomingMessage) {
  const values = rawHeaders.filter(
    (_, index) => index % 2 === 1 && /^proxy-authorization$/i.test(rawHeaders[index - 1] ?? ''),
  );
  return values.length > 1 ? null : readCredentials(values[0]);
}

/** The addresses that may be dialled for this host. */
async function addressesOf(
  { resolver, replica, rules }: Context,
  { authority, dial, exit_ip }: Allowed,
  host: string,
): Promise<string[] | Rejection> {
  // The decision has already checked these.
  const address = dial ?? canonicalAddress(host.replace(/^\[(.*)\]$/, '$1'));
  if (address !== undefined) return [address];
  // Only the exit's own family: an address of the other one could not be reached from it.
  const [family, other] = isIP(exit_ip) === 4 ? ([4, 6] as const) : ([6, 4] as const);
  const addresses = await resolver.resolve(host, family);
  if (typeof addresses === 'string') return addresses;
  if (authority.by === 'probe') return addresses.length > 0 ? addresses : 'unresolved';
  const mayBe = (address: string) => mayReach(replica.policy, rules, address);
  if (addresses.length > 0) {
    const allowed = addresses.filter(mayBe);
    return allowed.length > 0 ? allowed : 'destination_refused';
  }
  const others = await resolver.resolve(host, other);
  if (typeof others === 'string') return others;
  if (others.length === 0) return 'unresolved';
  return others.some(mayBe) ? 'other_family' : 'destination_refused';
}
