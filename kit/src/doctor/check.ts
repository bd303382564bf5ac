// A finding of the doctor: one thing that was looked at, without changing it.

/** `ok`; `warning`: it works, less well or less safely than it could; `fault`: it does not work, or will not. */
export type State = 'ok' | 'warning' | 'fault';

export interface Outcome {
  state: State;
  /** For people. */
  sentence: string;
  /** The command that mends it, or the shortest way to one; null when nothing is to be done. */
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

/** Runs the checks one after another, so that none slows down what another measures. One that fails by itself is a warning. */
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
