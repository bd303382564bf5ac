// The machine that the doctor checks.
import type { Check } from '../../../kit/src/doctor/check.ts';
import type { ServerValue } from '../../../kit/src/node_interface.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Identity } from '../identity.ts';
import type { Status } from '../local.ts';
import type { Listener } from '../policy/policy.ts';

/** The machine, and the node on it if it has joined. */
export interface Subject {
  config: Config;
  clock: Clock;
  /** The control plane's URL: the given one, else that of the joined one. */
  url: string | undefined;
  identity: Identity | undefined;
  /** The status of the agent that runs on the state folder; undefined: none runs. */
  status: Status | undefined;
  /** That agent's process, if the system shows it. */
  pid: number | undefined;
  /** Where the engine listens, by port; undefined: there is no policy on this machine yet. */
  listeners: ReadonlyMap<number, Listener> | undefined;
  /** The server's record; undefined: there is no policy on this machine yet, or no server. */
  server: ServerValue | undefined;
  /** A host on the Internet to connect to; undefined: none. */
  outbound: string | undefined;
}

export interface NodeCheck {
  name: string;
  run(subject: Subject): ReturnType<Check['run']>;
}
