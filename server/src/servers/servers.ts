// Servers: the proxy machines of the network, with their exit IPs and the health of each.

import type { Address } from '../../../kit/src/address.ts';
import { bumpVersion, countHeld, networkVersion, nextId } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { inTurns } from '../db/slices.ts';
import { checkAll, conflict, notFound } from '../errors.ts';
import {
  type PortScheme,
  requirePortScheme,
  sharedPortsFault,
  toPortScheme,
} from '../port_schemes/port_schemes.ts';
import { storedList } from '../values/stored_json.ts';
import { recordServerChange } from './server_changes.ts';
import { checkServerTexts, exitAddressOf, serverHostname } from './spelling.ts';
import * as store from './store.ts';

/**
 * A machine of the network: its name stays; its hostname and place may change. It listens on one or
 * more port schemes. Connections leave it from its exit IPs, each with its last health report.
 */
export type Server = store.ServerRow;
export { confinedExits, confinementOf } from './confined_exits.ts';
export { oldSpellings } from './old_spellings.ts';
export {
  exitFilters,
  nodeStates,
  type ServerFilter,
  serverPageSlices,
  serverPlaces,
  serverSorts,
} from './page_store.ts';
export { changePortScheme, dropPortScheme } from './port_scheme_changes.ts';
export { inventoryVersion, serverChanged } from './server_changes.ts';
export {
  checkServerTexts,
  exitAddressOf,
  placeFields,
  placeText,
  serverHostname,
} from './spelling.ts';
export type { ExitCounts, ExitIpRow, PlacedExitIp } from './store.ts';
// The writes among these neither log nor audit: an inventory changes many servers at once, and does
// that itself.
export {
  allExitCounts,
  deleteExitIp,
  exitCounts,
  exitIpsAfter,
  exitIpsOfServer,
  findExits,
  findServer,
  homeOfExit,
  insertExitIps,
  insertServer,
  listExitIps,
  listServerPortSchemes,
  listServers,
  portSchemesOf,
  raiseVpnGeneration,
  releaseHostname,
  schemesInUse,
  schemeUses,
  serverNames,
  serversOnScheme,
  setAppliedRevision,
  setPortSchemes,
  takeExitIp,
  updateServer,
} from './store.ts';

export const services = ['proxy', 'proxy-https', 'vpn-ikev1', 'vpn-ikev2', 'vpn-l2tp'] as const;
export type Service = (typeof services)[number];

/** The services of a server, without those that cannot be parsed. */
export function servicesOf({ services: text }: Pick<Server, 'services'>): Service[] {
  return storedList(text, (value): value is Service => services.includes(value as Service));
}

export type HealthStatus = 'ok' | 'warn' | 'crit' | 'unknown';

type Plain = 'name' | 'title' | 'city' | 'country' | 'latitude' | 'longitude';
export interface NewServer extends Pick<Server, Plain> {
  hostname: string;
  services: Service[];
  port_schemes?: string[] | undefined;
}

export type ServerChanges = Partial<Omit<NewServer, 'name'>>;

/** An exit IP as it is written, and as it is stored. */
export interface NewExit {
  ip: string;
  port_base: number;
}
export type Exit = Pick<store.ExitIpRow, 'ip' | 'port_base'>;

// ---- Servers ------------------------------------------------------------------------------

/** A server of the network by its short name. Errors: 404. */
export async function requireServer(db: Reader, name: string): Promise<Server> {
  const server = await store.findByName(db, name);
  if (!server) throw notFound(`There is no server named ${JSON.stringify(name)}.`);
  return server;
}

/** A server that a body names; undefined when there is none. */
export function findServerNamed(db: Reader, name: string): Promise<Server | undefined> {
  return store.findByName(db, name);
}

/** A server that a body names. Errors: 409. */
export async function requireServerOfBody(
  db: Reader,
  name: string,
  field = 'server',
): Promise<Server> {
  const server = await store.findByName(db, name);
  if (!server)
    throw conflict(`there is no server named ${JSON.stringify(name)}.`, {
      code: 'unknown_server',
      field,
    });
  return server;
}

