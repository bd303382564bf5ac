// Searches the connection log: who used an exit around a time?

import type { UseQuestion } from '../../../kit/src/node_interface.ts';
import { decodeEntry, type ExitUse, type OpenUse, personOf } from '../exit_use.ts';
import { dayOf, daySeconds, listDays, readDay } from './day_files.ts';

export interface FoundUse extends ExitUse {
  /** Epoch seconds; undefined: it is still open. */
  until?: number;
  /** Requested facts that the node does not know of this use: it may be another one. */
  unknown: Array<'port' | 'destination'>;
}

export interface FoundUses {
  /** Those that match in all requested facts come first. */
  uses: FoundUse[];
  /** How many more there are. */
  more: number;
}

/** An answer lists at most this many. */
export const maxFound = 1000;
/** Most uses held in memory during a search. */
const maxHeld = 100_000;
/** A use is written at most this late. */
const lateSeconds = 60;

export interface Unwritten {
  /** Whether this user was erased. */
  isErased: (person: string) => boolean;
  /** When a use ended that the files list as open; undefined: it is open. */
  endOf: (key: string) => number | undefined;
}

/** `unwritten`: the part of the log that is not in the files (yet). Errors: those of the disk. */
export async function findUses(
  dir: string,
  question: UseQuestion,
  { isErased, endOf }: Unwritten,
): Promise<FoundUses> {
  const { exit_ip, at, margin_seconds } = question;
  const [from, to] = [at - margin_seconds, at + margin_seconds];
  const open = new Map<string, OpenUse>();
  const matching = new Map<string, FoundUse>();
  let unheld = 0;
  const note = (use: ExitUse, until?: number) => {
    if (use.since > to || (until !== undefined && until < from)) return;
    const unknown = unknownOf(use, question);
    if (!unknown || isErased(personOf(use))) return;
    // The same line may have been written twice.
    const key = JSON.stringify([use, until]);
    if (matching.size >= maxHeld && !matching.has(key)) unheld += 1;
    else matching.set(key, { ...use, ...(until === undefined ? {} : { until }), unknown });
  };
  const withoutKey = ({ key: _, is_provisional: __, ...use }: OpenUse): ExitUse => use;
  const visit = (text: string) => {
    const entry = decodeEntry(text);
    if (entry?.entry === 'started') {
      for (const use of open.values()) note(withoutKey(use), entry.at);
      open.clear();
    } else if (entry?.entry === 'open') {
      if (entry.exit_ip !== exit_ip || entry.since > to || open.has(entry.key)) return;
      const { entry: _, ...use } = entry;
      if (open.size < maxHeld) open.set(entry.key, use);
    } else if (entry?.entry === 'ended') {
      const { entry: _, until, key: __, ...use } = entry;
      if (entry.exit_ip === exit_ip) note(use, until);
    } else if (entry) {
      const use = open.get(entry.key);
      open.delete(entry.key);
      if (entry.entry === 'closed' && use) note(withoutKey(use), entry.until);
    }
  };
  const isWanted = wantedLines(exit_ip, () => open.size > 0);
  for (const day of listDays(dir)) {
    if (day + daySeconds <= from) continue;
    // Later files have the ends of open uses.
    if (day > dayOf(to + lateSeconds) && open.size === 0) break;
    await readDay(dir, day, visit, { isWanted });
  }
  for (const use of open.values()) note(withoutKey(use), endOf(use.key));
  const uses = [...matching.values()].sort(
    (a, b) => a.unknown.length - b.unknown.length || a.since - b.since,
  );
  return { uses: uses.slice(0, maxFound), more: Math.max(0, uses.length - maxFound) + unheld };
}

/** Judges a line by its bytes: most lines are of other exits, and need not be decoded. */
function wantedLines(exit_ip: string, hasOpen: () => boolean): (line: Buffer) => boolean {
  const letterAt = '9d1c44aa '.length;
  const named = Buffer.from(` ${exit_ip} `);
  return (line) => {
    const letter = String.fromCharCode(line[letterAt] ?? 0);
    if (letter === 'e' || letter === 'o') return line.includes(named);
    return letter === 's' || ((letter === 'c' || letter === 'r') && hasOpen());
  };
}

/** The requested facts that are not known of this use; undefined: it does not match. */
function unknownOf(
  { exit_ports, destination, dialled }: ExitUse,
  { port, destination: wanted }: UseQuestion,
): FoundUse['unknown'] | undefined {
  const unknown: FoundUse['unknown'] = [];
  if (port !== undefined) {
    if (!exit_ports) unknown.push('port');
    else if (port < exit_ports.first || port > exit_ports.last) return undefined;
  }
  if (wanted) {
    if (destination === undefined) unknown.push('destination');
    else {
      const colon = destination.lastIndexOf(':');
      const host = destination
        .slice(0, colon)
        .replace(/^\[(.*)\]$/, '$1')
        .toLowerCase();
      if (Number(destination.slice(colon + 1)) !== wanted.port) return undefined;
      if (host !== wanted.host.toLowerCase() && dialled !== wanted.host) return undefined;
    }
  }
  return unknown;
}
