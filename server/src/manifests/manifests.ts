// Manifests: servers, accounts, users and contract servers that one file declares. A manifest owns
// the records that it created or adopted, and changes or removes nothing else.
import {
  type Account,
  type AccountChanges,
  changeAccount,
  createAccount,
  findAccountNamed,
  type NewAccount,
  rejectMoments,
  requireAccountNamed,
} from '../accounts/accounts.ts';
import {
  findContractServer,
  removeContractServer,
  setContractServer,
} from '../contract_servers/contract_servers.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { ApiError, conflict } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import { listPortSchemes } from '../port_schemes/port_schemes.ts';
import {
  changeServer,
  createServer,
  type Exit,
  exitAddressOf,
  exitIpsOfServer,
  findServerNamed,
  type NewServer,
  portSchemesOfServer,
  removeExitIp,
  removeServer,
  requireServer,
  type Server,
  serverHostname,
  servicesOf,
  setExitIp,
} from '../servers/servers.ts';
import { revokeSessions } from '../sign_in/sign_in.ts';
import {
  changeUser,
  createUser,
  findUserNamed,
  type NewUser,
  requireUserNamed,
  type UserChanges,
} from '../users/users.ts';
import { disown, findOwner, type Kind, ownedBy, recordOwner } from './store.ts';

export interface DeclaredServer extends NewServer {
  exit_ips?: Array<{ ip: string; port_base: number }> | undefined;
}
export interface DeclaredUser extends NewUser {
  active?: boolean | undefined;
}
export interface DeclaredAccount extends NewAccount {
  suspended?: boolean | undefined;
  users?: DeclaredUser[] | undefined;
  servers?: Array<{ name: string; limit_bytes?: number | null | undefined }> | undefined;
}
export interface Manifest {
  /** Identifies the manifest: the records that it owns are stored under this name. */
  name: string;
  servers?: DeclaredServer[] | undefined;
  accounts?: DeclaredAccount[] | undefined;
}

/** A line of the plan. `fields`: the fields that change. */
export interface Planned {
  action: 'create' | 'change' | 'adopt' | 'remove';
  kind: Kind;
  name: string;
  fields: string[];
}

interface Step extends Planned {
  /** The place in the file: `accounts/0/users/1`. */
  where: string;
  run(tx: Transaction): Promise<void>;
}

/** Settings for creating accounts and users. */
export interface Making {
  secrets: Secrets;
  viewable: boolean;
  max_users: number;
}

/**
 * Works out the plan. Errors: 409 for a record that another manifest owns, or that is declared
 * twice.
 */
export async function planManifest(
  db: Reader,
  manifest: Manifest,
  making: Making,
): Promise<Step[]> {
  const planner = new Planner(db, manifest, making);
  return planner.plan();
}

/**
 * Carries a plan out, and records which manifest owns what. Errors: those of each change, with the
 * place in the file.
 */
export async function carryOut(tx: Transaction, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    try {
      await step.run(tx);
    } catch (error) {
      throw placed(error, step);
    }
  }
}

/** An error of a record, with its place in the file. Errors: anything that is not our error. */
function placed(error: unknown, { kind, name, where }: Pick<Step, 'kind' | 'name' | 'where'>) {
  if (!(error instanceof ApiError)) throw error;
  const { status, code, message } = error;
  return new ApiError(status, code, `${kind} ${name}: ${message}`, { field: where });
}

class Planner {
  readonly #db: Reader;
  readonly #manifest: Manifest;
  readonly #making: Making;
  readonly #steps: Step[] = [];
  readonly #declared = new Set<string>();

  constructor(db: Reader, manifest: Manifest, making: Making) {
    this.#db = db;
    this.#manifest = manifest;
    this.#making = making;
  }

  async plan(): Promise<Step[]> {
    const { servers = [], accounts = [] } = this.#manifest;
    for (const [at, server] of servers.entries()) await this.#server(server, `servers/${at}`);
    for (const [at, account] of accounts.entries()) await this.#account(account, `accounts/${at}`);
    await this.#removals();
    return this.#steps;
  }

