// Manifests: servers, accounts, users and contract servers that one file declares. A manifest owns
// the records that it created or adopted, and changes or removes nothing else.
import {
  type Account,
  type AccountChanges,
  changeAccount,
  checkTerms,
  createAccount,
  findAccountNamed,
  type NewAccount,
  requireAccountNamed,
} from '../accounts/accounts.ts';
import {
  findContractServer,
  removeContractServer,
  setContractServer,
} from '../contract_servers/contract_servers.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { ApiError, checkAll, conflict, errorOf, type Fault, faultsOf } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import { listPortSchemes, requirePortScheme } from '../port_schemes/port_schemes.ts';
import {
  addExitIp,
  changeServer,
  checkServerTexts,
  createServer,
  type Exit,
  exitAddressOf,
  exitIpsOfServer,
  findServerNamed,
  type NewExit,
  type NewServer,
  portSchemesOfServer,
  releaseServer,
  removeServer,
  requirePortSchemes,
  requireServer,
  type Server,
  serverHostname,
  servicesOf,
} from '../servers/servers.ts';
import { revokeSessions } from '../sign_in/sign_in.ts';
import {
  changeUser,
  createUser,
  findUserNamed,
  type LimitChanges,
  limitsOfUsers,
  type NewUser,
  noLimits,
  requireUserNamed,
  type User,
} from '../users/users.ts';
import { visibleText } from '../values/texts.ts';
import { disown, findOwner, type Kind, ownedBy, recordOwner } from './store.ts';

export interface DeclaredServer extends NewServer {
  exit_ips?: NewExit[] | undefined;
}
export interface DeclaredUser extends NewUser {
  active?: boolean | undefined;
}
export interface DeclaredAccount extends NewAccount {
  suspended?: boolean | undefined;
  users?: DeclaredUser[] | undefined;
  servers?: DeclaredOnContract[] | undefined;
}
export interface DeclaredOnContract {
  name: string;
  limit_bytes?: number | null | undefined;
}
export interface Manifest {
  /** Identifies the manifest: the records that it owns are stored under this name. */
  name: string;
  servers?: DeclaredServer[] | undefined;
  accounts?: DeclaredAccount[] | undefined;
}

/** The faults of records that could not be read whole, by their place: `accounts/0/users/1`. */
export type Unreadable = ReadonlyMap<string, ApiError>;

/** A field that changes. */
export interface Difference {
  field: string;
  before: unknown;
  after: unknown;
}

/** A line of the plan. */
export interface Planned {
  action: 'create' | 'change' | 'adopt' | 'remove';
  kind: Kind;
  name: string;
  differences: Difference[];
}

interface Step extends Planned {
  /** The place in the file: `accounts/0/users/1`; empty for a record that it no longer has. */
  where: string;
  /** The records of the file without which this one can't be: their faults are enough. */
  needs: string[];
  /** Reported even if a record that it needs has a fault. */
  fault?: ApiError;
  /** Gives up what other records may get. */
  release?: ((tx: Transaction) => Promise<unknown>) | undefined;
  run(tx: Transaction): Promise<unknown>;
}

/** Settings for creating accounts and users. */
export interface Making {
  secrets: Secrets;
  viewable: boolean;
  max_users: number;
}

/**
 * Works out the plan. Only `carryOut` finds out whether it can be done: a record with a fault is a
 * step that fails. Of records in `unreadable`, the manifest has the fields that could be read.
 */
export async function planManifest(
  db: Reader,
  manifest: Manifest,
  making: Making,
  unreadable: Unreadable = new Map(),
): Promise<Step[]> {
  return new Planner(db, manifest, making, unreadable).plan();
}

/** Errors: 409 for a manifest that declares nothing, when its plan removes records. */
export function rejectEmpty(manifest: Manifest, steps: readonly Step[]): void {
  const { name, servers = [], accounts = [] } = manifest;
  if (servers.length + accounts.length > 0 || steps.length === 0) return;
  throw conflict(
    `The manifest ${name} declares nothing, so all ${steps.length} records that it owns would be removed; send remove_all=true (--remove-all) if they should.`,
  );
}

/**
 * Carries a plan out, and records which manifest owns what. Addresses and hostnames are freed
 * first, so that they can move between records. Errors: those of all changes, each with its place
 * in the file.
 */
