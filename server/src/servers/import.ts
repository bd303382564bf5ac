// Brings the network to what an inventory says: first the whole plan with its conflicts, then the writes.
import { listPortSchemes, type PortScheme } from '../accounts/accounts.ts';
import { audit } from '../audit.ts';
import { nextId } from '../changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { conflict } from '../errors.ts';
import { type Inventory, type InventoryServer, refuseFaults } from './inventory.ts';
import { serverChanged, sharedPortsFault } from './servers.ts';
import * as store from './store.ts';

/** A server of the network as it is, with what an inventory may change. */
interface Present {
  row: store.ServerRow;
  port_schemes: string[];
  exit_ips: store.ExitIpRow[];
}

interface PlannedChange {
  before: Present;
  after: InventoryServer;
  fields: string[];
}

export interface Plan {
  added: InventoryServer[];
  changed: PlannedChange[];
  removed: Present[];
  unchanged: number;
  schemes: Map<string, PortScheme>;
}

const plainFields = ['hostname', 'title', 'city', 'country', 'latitude', 'longitude'] as const;

/** Works out what an inventory changes. Errors: 409 that lists every conflict with what is there. */
export async function planImport(db: Reader, inventory: Inventory): Promise<Plan> {
  const schemes = new Map((await listPortSchemes(db)).map((scheme) => [scheme.name, scheme]));
  const present = await readNetwork(db);
  const named = new Set(inventory.servers.map((server) => server.name));
  const missing = Array.from(present.values()).filter(({ row }) => !named.has(row.name));
  const plan: Plan = {
    added: [],
    changed: [],
    removed: inventory.remove_missing ? missing : [],
    unchanged: 0,
    schemes,
  };
  for (const after of inventory.servers) {
    const before = present.get(after.name);
    const fields = before ? changedFields(before, after) : [];
    if (!before) plan.added.push(after);
    else if (fields.length > 0) plan.changed.push({ before, after, fields });
    else plan.unchanged += 1;
  }
  const staying = inventory.remove_missing ? [] : missing;
  refuseFaults(await findConflicts(db, inventory, plan, staying), conflict);
  return plan;
}

async function readNetwork(db: Reader): Promise<Map<string, Present>> {
  const [servers, exits, schemes] = [
    await store.all(db),
    Map.groupBy(await store.exitIps(db), (exit) => exit.server_id),
    Map.groupBy(await store.schemeNames(db), (scheme) => scheme.server_id),
  ];
  return new Map(
    servers.map(({ ip_count: _, ...row }) => [
      row.name,
      {
        row,
        port_schemes: (schemes.get(row.id) ?? []).map((scheme) => scheme.name),
        exit_ips: exits.get(row.id) ?? [],
      },
    ]),
  );
}

function changedFields({ row, port_schemes, exit_ips }: Present, after: InventoryServer): string[] {
  const fields: string[] = plainFields.filter((field) => row[field] !== after[field]);
  const isSameSet = (one: string[], other: string[]) =>
    one.length === other.length && one.every((word) => other.includes(word));
  if (!isSameSet(JSON.parse(row.services) as string[], after.services)) fields.push('services');
  if (after.port_schemes && !isSameSet(port_schemes, after.port_schemes)) fields.push('port_schemes');
  const exits = (list: Array<{ ip: string; port_base: number }>) =>
    list.map(({ ip, port_base }) => `${ip} ${port_base}`);
  if (!isSameSet(exits(exit_ips), exits(after.exit_ips))) fields.push('exit_ips');
  return fields;
}

