// The results of measurements next to the goals of the project: a line each, and for
// `npm run bench` a row of its table.
import { appendFileSync } from 'node:fs';

export interface Measured {
  /** As `POST, 32 connections`. */
  work: string;
  ours: number;
  /** As `ms`; of `ours` and of the peer. */
  unit: string;
  /** A floor, another program, or the same with less to do. */
  peer?: { name: string; value: number };
  /** Of ours to the peer's; otherwise of the two values. */
  ratio?: number;
  goal?: Goal;
}

/** Of the ratio where there is a peer, otherwise of the value. */
export type Goal = { atMost: number } | { atLeast: number };

/** A row of the table. */
export interface Row extends Measured {
  isMissed: boolean;
}

/** In a smoke run each measurement is as small as can be: nothing is judged, only that it works. */
const isSmoke = process.env.BENCH_SMOKE === '1';

/** Prints what was measured. A missed goal makes the exit code 1. */
export function report(measured: Measured): void {
  const { work, ours, unit, peer, goal } = measured;
  const compared = measured.ratio ?? (peer && ours / peer.value);
  // Against what was too short to be measured there is none.
  const ratio = Number.isFinite(compared) ? compared : undefined;
  const judged = compared === undefined ? ours : ratio;
  const isMissed =
    goal !== undefined &&
    judged !== undefined &&
    !('atMost' in goal ? judged <= goal.atMost : judged >= goal.atLeast);
  const words = [
    `${work.padEnd(48)} ${shown(ours).padStart(8)} ${unit}`,
    peer && `${ratio?.toFixed(2) ?? '–'} of ${peer.name} (${shown(peer.value)})`,
    goal && `asked: ${goalText(goal)}${isMissed ? '  MISSED' : ''}`,
  ];
  console.log(words.filter(Boolean).join('   '));
  if (isMissed && !isSmoke) process.exitCode = 1;
  const file = process.env.BENCH_TABLE;
  const { ratio: _, ...rest } = measured;
  const row: Row = { ...rest, ...(ratio === undefined ? {} : { ratio }), isMissed };
  if (file) appendFileSync(file, `${JSON.stringify(row)}\n`);
}

/** The table, in Markdown. */
export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ work, ours, unit, peer, ratio, goal, isMissed }) => [
    work,
    `${shown(ours)} ${unit}`,
    peer ? `${peer.name}: ${shown(peer.value)}` : '',
    ratio?.toFixed(2) ?? '',
    goal ? goalText(goal) + (isMissed ? ', missed' : '') : '',
  ]);
  const heads = ['work', 'ours', 'floor or peer', 'ratio', 'goal'];
  return [heads, ['---', '---:', '---', '---:', '---'], ...lines]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

function goalText(goal: Goal): string {
  return 'atMost' in goal ? `<= ${goal.atMost}` : `>= ${goal.atLeast}`;
}

function shown(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toFixed(digits);
}