/**
 * The row of a server that is added to the network at `created_at`. Errors: 400 for a name that
 * paths use, or an invalid hostname or place.
 */
export async function newServerRow(
  tx: Transaction,
  { services: offered, hostname, ...fields }: Omit<NewServer, 'port_schemes'>,
): Promise<Server> {
  await checkServerTexts({ ...fields, hostname });
  return {
    hostname: serverHostname(hostname),
    id: await nextId(tx, 0, 'servers'),
    ...fields,
    services: JSON.stringify(offered),
    applied_revision: 0,
    created_at: tx.now,
    vpn_generation: 0,
  };
}

/**
 * Adds a server to the network. Errors: those of `newServerRow`; 409 when its name or hostname is
 * taken, and for port schemes as in `requirePortSchemes`.
 */
export async function createServer(tx: Transaction, body: NewServer): Promise<Server> {
  const { port_schemes = ['default'], ...fields } = body;
  const [server, schemes] = await checkAll([
    () => newServerRow(tx, fields),
    () => requirePortSchemes(tx, port_schemes),
  ]);
  if (!(await store.insertServer(tx, server))) {
    throw conflict(
      `name, hostname: ${body.name} or ${server.hostname} belongs to a server already.`,
      { code: 'name_taken' },
    );
  }
  await setSchemes(tx, server.id, schemes);
  await recordServerChange(tx, server, 'server.create', { after: server });
  return server;
}

/**
 * Changes the details of a server. `of`: the field that names it, among several. Errors: 400; 409
 * when another server has the hostname, or a contract uses a port scheme that would go.
 */
export async function changeServer(
  tx: Transaction,
  server: Server,
  changes: ServerChanges,
  of?: string,
): Promise<Server> {
  const { port_schemes, services: offered, hostname = server.hostname, ...rest } = changes;
  const sent = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  const [, schemes] = await checkAll([
    () => checkServerTexts({ ...sent, hostname }, server),
    async () => {
      if (!port_schemes) return undefined;
      const wanted = await requirePortSchemes(tx, port_schemes);
      await rejectDroppedSchemes(tx, server, wanted, of);
      return wanted;
    },
  ]);
  const after = { ...server, ...sent, hostname: serverHostname(hostname, server) };
  if (offered) after.services = JSON.stringify(offered);
  if (!(await store.updateServer(tx, after))) {
    throw conflict(`${after.hostname} belongs to another server.`, {
      code: 'hostname_taken',
      field: 'hostname',
    });
  }
  if (schemes) await setSchemes(tx, server.id, schemes);
  await recordServerChange(tx, server, 'server.change', { before: server, after });
  return after;
}

/**
 * Gives the server another VPN key: its VPN passwords and shared keys become invalid, and tunnels
 * that were opened with them end. Profiles have to be created again.
 */
export async function renewVpnKey(tx: Transaction, server: Server): Promise<Server> {
  await store.raiseVpnGeneration(tx, server.id);
  const after = { ...server, vpn_generation: server.vpn_generation + 1 };
  await recordServerChange(tx, server, 'server.renew_vpn_key', { before: server, after });
  return after;
}

/**
 * The port schemes that a server should listen on. Errors: 409 for an unknown one, or two that
 * share ports.
 */
export async function requirePortSchemes(db: Reader, names: string[]): Promise<PortScheme[]> {
  const schemes = await Promise.all(
    names.map((name) => requirePortScheme(db, name, 'port_schemes')),
  );
  const fault = sharedPortsFault(schemes);
  if (fault) throw conflict(fault, { field: 'port_schemes' });
  return schemes;
}

function setSchemes(tx: Transaction, server_id: number, schemes: PortScheme[]): Promise<void> {
  return store.setPortSchemes(
    tx,
    server_id,
    schemes.map(({ id }) => id),
  );
}

