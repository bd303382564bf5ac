// Changing and removing port schemes. It is done here, where their servers and accounts are known,
// because no port that is in use may go.
import { accountsOnScheme } from '../accounts/accounts.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { inTurns } from '../db/slices.ts';
import { conflict } from '../errors.ts';
import {
  findPortScheme,
  type PortScheme,
  putBases,
  removePortScheme,
  sharePorts,
  toPortScheme,
} from '../port_schemes/port_schemes.ts';
import { serverChanged } from './server_changes.ts';
import * as store from './store.ts';

/** How many are named at most. */
const maxNamed = 3;

function named(noun: string, names: readonly string[], all: number): string {
  const more = all > names.length ? ` and ${all - names.length} more` : '';
  return `${noun}${all === 1 ? '' : 's'} ${names.join(', ')}${more}`;
}

/** The accounts that use a port scheme, in words; undefined: there is none. */
async function accountsWith(db: Reader, id: number): Promise<string | undefined> {
  const { first, all } = await accountsOnScheme(db, id, maxNamed);
  return all > 0 ? named('account', first, all) : undefined;
}

/**
 * Gives a port scheme other bases, and notifies the nodes of its servers. Errors: 404; 400 when two
 * of the bases share ports; 409 when accounts use the scheme and one of its bases would go, or when
 * a server has another scheme with these ports.
 */
export async function changePortScheme(
  tx: Transaction,
  name: string,
  bases: PortScheme['bases'],
): Promise<PortScheme> {
  const before = await findPortScheme(tx, name);
  const oldBase = before.bases.find(
    (old) => !bases.some(({ base, service }) => base === old.base && service === old.service),
  );
  const users = oldBase && (await accountsWith(tx, before.id));
  if (users) {
    throw conflict(`${oldBase.base} ${oldBase.service} is used by the ${users}; it must stay.`, {
      code: 'port_scheme_in_use',
      field: 'bases',
    });
  }
  const others = await store.otherSchemes(tx, before.id);
  const other = others.find((row) => sharePorts(toPortScheme(row).bases, bases));
  if (other) {
    throw conflict(
      `they would share ports with the port scheme ${other.name}, which ${other.server} has, too.`,
      { field: 'bases' },
    );
  }
  const after = await putBases(tx, before, bases);
  for await (const { server_id } of inTurns(await store.serversOnScheme(tx, before.id))) {
    await serverChanged(tx, server_id);
  }
  return after;
}

/** Removes an unused port scheme. Errors: 404; 409 naming the accounts and servers that use it. */
export async function dropPortScheme(tx: Transaction, name: string): Promise<void> {
  const scheme = await findPortScheme(tx, name);
  if (name === 'default') {
    throw conflict('default stays: new accounts and servers get it.', {
      code: 'port_scheme_in_use',
    });
  }
  const { first, all } = await store.firstOnScheme(tx, scheme.id, maxNamed);
  const users = [await accountsWith(tx, scheme.id), all > 0 && named('server', first, all)];
  const holders = users.filter(Boolean);
  if (holders.length > 0) {
    throw conflict(`${name} is the port scheme of the ${holders.join(' and of the ')}.`, {
      code: 'port_scheme_in_use',
    });
  }
  await removePortScheme(tx, scheme);
}
