// A list of addresses as people write it: one per line, optionally with a user and an expiry.
import { UsageFault } from '../../../kit/src/cli/failures.ts';
import { address, canonicalAddress, given, now, time } from './values.ts';

export interface AddressLine {
  /** From 1. */
  line: number;
  ip: string;
  user?: string;
  expiry?: number;
}

export interface LineFault {
  line: number;
  message: string;
}

/** Reads `ADDRESS [USER [END]]` of each line, except blanks and comments; reports all faults. */
export function readAddresses(text: string): { lines: AddressLine[]; faults: LineFault[] } {
  const lines: AddressLine[] = [];
  const faults: LineFault[] = [];
  const seen = new Map<string, number>();
  for (const [at, content] of text.split(/\r?\n/).entries()) {
    const words = content.replace(/(^|\s)#.*/, '').trim();
    if (words === '') continue;
    const line = at + 1;
    try {
      const read = readLine(words.split(/\s+/), line);
      const ip = canonicalAddress(read.ip) ?? read.ip;
      const before = seen.get(ip);
      if (before !== undefined) throw new UsageFault(`ip: ${read.ip} is already in line ${before}`);
      seen.set(ip, line);
      lines.push(read);
    } catch (error) {
      if (!(error instanceof UsageFault)) throw error;
      faults.push({ line, message: error.message });
    }
  }
  return { lines, faults };
}

function readLine([ip = '', user, end, ...more]: string[], line: number): AddressLine {
  if (more.length > 0) throw new UsageFault('expected at most an address, a user and an expiry');
  const expiry = end === undefined ? undefined : withField('expiry', () => time(end));
  if (expiry !== undefined && expiry <= now()) throw new UsageFault(`expiry: ${end} has passed`);
  return {
    line,
    ip: withField('ip', () => address(ip)),
    ...given({ user, expiry }),
  };
}

/** The value; a fault begins with the name of the field. */
function withField<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof UsageFault) throw new UsageFault(`${field}: ${error.message}`);
    throw error;
  }
}
