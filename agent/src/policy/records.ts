// The records of the node interface, as the control plane sends them (docs/node.md), and the checks
// before one is applied.

import { isIP } from 'node:net';
import type { ConnectionQuestion, SentRecord } from '../../../kit/src/node_interface.ts';

/** A question. From this machine it may contain the token itself. */
export type OwnQuestion = ConnectionQuestion & { token?: string };

/** The records of the control plane, and the node's own. */
export type NodeRecord =
  | SentRecord
  /** By the node's own count the account is over its limit until then (epoch seconds). */
  | { kind: 'limit_reached'; account: number; value: { until: number } | null }
  /** The same of a user of the account. */
  | { kind: 'user_limit_reached'; account: number; id: number; value: { until: number } | null }
  /** Why a record, or a part of it, was left out, until the record's next state. */
  | { kind: 'unreadable'; name: string; value: { message: string } };

export type QuestionKind = 'explain' | 'explain_token' | 'explain_login';

/** Whether a record is a question about a decision. */
export function isQuestion<T extends { kind?: unknown }>(
  record: T,
): record is T & { kind: QuestionKind } {
  const { kind } = record;
  return kind === 'explain' || kind === 'explain_token' || kind === 'explain_login';
}

const passing: readonly unknown[] = [
  ...['connections', 'end_connections', 'exit_uses', 'erased_users'],
];

/** Whether a record is part of the policy. Questions, watches and orders are not stored. */
export function isStored(record: { kind?: unknown }): boolean {
  return !isQuestion(record) && !passing.includes(record.kind);
}

// ---- Checks of records --------------------------------------------------------------------

/** A record that cannot be applied. */
export class BadRecord extends Error {}

/** Errors: BadRecord, which names the place and what was expected. */
type Check = (value: unknown, place: string) => void;

function check(expected: string, isRight: (value: unknown) => boolean): Check {
  return (value, place) => {
    if (!isRight(value)) throw new BadRecord(`${place}: expected ${expected}`);
  };
}

