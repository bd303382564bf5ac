// Servers of the network, with their exit IPs and health.
import { type PortScheme, requirePortScheme, sharePorts } from '../accounts/accounts.ts';
import { audit } from '../audit.ts';
import { bumpVersion, countHeld, networkVersion, nextId, recordChange } from '../changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { conflict, forbidden, notFound } from '../errors.ts';
import * as store from './store.ts';

export type { ContractServer, Detail } from '../contract_servers/contract_servers.ts';
export {
  evaluateServerLimit,
  listContractServers,
  removeContractServer,
  setContractServer,
  sweepServerLimits,
} from '../contract_servers/contract_servers.ts';
export { GeoWatch } from '../geo/geo.ts';
export { geoStatusesOfServer, setGeoStatuses } from '../geo/store.ts';
export { type ExitCounts, exitCounts, nodeCounts, nodesOfContract } from './counts_store.ts';
export type { ExitIpRow, ServerRow as Server } from './store.ts';
export {
  accountsOf as accountsOfServer,
  all as listServers,
  exitIps as listExitIps,
  exitIpsOfServer,
  findById as findServer,
  findContractServer,
  ofContract as serversOfContract,
  schemeNames as listServerPortSchemes,
  serversOnScheme,
  setApplied as setAppliedRevision,
} from './store.ts';

export const services = ['proxy', 'proxy-https', 'vpn-ikev1', 'vpn-ikev2', 'vpn-l2tp'] as const;
export type Service = (typeof services)[number];
export type HealthStatus = 'ok' | 'warn' | 'crit' | 'unknown';

export interface NewServer {
  name: string;
  hostname: string;
  title: string;
  city: string;
  /** ISO 3166-1 alpha-2, upper case. */
  country: string;
  latitude: number;
  longitude: number;
  services: Service[];
  port_schemes?: string[] | undefined;
}

export type ServerChanges = Partial<Omit<NewServer, 'name'>>;

/** A server of the network by its short name. Errors: 404. */
export async function requireServer(db: Reader, name: string): Promise<store.ServerRow> {
  const server = await store.findByName(db, name);
  if (!server)
    throw notFound(
      `There is no server named ${JSON.stringify(name)}; GET /v0/contract/servers lists those of your contract.`,
    );
  return server;
}

/** A server of the network that a body names. Errors: 409. */
export async function requireServerOfBody(db: Reader, name: string): Promise<store.ServerRow> {
  const server = await store.findByName(db, name);
  if (!server)
    throw conflict(`there is no server named ${JSON.stringify(name)}.`, { field: 'server' });
  return server;
}

/** A server that is on the contract, for a body that names it. Errors: 409 with `otherwise` appended. */
export async function requireOnContract(
  db: Reader,
  account_id: number,
  name: string,
  otherwise: string,
): Promise<store.ServerRow> {
  const server = await store.findByName(db, name);
  if (server && (await store.findContractServer(db, account_id, server.id))) return server;
  throw conflict(`${JSON.stringify(name)} is not added to the account.${otherwise}`, {
    code: 'server_not_on_contract',
    field: 'server',
  });
}

/** Adds a server to the network. Errors: 409 when its name or hostname is taken. */
export async function createServer(tx: Transaction, body: NewServer): Promise<store.ServerRow> {
  const { port_schemes = ['default'], services: offered, ...rest } = body;
  const server: store.ServerRow = {
    id: await nextId(tx, 0, 'servers'),
    ...rest,
    services: JSON.stringify(offered),
    applied_revision: 0,
    created_at: tx.now,
  };
  const schemes = await requirePortSchemes(tx, port_schemes);
  if (!(await store.insert(tx, server))) {
    throw conflict(`name, hostname: ${body.name} or ${body.hostname} belongs to a server already.`);
  }
  await store.setPortSchemes(
    tx,
    server.id,
    schemes.map(({ id }) => id),
  );
  await serverChanged(tx, server.id);
  await audit(tx, {
    account_id: null,
    action: 'server.create',
    target: server.name,
    after: server,
  });
  return server;
}

/** Changes what is known of a server. Errors: 409 when the hostname is another server's. */
export async function changeServer(
  tx: Transaction,
  server: store.ServerRow,
  changes: ServerChanges,
): Promise<store.ServerRow> {
  const { port_schemes, services: offered, ...rest } = changes;
  const sent = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  const after: store.ServerRow = { ...server, ...sent };
  if (offered) after.services = JSON.stringify(offered);
  const schemes = port_schemes && (await requirePortSchemes(tx, port_schemes));
  if (schemes) await refuseDroppedSchemes(tx, server, schemes);
  if (!(await store.update(tx, after))) {
    throw conflict(`${after.hostname} belongs to another server.`, { field: 'hostname' });
  }
  if (schemes)
    await store.setPortSchemes(
      tx,
      server.id,
      schemes.map(({ id }) => id),
    );
  await serverChanged(tx, server.id);
  await audit(tx, {
    account_id: null,
    action: 'server.change',
    target: server.name,
    before: server,
    after,
  });
  return after;
}

/** The port schemes that a server is to listen on. Errors: 409 for an unknown one, or two that share ports. */
async function requirePortSchemes(db: Reader, names: string[]): Promise<PortScheme[]> {
  const schemes = await Promise.all(
    names.map((name) => requirePortScheme(db, name, 'port_schemes')),
  );
  const fault = sharedPortsFault(schemes);
  if (fault) throw conflict(`${fault}`, { field: 'port_schemes' });
  return schemes;
}