  /** A record that the file declares: created, changed, or only adopted. */
  async #declare(given: {
    kind: Kind;
    name: string;
    where: string;
    /** Undefined: the record does not exist. */
    fields: string[] | undefined;
    run: (tx: Transaction) => Promise<unknown>;
  }): Promise<void> {
    const { kind, name, where, fields, run } = given;
    const key = `${kind} ${name}`;
    if (this.#declared.has(key)) throw conflict(`${key} is declared twice.`, { field: where });
    this.#declared.add(key);
    const owner = await findOwner(this.#db, kind, name);
    if (owner && owner.manifest !== this.#manifest.name) {
      throw conflict(`${key} belongs to the manifest ${owner.manifest}.`, { field: where });
    }
    const isSame = fields?.length === 0;
    if (owner && isSame) return;
    const action = fields === undefined ? 'create' : isSame ? 'adopt' : 'change';
    const { name: manifest } = this.#manifest;
    this.#steps.push({
      ...{ action, kind, name, where, fields: fields ?? [] },
      run: async (tx) => {
        if (!isSame) await run(tx);
        if (!owner) await recordOwner(tx, { kind, name, manifest });
      },
    });
  }

  async #server(declared: DeclaredServer, where: string): Promise<void> {
    const { name } = declared;
    const before = await findServerNamed(this.#db, name);
    const exits = before ? await exitIpsOfServer(this.#db, before.id) : [];
    const { exit_ips, ...wanted } = spelled(declared, where, before, exits);
    let fields: string[] | undefined;
    if (before) {
      const schemes = (await portSchemesOfServer(this.#db, before.id)).map((scheme) => scheme.name);
      const services = servicesOf(before);
      fields = differing(wanted, { ...before, services, port_schemes: schemes });
      if (exit_ips && !isSameSet(exits.map(inWords), exit_ips.map(inWords)))
        fields.push('exit_ips');
    }
    const run = async (tx: Transaction) => {
      const { name: _, ...changes } = wanted;
      const server = before
        ? await changeServer(tx, before, changes)
        : await createServer(tx, wanted);
      if (!exit_ips) return;
      const declaredExits = new Set(exit_ips.map(inWords));
      for (const exit of exits)
        if (!declaredExits.has(inWords(exit))) await removeExitIp(tx, server, exit.ip);
      const existingExits = new Set(exits.map(inWords));
      for (const exit of exit_ips)
        if (!existingExits.has(inWords(exit))) await setExitIp(tx, server, exit);
    };
    await this.#declare({ kind: 'server', name, where, fields, run });
  }

  async #account(declared: DeclaredAccount, where: string): Promise<void> {
    const { users = [], servers = [], suspended = false, ...wanted } = declared;
    const { name } = wanted;
    for (const field of ['start', 'expiry'] as const) {
      const place = { kind: 'account', name, where: `${where}/${field}` } as const;
      at(place, () => rejectMoments({ [field]: wanted[field] }));
    }
    const before = await findAccountNamed(this.#db, name);
    const fields = before && (await this.#accountFields(before, { ...wanted, suspended }));
    const run = async (tx: Transaction) => {
      const { name: _, ...changes } = wanted;
      if (before) return changeAccount(tx, before, { ...changes, suspended } as AccountChanges);
      const { secrets, viewable } = this.#making;
      const { account } = await createAccount(tx, secrets, viewable, wanted);
      return suspended ? changeAccount(tx, account, { suspended }) : account;
    };
    await this.#declare({ kind: 'account', name, where, fields, run });
    for (const [at, user] of users.entries()) {
      await this.#user(name, before, user, `${where}/users/${at}`);
    }
    for (const [at, server] of servers.entries()) {
      await this.#contractServer(name, before, server, `${where}/servers/${at}`);
    }
  }

  async #accountFields(before: Account, wanted: object): Promise<string[]> {
    const schemes = await listPortSchemes(this.#db);
    return differing(wanted, {
      ...before,
      detailed_billing: before.detailed_billing === 1,
      suspended: before.suspended === 1,
      port_scheme: schemes.find(({ id }) => id === before.port_scheme_id)?.name,
    });
  }

  async #user(account: string, of: Account | undefined, declared: DeclaredUser, where: string) {
    const { active = true, ...wanted } = declared;
    const before = of && (await findUserNamed(this.#db, of.id, wanted.name));
    const { flags = {}, ...plain } = wanted;
    const fields = before && [
      ...differing({ ...plain, active }, { ...before, active: before.active === 1 }),
      ...(Object.entries(flags).some(([flag, on]) => on !== (before[flag as 'proxy'] === 1))
        ? ['flags']
        : []),
    ];
    const run = async (tx: Transaction) => {
      const { name, ...changes } = wanted;
      const now = await requireAccountNamed(tx, account);
      const user = before ?? (await createUser(tx, now, wanted, this.#making.max_users));
      const all: UserChanges = before ? { ...changes, active } : { active };
      if (before || !active) await changeUser(tx, user, all, revokeSessions);
    };
    const name = `${account}/${wanted.name}`;
    await this.#declare({ kind: 'user', name, where, fields, run });
  }

  async #contractServer(
    account: string,
    of: Account | undefined,
    declared: { name: string; limit_bytes?: number | null | undefined },
    where: string,
  ) {
    const server = await findServerNamed(this.#db, declared.name);
    const before = of && server && (await findContractServer(this.#db, of.id, server.id));
    const { limit_bytes } = declared;
    const isOther = limit_bytes !== undefined && before?.limit_bytes !== limit_bytes;
    const run = async (tx: Transaction) =>
      setContractServer(
        tx,
        await requireAccountNamed(tx, account),
        await requireServer(tx, declared.name),
        limit_bytes,
      );
    const name = `${account}/${declared.name}`;
    const fields = before && (isOther ? ['limit_bytes'] : []);
    await this.#declare({ kind: 'contract_server', name, where, fields, run });
  }

  /** The records that the file no longer has: those inside of accounts first, servers last. */
  async #removals(): Promise<void> {
    const owned = await ownedBy(this.#db, this.#manifest.name);
    const gone = owned.filter(({ kind, name }) => !this.#declared.has(`${kind} ${name}`));
    for (const kind of ['contract_server', 'user', 'account', 'server'] as const) {
      for (const { name } of gone.filter((record) => record.kind === kind)) {
        const run = async (tx: Transaction) => {
          await removers[kind](tx, name);
          await disown(tx, kind, name);
        };
        this.#steps.push({ action: 'remove', kind, name, fields: [], where: '', run });
      }
    }
  }
}

/** Runs `act` for a record of the file. Errors: those of `act`, with the place in the file. */
function at<T>(place: Pick<Step, 'kind' | 'name' | 'where'>, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw placed(error, place);
  }
}

/**
 * A server as it would be stored, so that the comparison uses that spelling. Errors: 400; 409 for
 * an exit IP that is declared twice.
 */
function spelled(
  { hostname, exit_ips, ...declared }: DeclaredServer,
  where: string,
  before: Server | undefined,
  exits: readonly Exit[],
) {
  const place = { kind: 'server', name: declared.name } as const;
  const addressOf = exitAddressOf(exits);
  const ips = new Set<string>();
  return {
    ...declared,
    hostname: at({ ...place, where: `${where}/hostname` }, () => serverHostname(hostname, before)),
    exit_ips: exit_ips?.map((exit, index) =>
      at({ ...place, where: `${where}/exit_ips/${index}` }, () => {
        const ip = addressOf(exit.ip);
        if (ips.has(ip)) throw conflict(`ip: ${ip} is declared twice.`);
        ips.add(ip);
        return { ...exit, ip };
      }),
    ),
  };
}

/**
 * Removes a record that may be gone already. Accounts are suspended instead of deleted, users made
 * inactive.
 */
const removers: Record<Kind, (tx: Transaction, name: string) => Promise<unknown>> = {
  async contract_server(tx, name) {
    const [account = '', server = ''] = name.split('/');
    const [of, on] = [await findAccountNamed(tx, account), await findServerNamed(tx, server)];
    if (of && on && (await findContractServer(tx, of.id, on.id))) {
      await removeContractServer(tx, of, on);
    }
  },
  async user(tx, name) {
    const [account = '', user = ''] = name.split('/');
    const of = await findAccountNamed(tx, account);
    if (!of || !(await findUserNamed(tx, of.id, user))) return;
    await changeUser(
      tx,
      await requireUserNamed(tx, of.id, user),
      { active: false },
      revokeSessions,
    );
  },
  async account(tx, name) {
    const account = await findAccountNamed(tx, name);
    if (account) await changeAccount(tx, account, { suspended: true });
  },
  async server(tx, name) {
    const server = await findServerNamed(tx, name);
    if (server) await removeServer(tx, server);
  },
};

const inWords = ({ ip, port_base }: { ip: string; port_base: number }) => `${ip} ${port_base}`;

const isSameSet = (a: readonly unknown[], b: readonly unknown[]) =>
  a.length === b.length && a.every((word) => b.includes(word));

/** The fields of `wanted` that differ; fields that are left out stay unchanged. */
function differing(wanted: object, before: object): string[] {
  return Object.entries(wanted).flatMap(([field, value]) => {
    const now = (before as Record<string, unknown>)[field];
    const isSame =
      Array.isArray(value) && Array.isArray(now) ? isSameSet(value, now) : value === now;
    return value === undefined || isSame ? [] : [field];
  });
}
