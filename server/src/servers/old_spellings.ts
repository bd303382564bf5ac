// Addresses of exits and hostnames of servers that were stored before they were checked
// (docs/decisions/0081-a-record-that-cannot-be-read.md). An operator says which of them stays.
import { canonicalAddress } from '../../../kit/src/address.ts';
import type { Reader } from '../db/database.ts';
import { parseHostname } from '../values/hostname.ts';
import * as store from './store.ts';

interface OldSpelling {
  kind: 'exit' | 'hostname';
  server: string;
  stored: string;
  /** Undefined: the text is no address or hostname at all. */
  canonical: string | undefined;
  /** The server that has the same one in the canonical, or another, spelling. */
  also_on: string | undefined;
}

/** The spellings that are stored and are not canonical. */
export async function oldSpellings(db: Reader): Promise<OldSpelling[]> {
  const [exits, hostnames] = await Promise.all([store.exitNames(db), store.hostnamesOfServers(db)]);
  return [
    ...amongst('exit', exits, canonicalAddress),
    // `localhost` is the name of a server of this machine alone, such as the demo's.
    ...amongst(
      'hostname',
      hostnames.filter(({ stored }) => stored !== 'localhost'),
      canonicalHostname,
    ),
  ];
}

function amongst(
  kind: OldSpelling['kind'],
  names: readonly store.StoredName[],
  canonicalOf: (text: string) => string | undefined,
): OldSpelling[] {
  const spelled = names.map((name) => ({ ...name, kind, canonical: canonicalOf(name.stored) }));
  const byCanonical = Map.groupBy(spelled, ({ canonical }) => canonical);
  return spelled
    .filter(({ stored, canonical }) => stored !== canonical)
    .map((name) => {
      const same = name.canonical === undefined ? [] : (byCanonical.get(name.canonical) ?? []);
      return { ...name, also_on: same.find(({ stored }) => stored !== name.stored)?.server };
    });
}

function canonicalHostname(text: string): string | undefined {
  try {
    return parseHostname('hostname', text);
  } catch {
    return undefined;
  }
}
