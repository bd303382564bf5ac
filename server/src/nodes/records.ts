// The records that a node receives, each as `{kind, account, id, value}`; a null value means that
// it is gone.

import type {
  ConnectionQuestion,
  ContractValue,
  LoginQuestion,
  PortScheme,
  SentRecord,
  UserLimits,
} from '../../../kit/src/node_interface.ts';
import { vpnServices } from '../../../kit/src/vpn_password.ts';
import { type Account, requireAccount } from '../accounts/accounts.ts';
import { type AuthlistRow, authlistOfAccount } from '../authlist/authlist.ts';
import type { LoggedChange } from '../changes/changes.ts';
import { findContractServer } from '../contract_servers/contract_servers.ts';
import type { Reader } from '../db/database.ts';
import type { PublicKey, Secrets } from '../keys/secrets.ts';
import { publicKeys } from '../keys/signing_keys.ts';
import { type OverrideRow, overridesOfAccount } from '../overrides/overrides.ts';
import { listPortSchemes } from '../port_schemes/port_schemes.ts';
import { exitIpsOfServer, findServer, portSchemesOf, servicesOf } from '../servers/servers.ts';
import { hasLimits, mayUseServer, servicesOfUser, type User, userSlices } from '../users/users.ts';
import { storedJson } from '../values/stored_json.ts';
import { type CurrentRows, readCurrentRows } from './current_rows.ts';
import { findOrderRecord } from './end_orders.ts';
import { findUseQuestion } from './exit_uses.ts';
import { findQuestion } from './questions.ts';
import { nodesOfServer } from './store.ts';
import { findWatchRecord } from './watches.ts';

/** The maximum number of records in an event. */
const piece = 500;

/** The server itself: where it listens, and from which addresses its connections leave. */
export async function serverRecord(
  db: Reader,
  server_id: number,
  secrets: Secrets,
): Promise<SentRecord> {
  const server = await findServer(db, server_id);
  if (!server) return { kind: 'server', value: null };
  const exits = await exitIpsOfServer(db, server_id);
  const schemes = await portSchemesOf(db, server_id);
  const drained = (await nodesOfServer(db, server_id)).filter((node) => node.drained_at !== null);
  const hasVpn = vpnServices.some((service) => servicesOf(server).includes(service));
  return {
    kind: 'server',
    value: {
      name: server.name,
      hostname: server.hostname,
      // As they are stored: a node reports those that it cannot read.
      services: storedJson(server.services) as string[],
      port_schemes: schemes.map(({ name, bases }) => ({
        name,
        bases: storedJson(bases) as PortScheme['bases'],
      })),
      exit_ips: exits.map(({ ip, port_base }) => ({ ip, port_base })),
      drained_nodes: drained.map(({ id }) => id),
      ...(hasVpn ? { vpn_key: secrets.vpnKey(server), vpn_generation: server.vpn_generation } : {}),
    },
  };
}

export function keysRecord(keys: PublicKey[]): SentRecord {
  return { kind: 'keys', value: keys };
}

/**
 * A contract as one of its servers needs it. `blocked`: over a limit that the contract enforces.
 */
async function contractRecord(
  db: Reader,
  account_id: number,
  server_id: number,
): Promise<SentRecord> {
  const on = await findContractServer(db, account_id, server_id);
  if (!on) return { kind: 'account', account: account_id, value: null };
  const account = await requireAccount(db, account_id);
  return {
    kind: 'contract',
    account: account_id,
    value: await contractValue(db, account, on.over_limit),
  };
}

async function contractValue(
  db: Reader,
  account: Account,
  server_over_limit: number,
): Promise<ContractValue> {
  // A server's own limit applies only with detailed server billing; otherwise only the network's
  // does.
  const isOverServerLimit = account.detailed_billing === 1 && server_over_limit === 1;
  const over = account.over_limit === 1 || isOverServerLimit;
  const schemes = await listPortSchemes(db);
  return {
    name: account.name,
    expiry: account.expiry,
    suspended: account.suspended === 1,
    blocked: over && account.on_limit === 'refuse',
    port_scheme: schemes.find(({ id }) => id === account.port_scheme_id)?.name as string,
  };
}