/** Errors: 409 when a contract on the server uses a port scheme that is not among `schemes`. */
async function rejectDroppedSchemes(
  db: Reader,
  server: Server,
  schemes: PortScheme[],
  field = 'port_schemes',
): Promise<void> {
  const used = await store.schemesInUse(db, server.id);
  const dropped = used.find(({ name }) => !schemes.some((scheme) => scheme.name === name));
  if (dropped)
    throw conflict(`${dropped.name} is used by a contract on ${server.name}.`, {
      code: 'port_scheme_in_use',
      field,
    });
}

/** The port schemes that a server listens on. */
export async function portSchemesOfServer(db: Reader, server_id: number): Promise<PortScheme[]> {
  return (await store.portSchemesOf(db, server_id)).map(toPortScheme);
}

/**
 * Removes a server from the network. `field`: the field that names it, among several. Errors: 409
 * while it is on a contract, or usage of its nodes is held.
 */
export async function removeServer(tx: Transaction, server: Server, field?: string): Promise<void> {
  const contracts = await store.contractCount(tx, server.id);
  if (contracts > 0) {
    throw conflict(`${server.name} is on ${contracts} contract(s); remove it there first.`, {
      code: 'server_in_use',
      ...(field === undefined ? {} : { field }),
    });
  }
  await dropServer(tx, server, field);
  await recordServerChange(tx, server, 'server.remove', { before: server });
}

/**
 * Removes the rows of a server. Its custom DNS entries are subtracted from their accounts' counts.
 * Errors: 409 while usage of its nodes is held.
 */
export async function dropServer(
  tx: Transaction,
  { id, name }: Pick<Server, 'id' | 'name'>,
  field?: string,
): Promise<void> {
  if (await store.hasHeldUsage(tx, id)) {
    throw conflict(`Usage that nodes of ${name} reported is held; accept or discard it first.`, {
      code: 'server_in_use',
      ...(field === undefined ? {} : { field }),
    });
  }
  for (const { account_id, entries } of await store.overridesOf(tx, id)) {
    await countHeld(tx, account_id, 'overrides', -entries);
    await bumpVersion(tx, account_id, 'overrides', 'contract');
  }
  await store.remove(tx, id);
}

/**
 * Servers by name, each with the field of the body that names it: `servers.N`. Errors: 404 naming
 * the field.
 */
async function* serversNamed(tx: Transaction, names: readonly string[]) {
  let at = 0;
  for await (const name of inTurns(names)) {
    const field = `servers.${at++}`;
    const server = await store.findByName(tx, name);
    if (!server) throw notFound(`there is no server named ${JSON.stringify(name)}.`, { field });
    yield { server, field };
  }
}

/**
 * Changes the services or port schemes of each of these servers. Errors: those of one server,
 * naming `servers.N`; 404.
 */
export async function changeServers(
  tx: Transaction,
  names: readonly string[],
  changes: Pick<ServerChanges, 'services' | 'port_schemes'>,
): Promise<void> {
  for await (const { server, field } of serversNamed(tx, names)) {
    await changeServer(tx, server, changes, field);
  }
}

/**
 * Removes each of these servers from the network. Errors: those of one server, naming `servers.N`;
 * 404.
 */
export async function removeServers(tx: Transaction, names: readonly string[]): Promise<void> {
  for await (const { server, field } of serversNamed(tx, names)) {
    await removeServer(tx, server, field);
  }
}

// ---- Exit IPs -----------------------------------------------------------------------------

/**
 * Frees the hostname, exit IPs and port bases that a server will not have any more, so that others
 * can have them. The new ones it gets by `changeServer` and `addExitIp`.
 */