const text = check('a text', (value) => typeof value === 'string');
const flag = check('true or false', (value) => typeof value === 'boolean');
const whole = check('a whole number', Number.isSafeInteger);
const nothing = check('null', (value) => value === null);
const publicKey = check(
  'an Ed25519 public key in base64url',
  (value) => typeof value === 'string' && /^[\w-]{43}$/.test(value),
);
const address: Check = (value, place) => {
  // A zone is only valid on one machine.
  if (typeof value === 'string' && isIP(value) > 0 && !value.includes('%')) return;
  const got = typeof value === 'string' ? `, not ${JSON.stringify(value.slice(0, 64))}` : '';
  throw new BadRecord(`${place}: expected an address${got}`);
};
const base = check(
  'a whole number from 1 to 64536',
  (value) => Number.isInteger(value) && Number(value) > 0 && Number(value) <= 64_536,
);
const portBase = check(
  'a whole number from 0 to 499',
  (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 500,
);

function listOf(item: Check): Check {
  return (value, place) => {
    if (!Array.isArray(value)) throw new BadRecord(`${place}: expected a list`);
    for (const [index, element] of value.entries()) item(element, `${place}[${index}]`);
  };
}

function object(fields: Record<string, Check>): Check {
  const checks = Object.entries(fields);
  return (value, place) => {
    if (typeof value !== 'object' || value === null) {
      throw new BadRecord(`${place}: expected an object`);
    }
    for (const [name, isField] of checks) {
      isField((value as Record<string, unknown>)[name], `${place}.${name}`);
    }
  };
}

function optional(item: Check, none: null | undefined): Check {
  return (value, place) => {
    if (value !== none) item(value, place);
  };
}

const stateOf = (fields: Record<string, Check>) => optional(object(fields), null);

const scheme = object({ name: text, bases: listOf(object({ base, service: text })) });
const exit = object({ ip: address, port_base: portBase });
const key = object({ kid: text, public_key: publicKey });

const yes = check('true', (value) => value === true);
const count = check(
  'a whole number above 0',
  (value) => Number.isSafeInteger(value) && Number(value) > 0,
);
/** An unreadable limit makes the user's record unreadable: without it the user would have more. */
const userLimits = object({
  connections: optional(count, undefined),
  addresses: optional(count, undefined),
  address_seconds: optional(count, undefined),
  until: optional(whole, undefined),
  services: optional(listOf(text), undefined),
  not_here: optional(yes, undefined),
  over: optional(yes, undefined),
});

const question = {
  ...{ from: text, port: whole, method: text, host: text, destination_port: whole },
  check_exit: optional(flag, undefined),
  check_exit_of: optional(object({ account: text, user: optional(text, undefined) }), undefined),
};
const tokenClaims = object({
  kid: text,
  account: whole,
  user: whole,
  token_version: whole,
  expiry: whole,
});

const connectionFilter = {
  ...{ account: optional(whole, undefined), user: optional(whole, undefined) },
  ...{ address: optional(text, undefined), exit_ip: optional(text, undefined) },
};

/** The members that identify a record of this kind, and the check of its value. */
interface Shape {
  names: Record<string, Check>;
  value: Check;
}

const ofAccount = (value: Check): Shape => ({ names: { account: whole }, value });
const ofAccountById = (fields: Record<string, Check>): Shape => ({
  names: { account: whole, id: whole },
  value: stateOf(fields),
});
const ofId = (fields: Record<string, Check>): Shape => ({
  names: { id: whole },
  value: stateOf(fields),
});

const shapes = new Map<unknown, Shape>([
  [
    'server',
    {
      names: {},
      value: stateOf({
        name: text,
        hostname: text,
        services: listOf(text),
        port_schemes: listOf(scheme),
        exit_ips: listOf(exit),
        drained_nodes: optional(listOf(whole), undefined),
        vpn_key: optional(text, undefined),
        vpn_generation: optional(whole, undefined),
      }),
    },
  ],
  ['keys', { names: {}, value: listOf(key) }],
  ['account', ofAccount(nothing)],
  [
    'contract',
    ofAccount(
      stateOf({ name: text, expiry: whole, suspended: flag, blocked: flag, port_scheme: text }),
    ),
  ],
  [
    'user',
    ofAccountById({
      ...{ name: text, active: flag, proxy: flag, token_version: whole },
      limits: optional(userLimits, undefined),
    }),
  ],
  ['authlist', ofAccountById({ ip: text, user: whole, expiry: whole })],
  ['authlist_cleared', ofAccount(nothing)],
  ['override', ofAccountById({ hostname: text, ip: text, expiry: whole })],
  ['overrides_cleared', ofAccount(nothing)],
  ['limit_reached', ofAccount(stateOf({ until: whole }))],
  ['user_limit_reached', ofAccountById({ until: whole })],
  ['unreadable', { names: { name: text }, value: object({ message: text }) }],
  ['explain_token', ofId({ ...question, user: text, claims: optional(tokenClaims, null) })],
  [
    'explain_login',
    ofId({ service: text, login: text, exit_ip: text, from: optional(text, undefined) }),
  ],
  ['explain', ofId({ ...question, user: optional(text, undefined) })],
  ['connections', ofId({ lease_seconds: whole, ...connectionFilter })],
  ['end_connections', ofId({ ...connectionFilter, service: optional(text, undefined) })],
  [
    'exit_uses',
    ofId({
      ...{ exit_ip: address, at: whole, margin_seconds: whole },
      port: optional(whole, undefined),
      destination: optional(object({ host: text, port: whole }), undefined),
    }),
  ],
]);

/** The name of a record among all of a policy: `server`, `contract 1`, `authlist 1 9`. */
export function nameOf(record: NodeRecord): string {
  const { account, id } = record as { account?: number; id?: number };
  return [record.kind, account, id].filter((word) => word !== undefined).join(' ');
}

/** Unknown kinds are fine. Errors: BadRecord if the record does not identify itself. */
function checkNames(record: unknown): asserts record is NodeRecord {
  object({ kind: text })(record, 'record');
  const { kind } = record as NodeRecord;
  object(shapes.get(kind)?.names ?? {})(record, kind);
}

/**
 * Returns the record if it can be applied. Unknown kinds and fields are fine. Errors: BadRecord.
 */
export function checkRecord(record: unknown): NodeRecord {
  checkNames(record);
  shapes.get(record.kind)?.value(record.value, `${record.kind}.value`);
  return record;
}

/** Lists whose items are read one by one: a bad item does not affect the others. */
const parts = { services: text, port_schemes: scheme, exit_ips: exit };

/**
 * The faults of a value, in words, and its readable part; null if too little is readable.
 */
function readablePart({ kind, value }: NodeRecord): { value: unknown; faults: string[] } {
  const faults: string[] = [];
  const itemsOf = (list: unknown, item: Check, place: string): unknown[] => {
    if (!noteFault(() => listOf(() => {})(list, place))) return [];
    return (list as unknown[]).filter((element, at) =>
      noteFault(() => item(element, `${place}[${at}]`)),
    );
  };
  const noteFault = (look: () => void): boolean => {
    try {
      look();
      return true;
    } catch (error) {
      if (!(error instanceof BadRecord)) throw error;
      faults.push(error.message);
      return false;
    }
  };
  if (kind === 'keys') return { value: itemsOf(value, key, 'keys.value'), faults };
  let readable: unknown = value;
  if (kind === 'server' && typeof value === 'object' && value !== null) {
    const lists = Object.entries(parts).map(([name, item]) => [
      name,
      itemsOf(value[name as keyof typeof parts], item, `server.value.${name}`),
    ]);
    readable = { ...value, ...Object.fromEntries(lists) };
  }
  const isWhole = noteFault(() => shapes.get(kind)?.value(readable, `${kind}.value`));
  return { value: isWhole ? readable : null, faults };
}

/**
 * The records to apply for a received one: the record itself, or its readable part and a record
 * with the reason why the rest is left out. Rights that only the rest granted end. Errors:
 * BadRecord if the record does not identify itself.
 */
export function readRecord(received: unknown): NodeRecord[] {
  try {
    return [checkRecord(received)];
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
  }
  checkNames(received);
  if (!isStored(received)) return [];
  const { value, faults } = readablePart(received);
  return [
    { ...received, value } as NodeRecord,
    unreadable(nameOf(received), faults.slice(0, maxFaults).join('; ')),
  ];
}

/** At most this many faults of one record are reported. */
const maxFaults = 5;

export function unreadable(name: string, message: string): NodeRecord {
  return { kind: 'unreadable', name, value: { message } };
}