/** Why one server cannot listen on all of these schemes; undefined when it can. */
export function sharedPortsFault(schemes: PortScheme[]): string | undefined {
  for (const [at, one] of schemes.entries()) {
    const other = schemes.slice(at + 1).find((later) => sharePorts(one.bases, later.bases));
    if (other)
      return `${one.name} and ${other.name} share ports, so that one server cannot have both.`;
  }
  return undefined;
}

/** Errors: 409 when a contract on the server uses a port scheme that is not among `schemes`. */
async function refuseDroppedSchemes(
  db: Reader,
  server: store.ServerRow,
  schemes: PortScheme[],
): Promise<void> {
  const used = await store.schemesInUse(db, server.id);
  const dropped = used.find(({ id }) => !schemes.some((scheme) => scheme.id === id));
  if (dropped)
    throw conflict(`${dropped.name} is used by a contract on ${server.name}.`, {
      field: 'port_schemes',
    });
}

/** Removes the rows of a server; the custom DNS entries that go with it leave their accounts' counts. */
export async function dropServer(tx: Transaction, id: number): Promise<void> {
  for (const { account_id, entries } of await store.overridesOf(tx, id)) {
    await countHeld(tx, account_id, 'overrides', -entries);
    await bumpVersion(tx, account_id);
  }
  await store.remove(tx, id);
}

/** Takes a server out of the network. Errors: 409 while it is on a contract. */
export async function removeServer(tx: Transaction, server: store.ServerRow): Promise<void> {
  const accounts = await store.accountsOf(tx, server.id);
  if (accounts.length > 0) {
    throw conflict(`${server.name} is on ${accounts.length} contract(s); remove it there first.`);
  }
  await dropServer(tx, server.id);
  await serverChanged(tx, server.id);
  await audit(tx, {
    account_id: null,
    action: 'server.remove',
    target: server.name,
    before: server,
  });
}

/** Tells the server's nodes, and everybody who looks at the network or at its inventory alone. */
export async function serverChanged(tx: Transaction, server_id: number): Promise<void> {
  await nextId(tx, 0, 'inventory');
  await recordChange(tx, { kind: 'server', account_id: null, server_id, record_id: null });
}

/** Adds an exit IP. Errors: 409 when the address is in use, or the port base on this server. */
export async function addExitIp(
  tx: Transaction,
  server: store.ServerRow,
  exit: { ip: string; port_base: number },
): Promise<void> {
  const added = await store.insertExitIp(tx, {
    server_id: server.id,
    ...exit,
    status: 'unknown',
    status_time: 0,
  });
  if (!added) {
    throw conflict(
      `ip, port_base: ${exit.ip} is an exit IP already, or port base ${exit.port_base} is taken on ${server.name}.`,
    );
  }
  await serverChanged(tx, server.id);
  await audit(tx, {
    account_id: null,
    action: 'exit_ip.add',
    target: `${server.name}/${exit.ip}`,
    after: exit,
  });
}

/**
 * Adds an exit IP, or moves it to another port base of its server. Answers whether it is new.
 * Errors: 409 when the address is another server's, or the port base is taken.
 */
export async function setExitIp(
  tx: Transaction,
  server: store.ServerRow,
  exit: { ip: string; port_base: number },
): Promise<boolean> {
  const before = (await store.exitIpsOfServer(tx, server.id)).find((one) => one.ip === exit.ip);
  if (!before) {
    await addExitIp(tx, server, exit);
    return true;
  }
  if (before.port_base === exit.port_base) return false;
  if (!(await store.moveExitIp(tx, server.id, exit.ip, exit.port_base))) {
    throw conflict(`${exit.port_base} is taken on ${server.name}.`, { field: 'port_base' });
  }
  await serverChanged(tx, server.id);
  await audit(tx, {
    account_id: null,
    action: 'exit_ip.change',
    target: `${server.name}/${exit.ip}`,
    before: { port_base: before.port_base },
    after: { port_base: exit.port_base },
  });
  return false;
}

/** Removes an exit IP. Errors: 404. */
export async function removeExitIp(
  tx: Transaction,
  server: store.ServerRow,
  ip: string,
): Promise<void> {
  const exit = (await store.exitIpsOfServer(tx, server.id)).find((one) => one.ip === ip);
  if (!exit) throw notFound(`${server.name} has no exit IP ${ip}.`);
  await store.removeExitIp(tx, server.id, ip);
  await serverChanged(tx, server.id);
  await audit(tx, {
    account_id: null,
    action: 'exit_ip.remove',
    target: `${server.name}/${ip}`,
    before: exit,
  });
}

/** Keeps a health report; older ones than the last are ignored. Answers how many exit IPs it told of. */
export async function recordHealth(
  tx: Transaction,
  server_id: number,
  reports: Array<{ ip: string; status: HealthStatus; status_time: number }>,
): Promise<number> {
  let known = 0;
  for (const { ip, status, status_time } of reports) {
    known += await store.setHealth(tx, server_id, ip, status, status_time);
  }
  if (known > 0) await bumpVersion(tx, networkVersion);
  return known;
}

/** The port schemes that a server listens on. */
export async function portSchemesOfServer(db: Reader, server_id: number): Promise<PortScheme[]> {
  const rows = await store.portSchemesOf(db, server_id);
  return rows.map((row) => ({ ...row, bases: JSON.parse(row.bases) as PortScheme['bases'] }));
}

/** One contract server. Errors: 404 for a name that the network has not; 403 for a server not on the contract. */
export async function requireContractServer(
  db: Reader,
  account_id: number,
  name: string,
): Promise<void> {
  const server = await requireServer(db, name);
  if (!(await store.findContractServer(db, account_id, server.id))) {
    throw forbidden(
      `${name} is a server of the network, but not on your contract; ask your provider to add it.`,
    );
  }
}
