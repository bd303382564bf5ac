// The files of the connection log: one for each day (UTC), whose lines are complete or ignored.
import { readdirSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { decodeLine } from '../store/checked_line.ts';

export const daySeconds = 86_400;
const chunkBytes = 1 << 20;
const newline = 0x0a;
/** Longer than any line: a host has 255 characters at most. */
const maxLineBytes = 4096;

/** The start of the day, in epoch seconds. */
export const dayOf = (at: number) => at - (at % daySeconds);

export function pathOfDay(dir: string, day: number): string {
  return join(dir, `${new Date(day * 1000).toISOString().slice(0, 10)}.log`);
}

/** The days that have a file, the oldest first. */
export function listDays(dir: string): number[] {
  let names: string[];
  try {
    names = readdirSync(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const days = names.flatMap((name) => {
    const [, date] = /^(\d{4}-\d\d-\d\d)\.log$/.exec(name) ?? [];
    const day = Date.parse(`${date}T00:00:00Z`) / 1000;
    return Number.isSafeInteger(day) ? [day] : [];
  });
  return days.sort((a, b) => a - b);
}

export function bytesOfDay(dir: string, day: number): number {
  return statSync(pathOfDay(dir, day), { throwIfNoEntry: false })?.size ?? 0;
}

export function removeDay(dir: string, day: number): void {
  rmSync(pathOfDay(dir, day), { force: true });
}

/**
 * Calls `visit` with each intact line whose bytes pass `isWanted`. After each piece of the file,
 * other work gets its turn, and `onPiece` is awaited. A missing file has no lines. Errors: those of
 * the disk.
 */
export async function readDay(
  dir: string,
  day: number,
  visit: (text: string) => void,
  {
    isWanted = () => true,
    onPiece = setImmediate,
  }: { isWanted?: (line: Buffer) => boolean; onPiece?: () => Promise<unknown> } = {},
): Promise<void> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(pathOfDay(dir, day), 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    const buffer = Buffer.allocUnsafe(chunkBytes);
    for (let at = 0; ; await onPiece()) {
      const { bytesRead } = await file.read(buffer, 0, chunkBytes, at);
      const whole = buffer.subarray(0, bytesRead).lastIndexOf(newline) + 1;
      if (whole === 0 && bytesRead <= maxLineBytes) return;
      // So many bytes without a line end are not a line.
      const end = whole || bytesRead;
      at += end;
      for (let start = 0; start < end; ) {
        const next = buffer.indexOf(newline, start);
        const stop = next < 0 || next >= end ? end : next;
        const line = buffer.subarray(start, stop);
        start = stop + 1;
        if (!isWanted(line)) continue;
        const text = decodeLine(line);
        if (text !== undefined) visit(text);
      }
    }
  } finally {
    await file.close();
  }
}
