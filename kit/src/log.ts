// The log: JSON lines on standard output, with a priority for the journal of systemd.
import { fstatSync } from 'node:fs';
import { destination, type Logger, pino } from 'pino';
import type { Environment } from './settings.ts';

/** Priorities of syslog by pino's levels: fatal, error, warn, info, and debug for those below. */
function priorityOf(level: number): number {
  if (level >= 60) return 2;
  if (level >= 50) return 3;
  if (level >= 40) return 4;
  return level >= 30 ? 6 : 7;
}

/** A line for journald, which makes `<PRIORITY>` a field (SyslogLevelPrefix= of systemd.exec). */
export function journalLine(level: number, line: string): string {
  return `<${priorityOf(level)}>${line}`;
}

/** The lines for standard error that say why the program does not start. */
export function startFaults(
  { JOURNAL_STREAM }: Environment,
  sentences: readonly string[],
): readonly string[] {
  const error = 50;
  if (!isJournal(JOURNAL_STREAM, 2)) return sentences;
  return sentences.map((sentence) => journalLine(error, sentence));
}

/** Whether a descriptor is the journal's stream, which systemd names by device and inode. */
export function isJournal(journal_stream: string | undefined, fd: number): boolean {
  if (journal_stream === undefined) return false;
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return journal_stream === `${dev}:${ino}`;
}

export interface LogSettings {
  log_level: string;
  /** Device and inode of the journal's stream, from systemd. */
  journal_stream: string | undefined;
}

/** Opens the log. No header, body, token, password or cookie ever reaches it. */
export function openLog({ log_level: level, journal_stream }: LogSettings): Logger {
  const redact = [
    '*.authorization',
    '*.cookie',
    '*.token',
    '*.api_token',
    '*.password',
    'authorization',
    'token',
    'password',
  ];
  if (!isJournal(journal_stream, 1)) return pino({ level, redact });
  const output = destination({ dest: 1, sync: true });
  const journal = {
    // Makes pino set `lastLevel` before each line.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 30,
    write(line: string) {
      output.write(journalLine(this.lastLevel, line));
    },
  };
  return pino({ level, redact }, journal);
}
