// The servers added to a contract: their own limits, and what the account sees of them.
import { type Account, requireAccount } from '../accounts/accounts.ts';
import { audit } from '../audit.ts';
import { recordChange } from '../changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { conflict, notFound } from '../errors.ts';
import { type GeoStatusRow, geoStatusesOfContract, geoStatusesOfServer } from '../geo/store.ts';
import * as store from '../servers/store.ts';
import { last30Days, nextHour, periodAt, periodUsage } from '../usage/usage.ts';

/**
 * Adds a server to a contract, or changes its own limit there. `limit_bytes` null: the network limit.
 * Errors: 409 when the server does not listen on the account's port scheme.
 */
export async function setContractServer(
  tx: Transaction,
  account: Account,
  server: store.ServerRow,
  limit_bytes: number | null,
): Promise<void> {
  const before = await store.findContractServer(tx, account.id, server.id);
  const row: store.ContractServerRow = {
    account_id: account.id,
    server_id: server.id,
    limit_bytes,
    over_limit: 0,
    over_until: 0,
    added_at: before?.added_at ?? tx.now,
    revision: before?.revision ?? 0,
  };
  Object.assign(row, await judgement(tx, account, row));
  if (before) {
    await store.updateContractServer(tx, row);
    await contractChanged(tx, account.id, server.id);
  } else {
    const schemes = await store.portSchemesOf(tx, server.id);
    if (!schemes.some((scheme) => scheme.id === account.port_scheme_id)) {
      throw conflict(`${server.name} does not listen on the account's port scheme.`);
    }
    row.revision = await recordChange(tx, {
      kind: 'account',
      account_id: account.id,
      server_id: server.id,
      record_id: null,
    });
    await store.insertContractServer(tx, row);
  }
  await audit(tx, {
    account_id: account.id,
    action: before ? 'contract_server.change' : 'contract_server.add',
    target: server.name,
    before,
    after: row,
  });
}

function contractChanged(tx: Transaction, account_id: number, server_id: number): Promise<number> {
  return recordChange(tx, { kind: 'contract', account_id, server_id, record_id: null });
}

/** Takes a server off a contract. Errors: 404. */
export async function removeContractServer(
  tx: Transaction,
  account: Account,
  server: store.ServerRow,
): Promise<void> {
  const before = await store.findContractServer(tx, account.id, server.id);
  if (!before) throw notFound(`${server.name} is not on the contract of ${account.name}.`);
  await store.removeContractServer(tx, account.id, server.id);
  await recordChange(tx, {
    kind: 'account',
    account_id: account.id,
    server_id: server.id,
    record_id: null,
  });
  await audit(tx, {
    account_id: account.id,
    action: 'contract_server.remove',
    target: server.name,
    before,
  });
}

/**
 * Whether the own limit is used up, and when that is to be judged anew. It blocks only with detailed
 * server billing; nodes are told what holds.
 */
async function judgement(
  tx: Transaction,
  account: Account,
  row: store.ContractServerRow,
): Promise<Pick<store.ContractServerRow, 'over_limit' | 'over_until'>> {
  const { start, end } = periodAt(account.start, tx.now);
  const { byServer } = await periodUsage(tx, account.id, start);
  const isOver = row.limit_bytes !== null && (byServer.get(row.server_id) ?? 0) >= row.limit_bytes;
  return isOver ? { over_limit: 1, over_until: end } : { over_limit: 0, over_until: 0 };
}

/** Judges the own limit of a contract server anew, after usage came in or a period ended. */
export async function evaluateServerLimit(
  tx: Transaction,
  account: Account,
  server_id: number,
): Promise<void> {
  const row = await store.findContractServer(tx, account.id, server_id);
  if (!row) return;
  const verdict = await judgement(tx, account, row);
  if (verdict.over_until === row.over_until) return;
  await store.updateContractServer(tx, { ...row, ...verdict });
  if (verdict.over_limit !== row.over_limit) await contractChanged(tx, account.id, server_id);
}

/** Judges contract servers whose billing period over their limit has ended, a batch at a time. Answers how many. */
export async function sweepServerLimits(tx: Transaction, most: number): Promise<number> {
  const rows = await store.overLimit(tx, tx.now, most);
  for (const row of rows) {
    await evaluateServerLimit(tx, await requireAccount(tx, row.account_id), row.server_id);
  }
  return rows.length;
}

export interface Detail {
  location: boolean;
  usage: boolean;
  geostatus: boolean;
}

export interface ContractServer {
  server: store.ServerRow;
  exit_ips: store.ExitIpRow[];
  geo_statuses: GeoStatusRow[];
  usage: { own_limit_bytes: number | null; current: number; last_30_days: number };
}

/**
 * The contract servers, all or those named, each with what `detail` asks for. Also says from when on
 * time alone changes the answer.
 */
export async function listContractServers(
  db: Reader,
  account_id: number,
  names: string[] | undefined,
  detail: Detail,
  now: number,
): Promise<{ account: Account; servers: ContractServer[]; valid_until: number | undefined }> {
  const account = await requireAccount(db, account_id);
  const rows = await store.ofContract(db, account_id);
  const wanted = names ? rows.filter((row) => names.includes(row.name)) : rows;
  const only = wanted.length === 1 ? wanted[0] : undefined;
  const exits = only
    ? await store.exitIpsOfServer(db, only.id)
    : await store.exitIpsOfContract(db, account_id);
  const geo = !detail.geostatus
    ? []
    : only
      ? await geoStatusesOfServer(db, only.id)
      : await geoStatusesOfContract(db, account_id);
  const exitsOf = Map.groupBy(exits, (exit) => exit.server_id);
  const geoOf = Map.groupBy(geo, (status) => status.ip);
  const period = periodAt(account.start, now);
  const current = detail.usage
    ? (await periodUsage(db, account_id, period.start)).byServer
    : undefined;
  const last = detail.usage ? await last30Days(db, account_id, now) : undefined;
  const servers = wanted.map((row) => {
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
