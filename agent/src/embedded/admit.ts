// Turns a request into a connection to its destination: decides, resolves and dials; or returns why
// not.
import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import { canonicalAddress } from '../../../kit/src/address.ts';
import type { Clock } from '../clock.ts';
import type { ExitUse } from '../exit_use.ts';
import type { ResolvedName } from '../explain_destination.ts';
import type { OutgoingPorts } from '../outgoing_ports.ts';
import { decide } from '../policy/decide.ts';
import type { Allowed, Denied, ProxyRequest, Rules } from '../policy/decision.ts';
import type { DecisionTally } from '../policy/decision_tally.ts';
import { mayReach } from '../policy/destination.ts';
import { readCredentials } from '../policy/identify.ts';
import type { LastUsedTimes } from '../policy/last_used.ts';
import { type Refusals, refusedBy } from '../policy/refusals.ts';
import type { Sessions } from '../policy/sessions.ts';
import type { Resolver } from '../resolver.ts';
import type { Replica } from '../store/replica.ts';
import type { UserCounts } from '../user_counts.ts';
import type { Accepted } from './accepted.ts';
import type { Connection, Connections, Exchange, Payer } from './connections.ts';
import type { Destination } from './destination.ts';
import { dial } from './dial.ts';
import { connectFor } from './download.ts';
import { isDenial, type Rejection } from './rejections.ts';

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
  refusals: Refusals;
  decisions: DecisionTally;
  connections: Connections;
  accepted: Accepted;
  users: UserCounts;
  /** A tunnel without traffic ends after this long. */
  idle_seconds: number;
}

/**
 * Opens the connection to the destination as the policy says, and sets the payer of the exchange.
 * It dials only checked addresses, and only from the exit of the port.
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
  const question: ProxyRequest = {
    kind: 'request',
    source: connection.socket.remoteAddress ?? '',
    port: connection.port,
    method: request.method ?? '',
    host: destination.host,
    destination_port: destination.port,
    credentials: credentialsOf(request),
  };
  const verdict = decide(ctx.replica.policy, ctx.rules, question, now);
  ctx.decisions.noteTime((performance.now() - start) / 1000);
  const refuse = (denied: Pick<Denied, 'reason' | 'principal'>) => {
    ctx.decisions.note(denied.reason);
    ctx.refusals.note(refusedBy(ctx.replica.policy, question, question.source, denied), now);
    return denied.reason;
  };
  if (verdict.verdict !== 'allow') return refuse(verdict);
  const reason = ctx.accepted.admit(connection, verdict.authority, now);
  if (reason) return refuse({ reason, principal: verdict });
  // From here on it can be revoked, even while it waits for a name or a destination.
  const { authority, exit_ip } = verdict;
  ctx.sessions.open(connection.name, authority);
  connection.exit_ip = exit_ip;
  ctx.uses.note(authority, now);
  const addresses = await addressesOf(ctx, verdict, destination.host);
  if (typeof addresses === 'string' && isDenial(addresses)) {
    return refuse({ reason: addresses, principal: verdict });
  }
  ctx.decisions.note(authority.by);
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
  if (typeof origin !== 'string' && authority.by !== 'probe') {
    exchange.payer = authority;
    if (ctx.connections.ended.isKept) {
      exchange.use = useOf(client, authority, exit_ip, origin, destination, ctx.clock.now());
    }
  }
  return origin;
}

/** The use of an exit, with both ends as the kernel has them; undefined: the client is gone. */
function useOf(
  client: Socket,
  { account, user }: Payer,
  exit_ip: string,
  origin: Socket,
  { host, port }: Destination,
  since: number,
): ExitUse | undefined {
  const address = canonicalAddress(client.remoteAddress ?? '');
  if (address === undefined) return undefined;
  const exitPort = origin.localPort;
  return {
    service: client instanceof TLSSocket ? 'proxy-https' : 'proxy',
    ...{ account, user, address, source_port: client.remotePort, exit_ip },
    exit_ports: exitPort === undefined ? undefined : { first: exitPort, last: exitPort },
    destination: `${host}:${port}`,
    dialled: canonicalAddress(origin.remoteAddress ?? ''),
    since,
  };
}

/** Reads the raw headers: if there are two, it is unknown which one counts. */
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
  const [family, otherFamily] = isIP(exit_ip) === 4 ? ([4, 6] as const) : ([6, 4] as const);
  const usable = await resolver.resolve(host, family);
  if (typeof usable === 'string') return usable;
  if (authority.by === 'probe') return usable.length > 0 ? usable : 'unresolved';
  const unusable = usable.length > 0 ? [] : await resolver.resolve(host, otherFamily);
  const mayBe = (address: string) => mayReach(replica.policy, rules, address);
  return rejectionOf({ usable, unusable }, mayBe) ?? usable.filter(mayBe);
}

/** Why no address of a name is dialled; undefined: the usable ones that the policy allows are. */
export function rejectionOf(
  { usable, unusable }: ResolvedName,
  mayBe: (address: string) => boolean,
) {
  if (typeof usable === 'string') return usable;
  if (usable.length > 0) return usable.some(mayBe) ? undefined : 'destination_refused';
  if (typeof unusable === 'string') return unusable;
  if (unusable.length === 0) return 'unresolved';
  return unusable.some(mayBe) ? 'other_family' : 'destination_refused';
}
