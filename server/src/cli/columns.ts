// Columns and values that several commands show.
import type { Column } from '../../../kit/src/cli/output.ts';
import { timeInWords } from '../../../kit/src/cli/values.ts';

export type Row = Record<string, unknown>;

export const expiry: Column = ['expiry', 'expiry', 'time'];
export const created: Column = ['created', 'created_at', 'past'];
export const lastUsed: Column = ['last used', 'last_used_at', 'past'];
export const certificateEnds: Column = ['certificate ends', 'certificate_expiry', 'time'];

interface FaultCell {
  kind: string;
  since: number;
}

/**
 * Each kind of fault once; for people with the time when the first of them began: `disk since
 * 2027-01-31 12:00Z`.
 */
export function kindsInWords(faults: readonly FaultCell[], forPeople: boolean): string {
  const kinds = Array.from(
    Map.groupBy(faults, ({ kind }) => kind),
    ([kind, ofKind]) => {
      const since = Math.min(...ofKind.map((nodeFault) => nodeFault.since));
      return forPeople ? `${kind} since ${timeInWords(since)}` : kind;
    },
  );
  return kinds.join(forPeople ? ', ' : ',');
}

interface StatusCell {
  service: string;
  status: string;
}

/** `vpn-ikev2 ok, vpn-ikev1 crit`. */
export function statusesInWords(cells: readonly StatusCell[], forPeople: boolean): string {
  return cells.map(({ service, status }) => `${service} ${status}`).join(forPeople ? ', ' : ',');
}

/** `3 ok, 1 crit`: without zeros; a dash where all are zero. */
export function countsInWords(counts: Record<string, number>): string {
  const present = Object.entries(counts).filter(([, count]) => count > 0);
  return present.map(([name, count]) => `${count} ${name}`).join(', ') || '-';
}
