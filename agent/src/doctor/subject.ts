// The machine that the checks of the doctor look at.
import type { Check } from '../../../kit/src/doctor/check.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Identity } from '../identity.ts';
import type { Status } from '../local.ts';
import type { Listener } from '../policy/policy.ts';
import type { ServerValue } from '../policy/records.ts';

/** The machine, as far as it is a node yet. */
export interface Subject {
  config: Config;
  clock: Clock;
  /** Of the control plane: the one that was given, else the one that was joined. */
  url: string | undefined;
  identity: Identity | undefined;
  /** Of the agent that runs on the state folder; undefined: none does. */
  status: Status | undefined;
  /** Of that agent, where this system tells. */
  pid: number | undefined;
  /** Where the engine listens, by port; undefined: there is no policy on this machine yet. */
  listeners: ReadonlyMap<number, Listener> | undefined;
  /** Its record; undefined: there is no policy on this machine yet, or no server. */
  server: ServerValue | undefined;
  /** A host of the Internet to try connections to; undefined: none is tried. */
  outbound: string | undefined;
}

export interface NodeCheck {
  name: string;
  run(subject: Subject): ReturnType<Check['run']>;
}
