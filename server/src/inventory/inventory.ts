// Inventories: all servers with their exit IPs as the network should be, and the plan of changes to
// get there.
import type { Reader } from '../db/database.ts';
import { type ApiError, conflict, type ErrorCode } from '../errors.ts';
import {
  listPortSchemes,
  type PortScheme,
  sharedPortsFault,
} from '../port_schemes/port_schemes.ts';
import {
  type Exit,
  type ExitIpRow,
  listExitIps,
  listServerPortSchemes,
  listServers,
  type NewServer,
  type Server,
  schemesInUse,
  servicesOf,
} from '../servers/servers.ts';
import type { Hostname } from '../values/hostname.ts';

/** A server of an inventory: all of its fields, and all of its exit IPs. */
export interface InventoryServer extends NewServer {
  /** The place in the inventory, for messages: `servers[3]` or `row 4`. */
  where: string;
  hostname: Hostname;
  exit_ips: Array<Exit & { where: string }>;
}

/** A server as an export of the network writes it. */
export interface WrittenServer extends NewServer {
  port_schemes: string[];
  exit_ips: Array<{ ip: string; port_base: number }>;
}

export interface Inventory {
  servers: InventoryServer[];
  /** Whether to remove servers of the network that are not in it. */
  remove_missing: boolean;
}

const maxFaults = 100;

/** Errors: an error of this kind and code that lists the faults, if there are any. */
export function rejectFaults(
  faults: string[],
  errorOf: (message: string, details: { code: ErrorCode }) => ApiError,
  code: ErrorCode,
): void {
  if (faults.length === 0) return;
  const shown = faults.slice(0, maxFaults).map((fault) => `\n- ${fault}`);
  const more = faults.length > maxFaults ? `\n- and ${faults.length - maxFaults} more` : '';
  const count = faults.length === 1 ? 'a fault' : `${faults.length} faults`;
  throw errorOf(`The inventory has ${count}; nothing was changed.${shown.join('')}${more}`, {
    code,
  });
}

/** A server of the network, with the fields that an inventory may change. */
export interface Present {
  row: Server;
  port_schemes: string[];
  exit_ips: ExitIpRow[];
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

/**
 * Works out the changes of an inventory. Errors: 409 that lists every conflict with existing
 * records.
 */
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
  const conflicts = await findConflicts(db, inventory, plan, staying);
  rejectFaults(conflicts, conflict, 'inventory_conflict');
  return plan;
}

/**
 * The network as an inventory: servers by name, exit IPs by port base. Importing it changes
 * nothing.
 */
export async function writtenInventory(db: Reader): Promise<WrittenServer[]> {
  const present = Array.from((await readNetwork(db)).values());
  const servers = present.map(({ row, port_schemes, exit_ips }) => {
    const { name, hostname, title, city, country, latitude, longitude } = row;
    return {
      ...{ name, hostname, title, city, country, latitude, longitude },
      services: servicesOf(row),
      port_schemes: port_schemes.toSorted(),
      exit_ips: exit_ips
        .map(({ ip, port_base }) => ({ ip, port_base }))
        .sort((a, b) => a.port_base - b.port_base),
    };
  });
  return servers.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The servers of the network, by name. */
export async function readNetwork(db: Reader): Promise<Map<string, Present>> {
  const [servers, exits, schemes] = [
    await listServers(db),
    Map.groupBy(await listExitIps(db), (exit) => exit.server_id),
    Map.groupBy(await listServerPortSchemes(db), (scheme) => scheme.server_id),
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
  const isSameSet = (a: string[], b: string[]) =>
    a.length === b.length && a.every((word) => b.includes(word));
  if (!isSameSet(servicesOf(row), after.services)) fields.push('services');
  if (after.port_schemes && !isSameSet(port_schemes, after.port_schemes))
    fields.push('port_schemes');
  const exits = (list: Array<{ ip: string; port_base: number }>) =>
    list.map(({ ip, port_base }) => `${ip} ${port_base}`);
  if (!isSameSet(exits(exit_ips), exits(after.exit_ips))) fields.push('exit_ips');
  return fields;
}

/**
 * The conflicts of an inventory with servers outside of it, with contracts and with port schemes.
 */
async function findConflicts(
  db: Reader,
  { servers }: Inventory,
  { schemes, changed, removed }: Plan,
  staying: Present[],
): Promise<string[]> {
  const faults: string[] = [];
  const hostnames = new Map(staying.map(({ row }) => [row.hostname, row.name]));
  const ips = new Map(
    staying.flatMap(({ row, exit_ips }) => exit_ips.map(({ ip }) => [ip, row.name])),
  );
  for (const { where, hostname, exit_ips, port_schemes = [] } of servers) {
    const holder = hostnames.get(hostname);
    if (holder) faults.push(`${where}, hostname: ${hostname} belongs to ${holder}.`);
    for (const exit of exit_ips) {
      const owner = ips.get(exit.ip);
      if (owner) faults.push(`${exit.where}, ip: ${exit.ip} belongs to ${owner}.`);
    }
    const knownSchemes = port_schemes.flatMap((name) => schemes.get(name) ?? []);
    const unknown = port_schemes.find((name) => !schemes.has(name));
    if (unknown)
      faults.push(
        `${where}, port_schemes: there is no port scheme named ${JSON.stringify(unknown)}.`,
      );
    const shared = sharedPortsFault(knownSchemes);
    if (shared) faults.push(`${where}, port_schemes: ${shared}`);
  }
  const used = Map.groupBy(await schemesInUse(db), (use) => use.server_id);
  for (const { before, after } of changed) {
    const dropped = (used.get(before.row.id) ?? []).find(
      ({ name }) => after.port_schemes && !after.port_schemes.includes(name),
    );
    if (dropped)
      faults.push(
        `${after.where}, port_schemes: ${dropped.name} is used by a contract on ${after.name}.`,
      );
  }
  for (const { row } of removed) {
    if (used.has(row.id))
      faults.push(`${row.name} is not in the inventory, but on a contract; remove it there first.`);
  }
  return faults;
}

/** The changes of a plan, by name. An exit IP that moves is removed there and added here. */
export function summaryOf({ added, changed, removed, unchanged }: Plan) {
  const counts = { exit_ips_added: 0, exit_ips_removed: 0 };
  for (const { exit_ips } of added) counts.exit_ips_added += exit_ips.length;
  for (const { exit_ips } of removed) counts.exit_ips_removed += exit_ips.length;
  for (const { before, after } of changed) {
    const earlierIps = new Set(before.exit_ips.map(({ ip }) => ip));
    const stayingExits = after.exit_ips.filter(({ ip }) => earlierIps.has(ip)).length;
    counts.exit_ips_added += after.exit_ips.length - stayingExits;
    counts.exit_ips_removed += earlierIps.size - stayingExits;
  }
  return {
    added: added.map(({ name }) => name),
    changed: changed.map(({ after, fields }) => ({ name: after.name, fields })),
    removed: removed.map(({ row }) => row.name),
    unchanged,
    ...counts,
  };
}
