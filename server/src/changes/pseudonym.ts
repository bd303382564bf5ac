// Audit records of an erased person: a pseudonym replaces names and addresses; everything else
// stays as it was.
import type { AuditRecord } from './audit_record.ts';

/** A user whose names and addresses are removed from records. */
export interface Erased {
  account_name: string;
  user_id: number;
  name: string;
  /** The same in all records of the user, and not derived from the name. */
  pseudonym: string;
  /** Those of the user's authlist entries; the ones in records of entries are added on the way. */
  addresses: Set<string>;
}

type Fields = Record<string, unknown>;

/** Actions whose target is a user, by name. */
const ofUser = /^(user|proxy_token|vpn_profile|session|password|second_factor)\./;

/**
 * The members of the record that change; none for a record about others. An address is removed if
 * the person called from it, or if an authlist entry of the person contained it; from an order to
 * end its connections, which names no user, as well.
 */
export function withoutPerson(record: AuditRecord, erased: Erased): Partial<AuditRecord> {
  const { account_name, name, pseudonym } = erased;
  const isActor = record.actor_kind === 'user' && record.actor === `${account_name}/${name}`;
  const isTarget = ofUser.test(record.action) && record.target === name;
  const about = { isTarget, isOrder: record.action === 'connection.end' };
  const changed: Partial<AuditRecord> = {};
  if (isActor) changed.actor = `${account_name}/${pseudonym}`;
  if (isTarget) changed.target = pseudonym;
  // A sign-in that is only attempted belongs to no user yet. An operator's address stays.
  if ((isActor || (isTarget && record.actor_kind === 'system')) && record.address !== '')
    changed.address = '';
  for (const side of ['before', 'after'] as const) {
    const text = record[side];
    if (text === null) continue;
    const replaced = JSON.stringify(JSON.parse(text, (_, value) => replace(value, erased, about)));
    if (replaced !== text) changed[side] = replaced;
  }
  return changed;
}

function replace(
  value: unknown,
  { user_id, name, pseudonym, addresses }: Erased,
  { isTarget, isOrder }: { isTarget: boolean; isOrder: boolean },
): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const fields = value as Fields;
  const isNamed = fields.user === name;
  const isOwn =
    isNamed ||
    fields.user === user_id ||
    fields.user_id === user_id ||
    (isTarget && fields.name === name);
  if (isOwn && typeof fields.ip === 'string') addresses.add(fields.ip);
  const namesNoUser = isOrder && fields.user === undefined;
  if (!isOwn && !(namesNoUser && addresses.has(String(fields.address)))) return value;
  const personal = [
    'name',
    'display_name',
    'ip',
    'address',
    'browser',
    'note',
    ...(isNamed ? ['user'] : []),
  ];
  return Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [key, personal.includes(key) ? pseudonym : field]),
  );
}
