// Contract servers: the servers that were added to a contract, each with its own limit, as the
// account sees them.
import { type Account, requireAccount } from '../accounts/accounts.ts';
import { audit } from '../changes/audit.ts';
import { recordChange } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { inTurns } from '../db/slices.ts';
import { conflict, forbidden, notFound } from '../errors.ts';
import { type GeoStatus, geoStatusesOfContract } from '../geo/geo.ts';
import {
  type ExitIpRow,
  findServerNamed,
  portSchemesOfServer,
  requireServer,
  requireServerOfBody,
  type Server,
} from '../servers/servers.ts';
import { last30Days, nextHour, periodUsage } from '../usage/usage.ts';
import { periodAt } from '../values/periods.ts';
import * as store from './store.ts';

export {
  type PagedServer,
  serverPageSlices,
  serverPlaces,
  serverSorts,
  serverStates,
  serverViews,
} from './page_store.ts';
export {
  accountsOfServer,
  findContractServer,
  findContractServers,
  keptLimits,
  serversOfContract,
} from './store.ts';

/** A server of a contract with its exit IPs, and the details that were requested. */
export interface ContractServer {
  server: store.ServerOfContract;
  exit_ips: ExitIpRow[];
  geo_statuses: GeoStatus[];
  usage: { own_limit_bytes: number | null; current: number; last_30_days: number };
}

export interface Detail {
  location: boolean;
  usage: boolean;
  geostatus: boolean;
}

/**
 * A server that is on the contract, for a body that names it. Errors: 409 with `otherwise`
 * appended.
 */
export async function requireOnContract(
  db: Reader,
  account_id: number,
  name: string,
  otherwise: string,
  field = 'server',
): Promise<Server> {
  const server = await findServerNamed(db, name);
  if (server && (await store.findContractServer(db, account_id, server.id))) return server;
  throw conflict(`${JSON.stringify(name)} is not added to the account.${otherwise}`, {
    code: 'server_not_on_contract',
    field,
  });
}

/**
 * One contract server. Errors: 404 for a name that the network does not have; 403 for a server that
 * is not on the contract.
 */
export async function requireContractServer(
  db: Reader,
  account_id: number,
  name: string,
): Promise<Server> {
  const server = await requireServer(db, name);
  if (!(await store.findContractServer(db, account_id, server.id))) {
    throw forbidden(
      `${name} is a server of the network, but not on your contract; ask your provider to add it.`,
      { code: 'server_not_on_contract' },
    );
  }
  return server;
}

/**
 * Adds a server to a contract, or changes its limit there. `limit_bytes` null: only the network
 * limit; undefined: the limit stays, even the one from before the server was removed.
 * Errors: 409, naming the field if one is given, when the server does not listen on the account's
 * port scheme.
 */
export async function setContractServer(
  tx: Transaction,
  account: Account,
  server: Server,
  limit_bytes: number | null | undefined,
  field?: string,
): Promise<void> {
  const before = await store.findContractServer(tx, account.id, server.id);
  const earlier = before ?? (await store.takeKeptLimit(tx, account.id, server.id));
  const row: store.ContractServerRow = {
    account_id: account.id,
    server_id: server.id,
    limit_bytes: limit_bytes === undefined ? (earlier?.limit_bytes ?? null) : limit_bytes,
    over_limit: 0,
    over_until: 0,
    added_at: before?.added_at ?? tx.now,
    revision: before?.revision ?? 0,
  };
  Object.assign(row, await limitState(tx, account, row));
  if (before) {
    await store.update(tx, row);
    await recordServerChange(tx, 'contract', account.id, server.id);
  } else {
    const schemes = await portSchemesOfServer(tx, server.id);
    if (!schemes.some((scheme) => scheme.id === account.port_scheme_id)) {
      throw conflict(`${server.name} does not listen on the account's port scheme.`, {
        code: 'port_scheme_missing',
        ...(field === undefined ? {} : { field }),
      });
    }
    row.revision = await recordServerChange(tx, 'account', account.id, server.id);
    await store.insert(tx, row);
  }
  await audit(tx, {
    account_id: account.id,
    action: before ? 'contract_server.change' : 'contract_server.add',
    target: server.name,
    before,
    after: row,
  });
}

/**
 * Notifies the nodes of one server: `account` when it comes or goes, `contract` when its terms
 * change.
 */
function recordServerChange(
  tx: Transaction,
  kind: 'account' | 'contract',
  account_id: number,
  server_id: number,
): Promise<number> {
  return recordChange(tx, { kind, account_id, server_id });
}

/**
 * Removes a server from a contract. Its limit there is stored and applies when it is added again.
 * Errors: 404.
 */
export async function removeContractServer(
  tx: Transaction,
  account: Account,
  server: Server,
): Promise<void> {
  const before = await store.findContractServer(tx, account.id, server.id);
  if (!before) throw notFound(`${server.name} is not on the contract of ${account.name}.`);
  await store.remove(tx, account.id, server.id);
  await store.keepLimit(tx, before);
  await recordServerChange(tx, 'account', account.id, server.id);
  await audit(tx, {
    account_id: account.id,
    action: 'contract_server.remove',
    target: server.name,
    before,
  });
}

