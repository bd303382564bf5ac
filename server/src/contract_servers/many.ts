// Many servers put on a contract or taken off it at once: all that are named, or none. Each is logged as if it had come alone.
import type { Account } from '../accounts/accounts.ts';
import type { Transaction } from '../db/database.ts';
import { inTurns } from '../db/slices.ts';
import { requireServerOfBody, type Server } from '../servers/servers.ts';
import { removeContractServer, requireOnContract, setContractServer } from './contract_servers.ts';
import { findContractServer } from './store.ts';

const fieldOf = (at: number) => `servers.${at}`;

/**
 * Adds these servers, each with the own limit that it had when it was taken off, if any; one that is on the contract stays as
 * it is. `countNew` is told how many are new before they are added. Errors: those of `countNew`; 409 naming the server that
 * is not there, or does not listen on the account's port scheme.
 */
export async function addContractServers(
  tx: Transaction,
  account: Account,
  names: readonly string[],
  countNew: (amount: number) => void,
): Promise<number> {
  const added: Array<{ server: Server; field: string }> = [];
  for await (const [at, name] of inTurns([...names.entries()])) {
    const server = await requireServerOfBody(tx, name, fieldOf(at));
    if (await findContractServer(tx, account.id, server.id)) continue;
    added.push({ server, field: fieldOf(at) });
  }
  if (added.length > 0) countNew(added.length);
  for await (const { server, field } of inTurns(added)) {
    await setContractServer(tx, account, server, undefined, field);
  }
  return added.length;
}

/** Takes these servers off. Errors: 409 naming the server that is not on the contract. */
export async function removeContractServers(
  tx: Transaction,
  account: Account,
  names: readonly string[],
): Promise<void> {
  for await (const [at, name] of inTurns([...names.entries()])) {
    const server = await requireOnContract(tx, account.id, name, ' Nothing was done.', fieldOf(at));
    await removeContractServer(tx, account, server);
  }
}