export async function carryOut(tx: Transaction, steps: readonly Step[]): Promise<void> {
  const faults = steps.flatMap(({ fault }) => fault ?? []);
  const failed = new Set(steps.filter(({ fault }) => fault).map(keyOf));
  const attempt = async (step: Step, act: Step['release']) => {
    const key = keyOf(step);
    if (failed.has(key) || step.needs.some((needed) => failed.has(needed))) {
      failed.add(key);
      return;
    }
    try {
      await act?.(tx);
    } catch (error) {
      faults.push(placed(error, step));
      failed.add(key);
    }
  };
  const [removals, others] = [true, false].map((isRemoval) =>
    steps.filter(({ action }) => (action === 'remove') === isRemoval),
  ) as [Step[], Step[]];
  for (const step of others) await attempt(step, step.release);
  for (const step of [...removals, ...others]) await attempt(step, step.run);
  rejectFaults(faults);
}

const maxFaults = 100;

/** Errors: the only fault; or one that lists them all. */
function rejectFaults(errors: readonly ApiError[]): void {
  const [first] = errors;
  if (!first) return;
  const all = errors.flatMap(faultsOf);
  if (all.length === 1) throw first;
  const faults = all.slice(0, maxFaults);
  const lines = faults.map(({ message }) => `\n- ${message}`);
  const sentence = `The manifest has ${all.length} faults; nothing was changed.${lines.join('')}`;
  throw new ApiError(first.status, first.code, sentence, { faults });
}

const keyOf = ({ kind, name }: Pick<Planned, 'kind' | 'name'>) => `${kind} ${name}`;

type Place = Pick<Step, 'kind' | 'name' | 'where'>;

/** An error of a record, with its place in the file. Errors: anything that is not our error. */
function placed(error: unknown, place: Place): ApiError {
  if (!(error instanceof ApiError)) throw error;
  return errorOf(
    error,
    faultsOf(error).map((fault) => placedFault(fault, place)),
  );
}

function placedFault({ field, message }: Fault, { kind, name, where }: Place): Fault {
  if (where !== '' && field.replaceAll('.', '/').startsWith(where)) return { field, message };
  const isOfRecord = where !== '' && /^[a-z_.]+$/.test(field);
  const place = isOfRecord ? `${where}/${field.replaceAll('.', '/')}` : where;
  const sentence = `${kind} ${name}: ${message}`;
  return { field: place, message: place ? `${place}: ${sentence}` : sentence };
}

/** Runs `act` for a part of a record. Errors: those of `act`, with their place in the file. */
async function at<T>(place: Place, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw placed(error, place);
  }
}

/** A record that the file declares. */
interface Declared {
  /** The changes that the file asks for; undefined: the record does not exist. */
  differences: Difference[] | undefined;
  release?: Step['release'];
  run: Step['run'];
}

/** Removes a user who is erased from the records that manifests own: these hold the name. */
export function disownUser(tx: Transaction, account: string, user: string): Promise<void> {
  return disown(tx, 'user', `${account}/${user}`);
}

class Planner {
  readonly #db: Reader;
  readonly #manifest: Manifest;
  readonly #making: Making;
  readonly #unreadable: Unreadable;
  readonly #steps: Step[] = [];
  readonly #declared = new Set<string>();

  constructor(db: Reader, manifest: Manifest, making: Making, unreadable: Unreadable) {
    this.#db = db;
    this.#manifest = manifest;
    this.#making = making;
    this.#unreadable = unreadable;
  }