export async function releaseServer(
  tx: Transaction,
  server: Server,
  after: { hostname: string; exit_ips?: readonly NewExit[] | undefined },
): Promise<void> {
  if (server.hostname !== after.hostname) await store.releaseHostname(tx, server.id);
  const exits = after.exit_ips ? await store.exitIpsOfServer(tx, server.id) : [];
  for (const { ip, port_base } of exits) {
    const remaining = after.exit_ips?.find((exit) => exit.ip === ip);
    if (!remaining) await removeExitIp(tx, server, ip);
    else if (remaining.port_base !== port_base) await store.takeExitIp(tx, server.id, ip);
  }
}

/**
 * Adds an exit IP. `earlier`: it had another port base of this server, and keeps its health.
 * Errors: 400; 409 when the address is in use, or the port base on this server.
 */
export async function addExitIp(
  tx: Transaction,
  server: Server,
  { ip, port_base }: NewExit,
  earlier?: store.ExitIpRow,
): Promise<void> {
  const exit: Exit = { ip: earlier?.ip ?? exitAddressOf()(ip), port_base };
  const { status = 'unknown', status_time = 0, added_at = tx.now } = earlier ?? {};
  const row = { server_id: server.id, ...exit, status, status_time, added_at };
  if (!(await store.insertExitIp(tx, row))) {
    throw conflict(
      `ip, port_base: ${exit.ip} is an exit IP already, or port base ${exit.port_base} is taken on ${server.name}.`,
      { code: 'address_taken' },
    );
  }
  const target = `${server.name}/${exit.ip}`;
  const before = earlier && { before: { port_base: earlier.port_base }, after: { port_base } };
  await recordServerChange(tx, server, earlier ? 'exit_ip.change' : 'exit_ip.add', {
    target,
    ...(before ?? { after: exit }),
  });
}

/**
 * Adds an exit IP, or moves it to another port base of its server. Returns its canonical spelling,
 * and whether it is new. Errors: 400; 409 when another server has the address, or the port base is
 * taken.
 */
export async function setExitIp(
  tx: Transaction,
  server: Server,
  exit: NewExit,
): Promise<{ ip: Address; added: boolean }> {
  const { ip, before } = await findExitIp(tx, server, exit.ip);
  if (!before) {
    await addExitIp(tx, server, { ...exit, ip });
    return { ip, added: true };
  }
  if (before.port_base === exit.port_base) return { ip, added: false };
  if (!(await store.moveExitIp(tx, server.id, ip, exit.port_base))) {
    throw conflict(`${exit.port_base} is taken on ${server.name}.`, {
      code: 'port_taken',
      field: 'port_base',
    });
  }
  await recordServerChange(tx, server, 'exit_ip.change', {
    target: `${server.name}/${ip}`,
    before: { port_base: before.port_base },
    after: { port_base: exit.port_base },
  });
  return { ip, added: false };
}

/**
 * Removes a stored exit IP, however it is spelled. Errors: 404; 400 for a text that is not an
 * address.
 */
export async function removeExitIp(tx: Transaction, server: Server, text: string): Promise<void> {
  const { ip, before } = await findExitIp(tx, server, text);
  if (!before) throw notFound(`${server.name} has no exit IP ${ip}.`);
  await store.deleteExitIp(tx, server.id, ip);
  const target = `${server.name}/${ip}`;
  await recordServerChange(tx, server, 'exit_ip.remove', { target, before });
}

async function findExitIp(db: Reader, server: Server, text: string) {
  const present = await store.exitIpsOfServer(db, server.id);
  const ip = exitAddressOf(present)(text);
  return { ip, before: present.find((exit) => exit.ip === ip) };
}

/**
 * Stores health reports; a report older than the last one is ignored. Returns how many exit IPs
 * were updated.
 */
export async function recordHealth(
  tx: Transaction,
  server_id: number,
  reports: Array<{ ip: string; status: HealthStatus; status_time: number }>,
): Promise<number> {
  let count = 0;
  for (const { ip, status, status_time } of reports) {
    count += await store.setHealth(tx, server_id, ip, status, status_time);
  }
  if (count > 0) await bumpVersion(tx, networkVersion);
  return count;
}
