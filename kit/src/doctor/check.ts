// A finding of the doctor: one thing that was looked at, without changing it.

/** `warning`: it works, but less well or safely than it could; `fault`: it does not or will not. */
export type State = 'ok' | 'warning' | 'fault';

export interface Outcome {
  state: State;
  /** For people. */
  sentence: string;
  /** The command that fixes it, or the shortest way to one; null when there is nothing to do. */
  remedy: string | null;
}

export interface Finding extends Outcome {
  /** Names the check for programs. */
  name: string;
}

export interface Check {
  name: string;
  run(): Promise<Outcome | Outcome[]> | Outcome | Outcome[];
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

/** Runs the checks one by one, so that none slows another down. One that throws is a warning. */
export async function runChecks(checks: readonly Check[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of checks) {
    const outcomes = await look(check);
    findings.push(...[outcomes].flat().map((outcome) => ({ name: check.name, ...outcome })));
  }
  return findings;
}

async function look(check: Check): Promise<Outcome | Outcome[]> {
  try {
    return await check.run();
  } catch (error) {
    const { message } = error as Error;
    return warning(`This could not be looked at: ${message}.`, 'run it as root');
  }
}

/** The worst state among them. */
export function worst(findings: readonly Outcome[]): State {
  const has = (state: State) => findings.some((finding) => finding.state === state);
  return has('fault') ? 'fault' : has('warning') ? 'warning' : 'ok';
}

/** `one, two and 3 more`. */
export function listed(names: readonly string[], maxShown = 5): string {
  const shown = names.slice(0, maxShown).join(', ');
  return names.length > maxShown ? `${shown} and ${names.length - maxShown} more` : shown;
}