  async plan(): Promise<Step[]> {
    const { servers = [], accounts = [] } = this.#manifest;
    for (const [at, server] of servers.entries()) {
      const place: Place = { kind: 'server', name: server.name, where: `servers/${at}` };
      const check = () => checkedExits(this.#db, server, place);
      await this.#declare(place, check, () => this.#server(server, place));
    }
    for (const [at, account] of accounts.entries()) {
      await this.#accountWithAll(account, `accounts/${at}`);
    }
    // Their names may be among the records that the file seems to have no more.
    if (this.#unreadable.size === 0) await this.#removals();
    return this.#steps;
  }

  /**
   * Adds a record: created, changed or adopted; or, if it has a fault, the step that fails. `check`
   * looks at those fields of an unreadable one that could be read.
   */
  async #declare(
    place: Place & { needs?: string[] },
    check: () => unknown,
    read: () => Promise<Declared>,
  ): Promise<void> {
    const key = keyOf(place);
    const { needs = [] } = place;
    const { name: manifest } = this.#manifest;
    try {
      const unreadable = this.#unreadable.get(place.where);
      if (unreadable) await checkAll([() => Promise.reject(unreadable), check]);
      if (this.#declared.has(key)) throw conflict(`${key} is declared twice.`);
      this.#declared.add(key);
      const { kind, name } = place;
      const owner = await findOwner(this.#db, kind, name);
      if (owner && owner.manifest !== manifest) {
        throw conflict(`${key} belongs to the manifest ${owner.manifest}.`);
      }
      const { differences, release, run } = await read();
      const isSame = differences?.length === 0;
      if (owner && isSame) return;
      const action = differences === undefined ? 'create' : isSame ? 'adopt' : 'change';
      this.#steps.push({
        ...{ ...place, action, differences: differences ?? [], needs, release },
        run: async (tx) => {
          if (!isSame) await run(tx);
          if (!owner) await recordOwner(tx, { kind, name, manifest });
        },
      });
    } catch (error) {
      const fault = placed(error, place);
      const run = () => Promise.reject(fault);
      const isUnreadable = this.#unreadable.has(place.where);
      this.#steps.push({
        ...{ ...place, action: 'change', differences: [], needs, run },
        ...(isUnreadable ? { fault } : {}),
      });
    }
  }

  async #server(declared: DeclaredServer, place: Place): Promise<Declared> {
    const before = await findServerNamed(this.#db, declared.name);
    const exits = before ? await exitIpsOfServer(this.#db, before.id) : [];
    const checked = await checkedExits(this.#db, declared, place, before, exits);
    const exit_ips = declared.exit_ips && checked;
    const { exit_ips: _, ...fields } = declared;
    const wanted = { ...fields, hostname: serverHostname(declared.hostname, before) };
    let differences: Difference[] | undefined;
    if (before) {
      const schemes = (await portSchemesOfServer(this.#db, before.id)).map((scheme) => scheme.name);
      const services = servicesOf(before);
      differences = differing(
        { ...wanted, exit_ips: exit_ips?.map(inWords) },
        { ...before, services, port_schemes: schemes, exit_ips: exits.map(inWords) },
      );
    }
    const existing = new Set(exits.map(inWords));
    return {
      differences,
      release: before && ((tx) => releaseServer(tx, before, { ...wanted, exit_ips })),
      run: async (tx) => {
        const { name: _, ...changes } = wanted;
        const server = before
          ? await changeServer(tx, before, changes)
          : await createServer(tx, wanted);
        await checkAll(
          (exit_ips ?? []).map((exit, index) => async () => {
            if (existing.has(inWords(exit))) return;
            const earlier = exits.find(({ ip }) => ip === exit.ip);
            const exitPlace = { ...place, where: `${place.where}/exit_ips/${index}` };
            await at(exitPlace, () => addExitIp(tx, server, exit, earlier));
          }),
        );
      },
    };
  }

  async #accountWithAll(declared: DeclaredAccount, where: string): Promise<void> {
    const { users = [], servers = [], ...wanted } = declared;
    const before = await findAccountNamed(this.#db, wanted.name);
    const place: Place = { kind: 'account', name: wanted.name, where };
    const { port_scheme } = wanted;
    const check = () =>
      checkAll([
        () => checkTerms(wanted),
        () => port_scheme !== undefined && requirePortScheme(this.#db, port_scheme),
      ]);
    await this.#declare(place, check, () => this.#account(before, wanted));
    for (const [at, user] of users.entries()) {
      const name = `${wanted.name}/${user.name}`;
      const inner = { kind: 'user', name, where: `${where}/users/${at}` } as const;
      const check = () => visibleText('display_name', user.display_name ?? user.name);
      await this.#declare({ ...inner, needs: [keyOf(place)] }, check, () =>
        this.#user(place, before, user),
      );
    }
    for (const [at, on] of servers.entries()) {
      const name = `${wanted.name}/${on.name}`;
      const inner = { kind: 'contract_server', name, where: `${where}/servers/${at}` } as const;
      const needs = [keyOf(place), keyOf({ kind: 'server', name: on.name })];
      const nothing = () => undefined;
      await this.#declare({ ...inner, needs }, nothing, () =>
        this.#contractServer(place, before, on),
      );
    }
  }

  async #account(
    before: Account | undefined,
    declared: Omit<DeclaredAccount, 'users' | 'servers'>,
  ) {
    const schemes = await listPortSchemes(this.#db);
    const differences =
      before &&
      differing(declared, {
        ...before,
        detailed_billing: before.detailed_billing === 1,
        suspended: before.suspended === 1,
        port_scheme: schemes.find(({ id }) => id === before.port_scheme_id)?.name,
      });
    const run = async (tx: Transaction) => {
      const { suspended, ...fields } = declared;
      const { name: _, ...changes } = fields;
      if (before) return changeAccount(tx, before, { ...changes, suspended } as AccountChanges);
      const { secrets, viewable } = this.#making;
      const { account } = await createAccount(tx, secrets, viewable, fields);
      return suspended ? changeAccount(tx, account, { suspended }) : account;
    };
    return { differences, run };
  }

  async #user(account: Place, of: Account | undefined, declared: DeclaredUser) {
    const { active, flags, limits, ...plain } = declared;
    const before = of && (await findUserNamed(this.#db, of.id, declared.name));
    const differences = before && [
      ...differing({ ...plain, active }, { ...before, active: before.active === 1 }),
      ...differing(flags ?? {}, flagsOf(before)),
      ...(limits === undefined ? [] : await this.#limits(before, limits)),
    ];
    const run = async (tx: Transaction) => {
      const now = await requireAccountNamed(tx, account.name);
      const { name: _, ...changes } = declared;
      if (before) return changeUser(tx, before, changes, revokeSessions);
      const user = await createUser(tx, now, declared, this.#making.max_users);
      return active === false ? changeUser(tx, user, { active }, revokeSessions) : user;
    };
    return { differences, run };
  }

  async #limits(before: User, declared: LimitChanges | null): Promise<Difference[]> {
    const limitsOf = await limitsOfUsers(this.#db, [before]);
    return differing(declared ?? limitsOf(noLimits), limitsOf(before));
  }

  async #contractServer(account: Place, of: Account | undefined, declared: DeclaredOnContract) {
    const server = await findServerNamed(this.#db, declared.name);
    const before = of && server && (await findContractServer(this.#db, of.id, server.id));
    const { name, limit_bytes } = declared;
    const differences = before && differing({ limit_bytes }, before);
    const run = async (tx: Transaction) =>
      setContractServer(
        tx,
        await requireAccountNamed(tx, account.name),
        await requireServer(tx, name),
        limit_bytes,
      );
    return { differences, run };
  }

  /** The records that the file no longer has: those inside of accounts first, servers last. */
  async #removals(): Promise<void> {
    const owned = await ownedBy(this.#db, this.#manifest.name);
    const undeclared = owned.filter((record) => !this.#declared.has(keyOf(record)));
    for (const kind of ['contract_server', 'user', 'account', 'server'] as const) {
      for (const { name } of undeclared.filter((record) => record.kind === kind)) {
        const run = async (tx: Transaction) => {
          await removers[kind](tx, name);
          await disown(tx, kind, name);
        };
        const nothing = { differences: [], needs: [], where: '' };
        this.#steps.push({ action: 'remove', kind, name, ...nothing, run });
      }
    }
  }
}

/**
 * Checks the fields of a server that are given. Returns its exits as they would be stored. Errors:
 * 400, or 409 for an exit IP that is declared twice, with all faults listed.
 */
async function checkedExits(
  db: Reader,
  { exit_ips = [], port_schemes, ...texts }: DeclaredServer,
  place: Place,
  before?: Server,
  exits: readonly Exit[] = [],
): Promise<Exit[]> {
  const addressOf = exitAddressOf(exits);
  const ips = new Set<string>();
  const spelled = (exit: NewExit, index: number) => () =>
    at({ ...place, where: `${place.where}/exit_ips/${index}` }, () => {
      const ip = addressOf(exit.ip);
      if (ips.has(ip)) throw conflict(`ip: ${ip} is declared twice.`);
      ips.add(ip);
      return { ...exit, ip };
    });
  const [, spelledExits] = await checkAll([
    () => checkServerTexts(texts, before),
    () => checkAll(exit_ips.map(spelled)),
    () => port_schemes && requirePortSchemes(db, port_schemes),
  ]);
  return spelledExits;
}

const flagsOf = ({ proxy, billing, admin }: User) => ({
  proxy: proxy === 1,
  billing: billing === 1,
  admin: admin === 1,
});

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
function differing(wanted: object, before: object): Difference[] {
  return Object.entries(wanted).flatMap(([field, after]) => {
    const now = (before as Record<string, unknown>)[field];
    const isSame =
      Array.isArray(after) && Array.isArray(now) ? isSameSet(after, now) : after === now;
    return after === undefined || isSame ? [] : [{ field, before: now, after }];
  });
}
