// Port schemes: which ports of a server lead to its exit IPs, and with which service.
import { audit } from '../changes/audit.ts';
import { bumpVersion, networkVersion, nextId } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { conflict, invalidField, notFound } from '../errors.ts';
import { storedList } from '../values/stored_json.ts';
import * as store from './store.ts';

/**
 * A contract has one port scheme; a server listens on one or more. An exit IP is reached at a base
 * of the scheme plus its own `port_base`; with custom DNS, `overrideOffset` is added.
 */
export interface PortScheme {
  id: number;
  name: string;
  bases: Array<{ base: number; service: 'proxy' | 'proxy-https' }>;
}

/** The `port_base` of an exit IP is 0 to 499; the ports above are for custom DNS. */
export const overrideOffset = 500;
export const portsPerBase = 1000;

/** The default scheme: 10000 and 11000 plain, 12000 over TLS. */
export const defaultBases: PortScheme['bases'] = [
  { base: 10000, service: 'proxy' },
  { base: 11000, service: 'proxy' },
  { base: 12000, service: 'proxy-https' },
];

/** A port scheme from its row, without bases that cannot be parsed. */
export function toPortScheme({ bases, ...row }: store.PortSchemeRow): PortScheme {
  return { ...row, bases: storedList(bases, isBase) };
}

function isBase(value: unknown): value is PortScheme['bases'][number] {
  const { base, service } = (value ?? {}) as { base?: unknown; service?: unknown };
  return Number.isSafeInteger(base) && (service === 'proxy' || service === 'proxy-https');
}

/** All port schemes, in the order of their ids. */
export async function listPortSchemes(db: Reader): Promise<PortScheme[]> {
  return (await store.all(db)).map(toPortScheme);
}

/** A port scheme that the body's `field` names. Errors: 409 when there is none of that name. */
export async function requirePortScheme(
  db: Reader,
  name: string,
  field = 'port_scheme',
): Promise<PortScheme> {
  const row = await store.findByName(db, name);
  if (!row)
    throw conflict(`there is no port scheme named ${JSON.stringify(name)}.`, {
      code: 'unknown_port_scheme',
      field,
    });
  return toPortScheme(row);
}

/** A port scheme that a path names. Errors: 404. */
export async function findPortScheme(db: Reader, name: string): Promise<PortScheme> {
  const row = await store.findByName(db, name);
  if (!row) throw notFound(`There is no port scheme named ${JSON.stringify(name)}.`);
  return toPortScheme(row);
}

/** Whether two lists of bases have a port in common. */
export function sharePorts(bases: PortScheme['bases'], others: PortScheme['bases']): boolean {
  return bases.some((a) => others.some((b) => Math.abs(a.base - b.base) < portsPerBase));
}

/** Why one server cannot listen on all of these schemes; undefined when it can. */
export function sharedPortsFault(schemes: PortScheme[]): string | undefined {
  for (const [at, scheme] of schemes.entries()) {
    const other = schemes.slice(at + 1).find((later) => sharePorts(scheme.bases, later.bases));
    if (other)
      return `${scheme.name} and ${other.name} share ports, so that one server cannot have both.`;
  }
  return undefined;
}

/** Errors: 400. */
function rejectSharing(bases: PortScheme['bases']): void {
  if (bases.some((base, at) => sharePorts([base], bases.slice(at + 1)))) {
    throw invalidField(
      'bases',
      `two of them are less than ${portsPerBase} apart, so that they would share ports.`,
    );
  }
}

/**
 * Creates a port scheme. Errors: 400 when two of its bases share ports; 409 when the name is taken.
 */
export async function createPortScheme(
  tx: Transaction,
  body: { name: string; bases: PortScheme['bases'] },
): Promise<PortScheme> {
  rejectSharing(body.bases);
  const id = await nextId(tx, 0, 'port_schemes');
  const row = { id, name: body.name, bases: JSON.stringify(body.bases) };
  if (!(await store.insert(tx, row))) {
    throw conflict(`a port scheme named ${JSON.stringify(body.name)} exists already.`, {
      code: 'name_taken',
      field: 'name',
    });
  }
  await recordSchemeChange(tx, 'port_scheme.create', body.name, { after: body });
  return { id, ...body };
}

/**
 * Gives a port scheme other bases; the caller notifies the nodes. Errors: 400 when two of them
 * share ports.
 */
export async function putBases(
  tx: Transaction,
  { id, name, bases: before }: PortScheme,
  bases: PortScheme['bases'],
): Promise<PortScheme> {
  rejectSharing(bases);
  await store.setBases(tx, id, JSON.stringify(bases));
  const details = { before: { bases: before }, after: { bases } };
  await recordSchemeChange(tx, 'port_scheme.change', name, details);
  return { id, name, bases };
}

/** Removes an unused port scheme. */
export async function removePortScheme(
  tx: Transaction,
  { id, name, bases }: PortScheme,
): Promise<void> {
  await store.remove(tx, id);
  await recordSchemeChange(tx, 'port_scheme.remove', name, { before: { name, bases } });
}

async function recordSchemeChange(
  tx: Transaction,
  action: string,
  target: string,
  details: { before?: unknown; after?: unknown },
): Promise<void> {
  await bumpVersion(tx, networkVersion);
  await audit(tx, { account_id: null, action, target, ...details });
}
