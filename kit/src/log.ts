// The log: JSON lines on standard output, with a priority for the journal of systemd; on a terminal
// a line of text for each.
import { fstatSync } from 'node:fs';
import { isatty } from 'node:tty';
import { destination, type Logger, pino } from 'pino';
import type { Environment } from './settings.ts';
import { visible } from './visible.ts';

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

/** Fields of every line, which people at a terminal know, or read in front. */
const ownFields = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'err']);

/** A line of the log as people read it: the time (UTC), the level, the message, the facts. */
export function readableLine(line: string): string {
  const { level, time, msg, err, ...rest } = JSON.parse(line);
  const facts = Object.entries(rest).filter(([name]) => !ownFields.has(name));
  const sentence = [msg, err?.message].filter((part) => part !== undefined).join(': ');
  const values = facts.map(([name, value]) => {
    const isPlain = typeof value === 'string' && !/[\s"]/.test(value);
    return `${name}=${isPlain ? value : JSON.stringify(value)}`;
  });
  const head = `${new Date(time).toISOString().slice(11, 19)}Z ${pino.levels.labels[level] ?? level}`;
  return `${visible([head, sentence, ...values].join('  '))}\n`;
}

export interface LogSettings {
  log_level: string;
  /** Device and inode of the journal's stream, from systemd. */
  journal_stream: string | undefined;
}

/**
 * Opens the log; on a terminal its lines are `readableLine`s. No header, body, token, password or
 * cookie ever reaches it.
 */
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
  const isTerminal = isatty(1);
  if (!isTerminal && !isJournal(journal_stream, 1)) return pino({ level, redact });
  const output = destination({ dest: 1, sync: true });
  if (isTerminal) {
    return pino({ level, redact }, { write: (line) => output.write(readableLine(line)) });
  }
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
