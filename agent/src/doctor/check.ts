// A check of the doctor: a look at one thing that a node needs, which changes nothing.
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Identity } from '../identity.ts';
import type { Status } from '../local.ts';
import type { Listener } from '../policy/policy.ts';
import type { ServerValue } from '../policy/records.ts';

/** `ok`; `warning`: it works, less well than it could; `fault`: the node does not serve as it should. */
export type State = 'ok' | 'warning' | 'fault';

export interface Outcome {
  state: State;
  /** For people. */
  sentence: string;
  /** The command that mends it, or the shortest way to one; null when nothing is to be done. */
  remedy: string | null;
}

export interface Finding extends Outcome {
  /** Names the check for programs (docs/agent.md). */
  name: string;
}

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

export interface Check {
  name: string;
  run(subject: Subject): Promise<Outcome | Outcome[]>;
}

export const ok = (sentence: string): Outcome => ({ state: 'ok', sentence, remedy: null });

export const warning = (sentence: string, remedy: string): Outcome => ({
  state: 'warning',
  sentence,
  remedy,
});

export const fault = (sentence: string, remedy: string): Outcome => ({
  state: 'fault',
  sentence,
  remedy,
});

/** Runs the checks one after another, so that none slows down what another measures. One that fails by itself is a warning. */
export async function runChecks(checks: readonly Check[], subject: Subject): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, run } of checks) {
    const outcomes = await run(subject).catch((error: Error) =>
      warning(`This could not be looked at: ${error.message}.`, 'run it as root'),
    );
    findings.push(...[outcomes].flat().map((outcome) => ({ name, ...outcome })));
  }
  return findings;
}

/** The worst of them. */
export function worst(findings: readonly Outcome[]): State {
  const has = (state: State) => findings.some((finding) => finding.state === state);
  return has('fault') ? 'fault' : has('warning') ? 'warning' : 'ok';
}

/** `one, two and 3 more`. */
export function listed(names: readonly string[], most = 5): string {
  const shown = names.slice(0, most).join(', ');
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}
