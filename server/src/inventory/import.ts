// Carries out what an inventory changes: every write of an import, in one transaction.
import type { PortScheme } from '../accounts/accounts.ts';
import { audit } from '../audit.ts';
import { nextId } from '../changes.ts';
import type { Transaction } from '../db/database.ts';
import { dropServer, serverChanged } from '../servers/servers.ts';
import * as store from '../servers/store.ts';
import { type InventoryServer, type Plan, type Present, summaryOf } from './inventory.ts';

/** Carries a plan out, in the transaction that made it. */
export async function carryOut(tx: Transaction, plan: Plan): Promise<void> {
  // First everything that gives way, so that addresses, port bases and hostnames may change hands.
  for (const { before, after } of plan.changed) await releaseOf(tx, before, after);
  for (const { row } of plan.removed) await dropServer(tx, row.id);
  for (const { before, after } of plan.changed) await changeTo(tx, before, after, plan.schemes);
  for (const server of plan.added) await add(tx, server, plan.schemes);
  for (const { row, exit_ips } of plan.removed) {
    await serverChanged(tx, row.id);
    await audit(tx, {
      account_id: null,
      action: 'server.remove',
      target: row.name,
      before: { ...row, exit_ips },
    });
  }
  const summary = summaryOf(plan);
  if (plan.added.length + plan.changed.length + plan.removed.length === 0) return;
  await audit(tx, {
    account_id: null,
    action: 'inventory.import',
    target: 'network',
    after: {
      ...summary,
      added: summary.added.length,
      changed: summary.changed.length,
      removed: summary.removed.length,
    },
  });
}

async function releaseOf(tx: Transaction, before: Present, after: InventoryServer): Promise<void> {
  const { id } = before.row;
  for (const exit of before.exit_ips) {
    const kept = after.exit_ips.find(({ ip }) => ip === exit.ip);
    if (!kept) await store.removeExitIp(tx, id, exit.ip);
    else if (kept.port_base !== exit.port_base) await store.takeExitIp(tx, id, exit.ip);
  }
  if (before.row.hostname !== after.hostname) await store.releaseHostname(tx, id);
}

async function changeTo(
  tx: Transaction,
  before: Present,
  after: InventoryServer,
  schemes: Map<string, PortScheme>,
): Promise<void> {
  const { where: _, exit_ips, port_schemes, services, ...plain } = after;
  const row: store.ServerRow = { ...before.row, ...plain, services: JSON.stringify(services) };
  await store.update(tx, row);
  if (port_schemes) await store.setPortSchemes(tx, row.id, idsOf(port_schemes, schemes));
  const known = new Map(before.exit_ips.map((exit) => [exit.ip, exit]));
  const rows = exit_ips
    .filter(({ ip, port_base }) => known.get(ip)?.port_base !== port_base)
    .map(({ ip, port_base }) => {
      const { status = 'unknown', status_time = 0 } = known.get(ip) ?? {};
      return { server_id: row.id, ip, port_base, status, status_time };
    });
  await store.insertExitIps(tx, rows);
  await serverChanged(tx, row.id);
  await audit(tx, {
    account_id: null,
    action: 'server.change',
    target: row.name,
    before: {
      ...before.row,
      port_schemes: before.port_schemes,
      exit_ips: plainExits(before.exit_ips),
    },
    after: {
      ...row,
      port_schemes: port_schemes ?? before.port_schemes,
      exit_ips: plainExits(exit_ips),
    },
  });
}

async function add(
  tx: Transaction,
  server: InventoryServer,
  schemes: Map<string, PortScheme>,
): Promise<void> {
  const { where: _, exit_ips, port_schemes = ['default'], services, ...plain } = server;
  const row: store.ServerRow = {
    id: await nextId(tx, 0, 'servers'),
    ...plain,
    services: JSON.stringify(services),
    applied_revision: 0,
    created_at: tx.now,
  };
  await store.insert(tx, row);
  await store.setPortSchemes(tx, row.id, idsOf(port_schemes, schemes));
  const exits = plainExits(exit_ips);
  const unchecked = { server_id: row.id, status: 'unknown', status_time: 0 };
  await store.insertExitIps(
    tx,
    exits.map((exit) => ({ ...unchecked, ...exit })),
  );
  await serverChanged(tx, row.id);
  await audit(tx, {
    account_id: null,
    action: 'server.create',
    target: row.name,
    after: { ...row, port_schemes, exit_ips: exits },
  });
}

function idsOf(names: string[], schemes: Map<string, PortScheme>): number[] {
  return names.flatMap((name) => schemes.get(name)?.id ?? []);
}

function plainExits(exits: Array<{ ip: string; port_base: number }>) {
  return exits.map(({ ip, port_base }) => ({ ip, port_base }));
}