/** A user as a server needs one. Without limits the record has no member for them. */
function userRecord(user: User, server_id: number): SentRecord {
  const { account_id, id, name, active, proxy, token_version } = user;
  const limits = hasLimits(user) ? { limits: limitsOn(user, server_id) } : {};
  return {
    kind: 'user',
    account: account_id,
    id,
    value: { name, active: active === 1, proxy: proxy === 1, token_version, ...limits },
  };
}

/** The limits that a node enforces; members of those that the user does not have are left out. */
function limitsOn(user: User, server_id: number): UserLimits {
  const { max_connections, max_addresses, address_seconds, active_until } = user;
  const services = servicesOfUser(user);
  return {
    ...(max_connections === null ? {} : { connections: max_connections }),
    ...(max_addresses === null ? {} : { addresses: max_addresses, address_seconds }),
    ...(active_until === null ? {} : { until: active_until }),
    ...(services === null ? {} : { services }),
    ...(mayUseServer(user, server_id) ? {} : { not_here: true }),
    ...(user.over_limit === 1 && user.on_limit === 'refuse' ? { over: true } : {}),
  };
}

/** An entry that is not verified yet does not exist for a node. */
function authlistRecord({ account_id, id, ip, user_id, expiry, waits }: AuthlistRow): SentRecord {
  const value = waits === 1 ? null : { ip, user: user_id, expiry };
  return { kind: 'authlist', account: account_id, id, value };
}

function overrideRecord({ account_id, id, hostname, ip, expiry }: OverrideRow): SentRecord {
  return { kind: 'override', account: account_id, id, value: { hostname, ip, expiry } };
}

/** An account that is not on the server, or not yet. */
export function goneRecord(account_id: number | null): SentRecord {
  return { kind: 'account', account: account_id ?? undefined, value: null } as SentRecord;
}

/** The same, as the only piece of a change. */
export async function* justGone(
  account_id: number | null,
): AsyncGenerator<SentRecord[], void, void> {
  yield [goneRecord(account_id)];
}

async function* authlistRecords(db: Reader, account_id: number): AsyncGenerator<SentRecord> {
  for await (const rows of authlistOfAccount(db, account_id)) {
    for (const row of rows) if (row.waits === 0) yield authlistRecord(row);
  }
}

async function* overrideRecords(
  db: Reader,
  account_id: number,
  server_id: number,
): AsyncGenerator<SentRecord> {
  for await (const rows of overridesOfAccount(db, account_id, server_id)) {
    for (const row of rows) yield overrideRecord(row);
  }
}

/**
 * Everything of one account that a server needs, the contract first. Includes expired entries until
 * they are swept: a node applies expiries itself, and our clock may have jumped ahead for a moment.
 */
export async function* accountRecords(
  db: Reader,
  account_id: number,
  server_id: number,
): AsyncGenerator<SentRecord> {
  yield await contractRecord(db, account_id, server_id);
  for await (const { users } of userSlices(db, account_id)) {
    yield* users.map((user) => userRecord(user, server_id));
  }
  yield* authlistRecords(db, account_id);
  yield* overrideRecords(db, account_id, server_id);
}

/**
 * The records that a change stands for, as one server needs them, with current values: a record
 * that changed again since shows its newest state, and its later change repeats it. For an account
 * that has left the server only that is sent, since its newest state is not meant for the server.
 */
