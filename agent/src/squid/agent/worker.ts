// One Squid with all its parts: its process, the link to its deciders, and its log.

import { connectionCaps, descriptorLimit } from '../../connection_caps.ts';
import type { EngineOptions } from '../../engine.ts';
import type { Fault } from '../../faults.ts';
import type { Listener } from '../../policy/policy.ts';
import type { Revoked } from '../../policy/sessions.ts';
import type { RulesFile } from '../protocol.ts';
import type { Connections } from './connections.ts';
import { DeciderLink, type LinkEvents } from './decider_link.ts';
import { SquidInstance } from './instance.ts';
import { MeterLog } from './meter_log.ts';
import type { UnixUser } from './unix_user.ts';
import { WaitingConnections } from './waiting.ts';

export interface WorkerOptions extends EngineOptions {
  user: UnixUser | undefined;
  connections: Connections;
  onRevoked: (revoked: Revoked[], over?: number) => void;
  /** Called before a Squid is started: the previous one is dead. */
  onStart: (squid: number) => void;
}

export interface Worker {
  readonly squid: SquidInstance;
  readonly link: DeciderLink;
  readonly meter: MeterLog;
  readonly waiting: WaitingConnections;
  /** Where it should listen; without any it does not run. Undefined for one that was taken over. */
  listeners: readonly Listener[] | undefined;
  /** Whether a decider has reported the owners of the listed connections to this agent. */
  knowsOwners: boolean;
  /** Steady seconds. */
  started_at: number;
  /** When its decider was last connected, or could first have been. */
  connected_at: number;
  /** Since when it has been dead; undefined while it runs. */
  dead_since: number | undefined;
  /** The fault that it is dead, while it is. */
  death: Fault | undefined;
  /** Whether the connections of the dead Squid are counted to their end. */
  isSettled: boolean;
  deaths: number;
  unanswered: number;
  /**
   * The faults because of which its ports were last tried again, and the earliest time of the next
   * attempt, in steady seconds.
   */
  retried: { faults: string; pause: number; next_at: number };
  /** The fault of its decider. */
  fault: string | undefined;
}

const longestSocketPath = 107;

/** Creates its folder and files, and listens for its decider. Errors: of disk and socket. */
export async function createWorker(
  number: number,
  dir: string,
  options: WorkerOptions,
): Promise<Worker> {
  const { config, rules, log, user, connections, onRevoked, onStart, unstored, clock } = options;
  const { squid: program } = config;
  const squid = new SquidInstance({ number, dir, program, user, clock, log, onStart });
  squid.prepare();
  const { allowed, ...others } = rules;
  const file: RulesFile = {
    rules: others,
    allowed: allowed.map(([base, bits]) => `${base.toString()}/${bits}`).join(','),
    port_shift: config.port_shift,
    listen_host: config.listen_host,
    on_revoke: config.on_revoke,
    // A Squid that is taken over may have been started with fewer.
    caps: connectionCaps(
      config.caps,
      Math.min(descriptorLimit(), descriptorLimit(squid.findProcess())),
    ),
  };
  squid.write(squid.paths.rules, JSON.stringify(file));
  if (squid.paths.agent_socket.length > longestSocketPath) {
    throw new Error(`${squid.paths.agent_socket}: this path is too long for a socket.`);
  }
  const events: LinkEvents = {
    onRevoked,
    onOpened: (opened) => connections.announce(number, opened),
    onLost: () => connections.search(number),
    opened: () => connections.owners(number),
    unstored: (last) => unstored?.after(last) ?? [],
  };
  const link = new DeciderLink(squid.paths.agent_socket, events, log);
  await link.listen(user?.gid);
  return {
    squid,
    link,
    meter: new MeterLog(squid.paths.meter_log, { key: squid.seal_key }),
    waiting: new WaitingConnections(),
    listeners: undefined,
    knowsOwners: false,
    started_at: clock.steady(),
    connected_at: clock.steady(),
    dead_since: undefined,
    death: undefined,
    isSettled: true,
    deaths: 0,
    unanswered: 0,
    retried: { faults: '', pause: 0, next_at: 0 },
    fault: undefined,
  };
}