/**
 * Whether the server's own limit is used up, and when to evaluate that again. It blocks only with
 * detailed server billing; nodes receive the result.
 */
async function limitState(
  tx: Transaction,
  account: Account,
  row: store.ContractServerRow,
): Promise<Pick<store.ContractServerRow, 'over_limit' | 'over_until'>> {
  if (row.limit_bytes === null) return { over_limit: 0, over_until: 0 };
  const { start, end } = periodAt(account.start, tx.now);
  const { total } = await periodUsage(tx, account.id, start, [row.server_id]);
  const isOver = total >= row.limit_bytes;
  return isOver ? { over_limit: 1, over_until: end } : { over_limit: 0, over_until: 0 };
}

/**
 * The bytes that an account may still transfer at a server, until (epoch seconds) its next billing
 * period begins.
 */
export interface BytesLeft {
  account: number;
  left_bytes: number;
  until: number;
}

/**
 * The bytes that the stricter of the enforced limits leaves an account at a server; undefined where
 * none is enforced.
 */
export async function bytesLeft(
  tx: Transaction,
  account: Account,
  server_id: number,
): Promise<BytesLeft | undefined> {
  if (account.on_limit !== 'refuse') return undefined;
  const { start, end } = periodAt(account.start, tx.now);
  const { total, byServer } = await periodUsage(tx, account.id, start);
  const row = await store.findContractServer(tx, account.id, server_id);
  // A server's own limit applies only with detailed server billing.
  const serverLimit = account.detailed_billing === 1 ? row?.limit_bytes : undefined;
  const ownLeft = (serverLimit ?? Number.MAX_SAFE_INTEGER) - (byServer.get(server_id) ?? 0);
  const left_bytes = Math.max(0, Math.min(account.limit_bytes - total, ownLeft));
  return { account: account.id, left_bytes, until: end };
}

/**
 * Evaluates the own limit of a contract server again, after new usage or at the end of a period.
 */
export async function evaluateServerLimit(
  tx: Transaction,
  account: Account,
  server_id: number,
): Promise<void> {
  const row = await store.findContractServer(tx, account.id, server_id);
  if (!row) return;
  const limit = await limitState(tx, account, row);
  if (limit.over_until === row.over_until) return;
  await store.update(tx, { ...row, ...limit });
  if (limit.over_limit !== row.over_limit)
    await recordServerChange(tx, 'contract', account.id, server_id);
}

/**
 * Evaluates contract servers again that were over their limit in a billing period that has ended, a
 * batch at a time. Returns how many.
 */
export async function sweepServerLimits(tx: Transaction, maxRows: number): Promise<number> {
  const rows = await store.overLimit(tx, tx.now, maxRows);
  for (const row of rows) {
    await evaluateServerLimit(tx, await requireAccount(tx, row.account_id), row.server_id);
  }
  return rows.length;
}

/**
 * The contract servers, all or those named, each with what `detail` asks for. Also returns from
 * when on time alone changes the response.
 */
export async function listContractServers(
  db: Reader,
  account_id: number,
  names: string[] | undefined,
  detail: Detail,
  now: number,
): Promise<{ account: Account; servers: ContractServer[]; valid_until: number | undefined }> {
  const account = await requireAccount(db, account_id);
  const rows = await store.serversOfContract(db, account_id, names);
  const ids = names && rows.map(({ id }) => id);
  const of = { account_id, server_ids: ids };
  const exits = await store.exitIpsOfContract(db, of);
  const geo = detail.geostatus ? await geoStatusesOfContract(db, of) : [];
  const exitsOf = Map.groupBy(exits, (exit) => exit.server_id);
  const geoOf = Map.groupBy(geo, (status) => status.ip);
  const period = periodAt(account.start, now);
  const current = detail.usage
    ? (await periodUsage(db, account_id, period.start, ids)).byServer
    : undefined;
  const last = detail.usage ? await last30Days(db, account_id, now, ids) : undefined;
  const servers = rows.map((row) => {
    const exit_ips = exitsOf.get(row.id) ?? [];
    return {
      server: row,
      exit_ips,
      geo_statuses: exit_ips.flatMap((exit) => geoOf.get(exit.ip) ?? []),
      usage: {
        own_limit_bytes: row.own_limit_bytes,
        current: current?.get(row.id) ?? 0,
        last_30_days: last?.get(row.id) ?? 0,
      },
    };
  });
  return {
    account,
    servers,
    valid_until: detail.usage ? Math.min(period.end, nextHour(now)) : undefined,
  };
}

// ---- Many at once: all that are named, or none ---------------------------------------------

const fieldOf = (at: number) => `servers.${at}`;

/**
 * Adds these servers, each with the limit that it had when it was removed, if any; servers that are
 * on the contract stay unchanged. `countNew` is called with the number of new ones before they are
 * added.
 * Errors: those of `countNew`; 409 naming the server that does not exist, or does not listen on the
 * account's port scheme.
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
    if (await store.findContractServer(tx, account.id, server.id)) continue;
    added.push({ server, field: fieldOf(at) });
  }
  if (added.length > 0) countNew(added.length);
  for await (const { server, field } of inTurns(added)) {
    await setContractServer(tx, account, server, undefined, field);
  }
  return added.length;
}

/** Removes these servers. Errors: 409 naming the server that is not on the contract. */
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
