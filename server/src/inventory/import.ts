// Carries out the plan of an inventory: every write of an import, in one transaction.
import { audit } from '../changes/audit.ts';
import type { Transaction } from '../db/database.ts';
import type { PortScheme } from '../port_schemes/port_schemes.ts';
import * as servers from '../servers/servers.ts';
import { type InventoryServer, type Plan, type Present, summaryOf } from './inventory.ts';

/**
 * Carries a plan out, in the transaction that made it. Errors: 400 and 409, those of the changes.
 */
export async function carryOut(tx: Transaction, plan: Plan): Promise<void> {
  // Removals first, so that addresses, port bases and hostnames may move between servers.
  for (const { before, after } of plan.changed) await releaseOf(tx, before, after);
  for (const { row } of plan.removed) await servers.dropServer(tx, row);
  for (const { before, after } of plan.changed) await changeTo(tx, before, after, plan.schemes);
  for (const server of plan.added) await add(tx, server, plan.schemes);
  for (const { row, exit_ips } of plan.removed) {
    await servers.serverChanged(tx, row.id);
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
    const remaining = after.exit_ips.find(({ ip }) => ip === exit.ip);
    if (!remaining) await servers.deleteExitIp(tx, id, exit.ip);
    else if (remaining.port_base !== exit.port_base) await servers.takeExitIp(tx, id, exit.ip);
  }
  if (before.row.hostname !== after.hostname) await servers.releaseHostname(tx, id);
}

async function changeTo(
  tx: Transaction,
  before: Present,
  after: InventoryServer,
  schemes: Map<string, PortScheme>,
): Promise<void> {
  const { where: _, exit_ips, port_schemes, services, ...plain } = after;
  const row: servers.Server = { ...before.row, ...plain, services: JSON.stringify(services) };
  await servers.updateServer(tx, row);
  if (port_schemes) await servers.setPortSchemes(tx, row.id, idsOf(port_schemes, schemes));
  const exitOf = new Map(before.exit_ips.map((exit) => [exit.ip, exit]));
  const rows = exit_ips
    .filter(({ ip, port_base }) => exitOf.get(ip)?.port_base !== port_base)
    .map(({ ip, port_base }) => {
      const { status = 'unknown', status_time = 0, added_at = tx.now } = exitOf.get(ip) ?? {};
      return { server_id: row.id, ip, port_base, status, status_time, added_at };
    });
  await servers.insertExitIps(tx, rows);
  await servers.serverChanged(tx, row.id);
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
  const { where: _, exit_ips, port_schemes = ['default'], ...fields } = server;
  const row = await servers.newServerRow(tx, fields);
  await servers.insertServer(tx, row);
  await servers.setPortSchemes(tx, row.id, idsOf(port_schemes, schemes));
  const exits = plainExits(exit_ips);
  const unchecked = { server_id: row.id, status: 'unknown', status_time: 0, added_at: tx.now };
  await servers.insertExitIps(
    tx,
    exits.map((exit) => ({ ...unchecked, ...exit })),
  );
  await servers.serverChanged(tx, row.id);
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

function plainExits(exits: readonly servers.Exit[]): servers.Exit[] {
  return exits.map(({ ip, port_base }) => ({ ip, port_base }));
}