export async function recordsOfChange(
  db: Reader,
  change: LoggedChange,
  server_id: number,
  secrets: Secrets,
  rows: CurrentRows,
): Promise<SentRecord[]> {
  const { kind, account_id: account, record_id: id } = change;
  if (kind === 'server') return [await serverRecord(db, server_id, secrets)];
  if (kind === 'keys') return [keysRecord(await publicKeys(db))];
  if (kind === 'explain' && id !== null) {
    const question = (await findQuestion(db, secrets, id)) ?? null;
    return [{ kind: question ? kindOf(question) : kind, id, value: question } as SentRecord];
  }
  if (kind === 'connections' && id !== null) {
    return [{ kind, id, value: (await findWatchRecord(db, id)) ?? null }];
  }
  if (kind === 'end_connections' && id !== null) {
    return [{ kind, id, value: (await findOrderRecord(db, secrets, id)) ?? null }];
  }
  if (kind === 'exit_uses' && id !== null) {
    return [{ kind, id, value: (await findUseQuestion(db, secrets, id)) ?? null }];
  }
  if (kind === 'erased_users') return [{ kind, value: null }];
  if (account === null) return [];
  if (!rows.isOn(account, server_id)) return [goneRecord(account)];
  if (kind === 'contract') return [await contractRecord(db, account, server_id)];
  if (kind === 'authlist_cleared' || kind === 'overrides_cleared') {
    return [{ kind, account, value: null }];
  }
  // By now the account is back on the server; the change that says so contains everything.
  if (isLong(change)) return [];
  if (id === null) return [];
  const none: SentRecord = { kind, account, id, value: null };
  if (kind === 'user') {
    const user = rows.user(account, id);
    return [user ? userRecord(user, server_id) : none];
  }
  if (kind === 'authlist') {
    const row = rows.authlist(account, id);
    return [row ? authlistRecord(row) : none];
  }
  const row = rows.override(account, id);
  const wanted = row && row.server_id === server_id && row.removed_revision === null;
  return [wanted ? overrideRecord(row) : none];
}

/**
 * Each kind has its own name: an older agent would take one for a question with a bad token, or for
 * one that it cannot read.
 */
function kindOf(question: ConnectionQuestion | LoginQuestion): SentRecord['kind'] {
  if ('login' in question) return 'explain_login';
  return question.claims === undefined ? 'explain' : 'explain_token';
}

/**
 * Whether a change may stand for any number of records: an account that is added to a server, or a
 * whole list.
 */
export function isLong({ kind, record_id }: LoggedChange): boolean {
  return kind === 'account' || (record_id === null && (kind === 'authlist' || kind === 'override'));
}

/** The same for any change, in pieces of limited length. */
export async function* piecesOfChange(
  db: Reader,
  change: LoggedChange,
  server_id: number,
  secrets: Secrets,
): AsyncGenerator<SentRecord[], void, void> {
  const { kind, account_id } = change;
  if (!isLong(change) || account_id === null) {
    const rows = await readCurrentRows(db, [{ change, server_ids: [server_id] }]);
    yield await recordsOfChange(db, change, server_id, secrets, rows);
    return;
  }
  if (!(await findContractServer(db, account_id, server_id))) {
    yield* justGone(account_id);
    return;
  }
  let records: SentRecord[] = [];
  if (kind === 'account') records.push(goneRecord(account_id));
  const all =
    kind === 'account'
      ? accountRecords(db, account_id, server_id)
      : kind === 'authlist'
        ? authlistRecords(db, account_id)
        : overrideRecords(db, account_id, server_id);
  for await (const record of all) {
    if (records.length === piece) {
      yield records;
      records = [];
    }
    records.push(record);
  }
  yield records;
}

/**
 * The records of a change that cannot be read: whatever it stands for is gone, so that no access
 * lasts too long. Nodes keep the server and the keys that they have.
 */
export function closedRecords({
  kind,
  account_id: account,
  record_id: id,
}: LoggedChange): SentRecord[] {
  if (account === null) return [];
  if (kind === 'authlist_cleared' || kind === 'overrides_cleared') {
    return [{ kind, account, value: null }];
  }
  if (id === null || kind === 'contract' || kind === 'account') return [goneRecord(account)];
  return [{ kind, account, id, value: null } as SentRecord];
}

/**
 * Whether every server gets the same record, so that it is read only once. Not so if the limits of
 * a user may differ, or an account has left one server.
 */
export function isSameEverywhere({ kind, value }: SentRecord): boolean {
  if (kind === 'user') return value?.limits === undefined;
  return kind === 'authlist' || kind === 'authlist_cleared';
}

/** Whether records may revoke access; these are sent before a stream's long changes. */
export function mayRevoke(records: readonly SentRecord[]): boolean {
  return records.some(
    ({ kind, value }) => value === null || ['user', 'contract', 'server', 'keys'].includes(kind),
  );
}