/** What stands against the inventory: servers outside of it, contracts, unknown port schemes. */
async function findConflicts(
  db: Reader,
  { servers }: Inventory,
  { schemes, changed, removed }: Plan,
  staying: Present[],
): Promise<string[]> {
  const faults: string[] = [];
  const hostnames = new Map(staying.map(({ row }) => [row.hostname, row.name]));
  const ips = new Map(staying.flatMap(({ row, exit_ips }) => exit_ips.map(({ ip }) => [ip, row.name])));
  for (const { where, hostname, exit_ips, port_schemes = [] } of servers) {
    const holder = hostnames.get(hostname);
    if (holder) faults.push(`${where}, hostname: ${hostname} belongs to ${holder}.`);
    for (const exit of exit_ips) {
      const owner = ips.get(exit.ip);
      if (owner) faults.push(`${exit.where}, ip: ${exit.ip} belongs to ${owner}.`);
    }
    const known = port_schemes.flatMap((name) => schemes.get(name) ?? []);
    const unknown = port_schemes.find((name) => !schemes.has(name));
    if (unknown) faults.push(`${where}, port_schemes: there is no port scheme named ${JSON.stringify(unknown)}.`);
    const shared = sharedPortsFault(known);
    if (shared) faults.push(`${where}, port_schemes: ${shared}`);
  }
  const used = Map.groupBy(await store.allSchemesInUse(db), (use) => use.server_id);
  for (const { before, after } of changed) {
    const dropped = (used.get(before.row.id) ?? []).find(
      ({ name }) => after.port_schemes && !after.port_schemes.includes(name),
    );
    if (dropped) faults.push(`${after.where}, port_schemes: ${dropped.name} is used by a contract on ${after.name}.`);
  }
  for (const { row } of removed) {
    if (used.has(row.id)) faults.push(`${row.name} is not in the inventory, but on a contract; remove it there first.`);
  }
  return faults;
}

/** Carries a plan out, in the transaction that made it. */
export async function carryOut(tx: Transaction, plan: Plan): Promise<void> {
  // First everything that gives way, so that addresses, port bases and hostnames may change hands.
  for (const { before, after } of plan.changed) await releaseOf(tx, before, after);
  for (const { row } of plan.removed) await store.remove(tx, row.id);
  for (const { before, after } of plan.changed) await changeTo(tx, before, after, plan.schemes);
  for (const server of plan.added) await add(tx, server, plan.schemes);
  for (const { row, exit_ips } of plan.removed) {
    await serverChanged(tx, row.id);
    await audit(tx, { account_id: null, action: 'server.remove', target: row.name, before: { ...row, exit_ips } });
  }
  const summary = summaryOf(plan);
  if (plan.added.length + plan.changed.length + plan.removed.length === 0) return;
  await audit(tx, {
    account_id: null, action: 'inventory.import', target: 'network',
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
    account_id: null, action: 'server.change', target: row.name,
    before: { ...before.row, port_schemes: before.port_schemes, exit_ips: plainExits(before.exit_ips) },
    after: { ...row, port_schemes: port_schemes ?? before.port_schemes, exit_ips: plainExits(exit_ips) },
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
  await store.insertExitIps(tx, exits.map((exit) => ({ ...unchecked, ...exit })));
  await serverChanged(tx, row.id);
  await audit(tx, {
    account_id: null, action: 'server.create', target: row.name,
    after: { ...row, port_schemes, exit_ips: exits },
  });
}

function idsOf(names: string[], schemes: Map<string, PortScheme>): number[] {
  return names.flatMap((name) => schemes.get(name)?.id ?? []);
}

function plainExits(exits: Array<{ ip: string; port_base: number }>) {
  return exits.map(({ ip, port_base }) => ({ ip, port_base }));
}

/** What a plan changes, by name. An exit IP that moves is removed there and added here. */
export function summaryOf({ added, changed, removed, unchanged }: Plan) {
  const counts = { exit_ips_added: 0, exit_ips_removed: 0 };
  for (const { exit_ips } of added) counts.exit_ips_added += exit_ips.length;
  for (const { exit_ips } of removed) counts.exit_ips_removed += exit_ips.length;
  for (const { before, after } of changed) {
    const had = new Set(before.exit_ips.map(({ ip }) => ip));
    const kept = after.exit_ips.filter(({ ip }) => had.has(ip)).length;
    counts.exit_ips_added += after.exit_ips.length - kept;
    counts.exit_ips_removed += had.size - kept;
  }
  return {
    added: added.map(({ name }) => name),
    changed: changed.map(({ after, fields }) => ({ name: after.name, fields })),
    removed: removed.map(({ row }) => row.name),
    unchanged,
    ...counts,
  };
}
