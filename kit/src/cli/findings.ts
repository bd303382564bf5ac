// The findings of a doctor, as its command shows them.
import type { Finding } from '../doctor/check.ts';
import type { Part } from './output.ts';
import { terminalWidth, wrapped } from './wrapped.ts';

/** For people each finding with its remedy below; for programs a line of four cells. */
export function findingsPart(findings: readonly Finding[], forPeople: boolean): Part {
  if (!forPeople)
    return {
      rows: findings.map((finding) => ({ ...finding })),
      columns: ['state', 'name', 'sentence', 'remedy'],
      empty: undefined,
    };
  const wide = Math.max(...findings.map(({ name }) => name.length));
  const lines = findings.flatMap(({ state, name, sentence, remedy }) => [
    `${state.padEnd(7)}  ${name.padEnd(wide)}  ${sentence}`,
    ...(remedy === null ? [] : [`${''.padEnd(9 + wide)}  → ${remedy}`]),
  ]);
  return { text: wrapped(`${lines.join('\n')}\n`, terminalWidth()) };
}
