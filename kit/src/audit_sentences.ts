// The sentences of the audit log: one for each action, in the console and on a terminal. The file
// runs in browsers, too: it imports nothing.

/** A record, as far as its sentence goes. */
export interface AuditRecord {
  action: string;
  target: string;
  before: unknown;
  after: unknown;
}

/** Values as the reader's program writes them: times in epoch seconds, bytes, and seconds. */
export interface ValueWords {
  time: (seconds: number) => string;
  bytes: (count: number) => string;
  duration: (seconds: number) => string;
}

/** The action and its target; `was` and `is` are the record before and after it, or empty. */
interface Deed {
  target: string;
  was: Fields;
  is: Fields;
}
type Fields = Record<string, unknown>;
type Sentences = Record<string, (deed: Deed) => string>;

/**
 * A name in a sentence, between the marks of Unicode that isolate it (FSI, PDI): the page shows it
 * in bold.
 */
export const markedName = (value: string) => `\u2068${value}\u2069`;
const name = markedName;
/** A text without the marks around names. */
export const withoutMarks = (text: string) => text.replace(/[\u2068\u2069]/gu, '');
/** "1 entry", "2,000 entries". */
const count = (number: number, singular: string, plural = `${singular}s`) =>
  `${number.toLocaleString('en')} ${number === 1 ? singular : plural}`;
/** A value as a name; a dash for a missing one. */
const text = (value: unknown) =>
  value === undefined || value === null ? '–' : name(String(value));
const number = (value: unknown) => (typeof value === 'number' ? value : 0);
const entries = (fields: Fields) =>
  number(fields.entries) === 1
    ? 'the one entry'
    : `all ${count(number(fields.entries), 'entry', 'entries')}`;
const restored = ({ is }: Deed) =>
  `restored ${count(number(is.restored), 'removed entry', 'removed entries')}`;
/** "token/12" -> "12". */
const idIn = (target: string) => name(target.slice(target.lastIndexOf('/') + 1));
const sessions = ({ is }: Deed) => {
  const ended = number(is.sessions_ended);
  return ended === 0 ? 'none was open' : `${count(ended, 'session')} ended`;
};
const permissions = (fields: Fields) =>
  ['admin', 'billing', 'proxy'].filter((flag) => fields[flag] === 1 || fields[flag] === true);
const alike = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** Phrases for the changed fields, joined; `otherwise` when none of these fields changed. */
function changes(
  { was, is }: Deed,
  phrases: Record<string, (value: unknown, before: unknown) => string>,
  otherwise: string,
): string {
  const sentences = Object.entries(phrases)
    .filter(([field]) => field in is && !alike(was[field], is[field]))
    .map(([field, phrase]) => phrase(is[field], was[field]));
  return sentences.length === 0 ? otherwise : sentences.join(', and ');
}

const onOff = (what: string) => (value: unknown) =>
  value ? `switched ${what} on` : `switched ${what} off`;

const listed = (value: unknown) =>
  Array.isArray(value) ? value.join(', ') || 'none' : text(value);

/** The limits of a user: how each is called, its value in words, and the word for no limit. */
const limitPhrases = ({ time, bytes, duration }: ValueWords) =>
  ({
    limit_bytes: ['bytes in a billing period', (value) => bytes(number(value))],
    on_limit: ['the action over these', text],
    max_connections: ['connections at once', text],
    max_addresses: ['source addresses at once', text],
    address_seconds: ['how long an address counts', (value) => duration(number(value))],
    active_until: ['the end', (value) => time(number(value))],
    services: ['services', listed, 'all'],
    servers: ['servers', listed, 'all'],
  }) as Record<string, [name: string, shown: (value: unknown) => string, unlimited?: string]>;

/** "changed the limits of bob: connections at once none → 3". */
function limitChange({ target, was, is }: Deed, words: ValueWords): string[] {
  const parts = Object.entries(limitPhrases(words)).flatMap(
    ([field, [what, shown, unlimited = 'none']]) => {
      // These two belong to a limit: the record of a user without any lacks them.
      const isDetail = field === 'on_limit' || field === 'address_seconds';
      if (isDetail && !(field in was && field in is)) return [];
      const values = [was[field] ?? null, is[field] ?? null];
      const [from, to] = values.map((value) => (value === null ? unlimited : shown(value)));
      return from === to ? [] : `${what} ${from} → ${to}`;
    },
  );
  return parts.length === 0 ? [] : [`changed the limits of ${name(target)}: ${parts.join('; ')}`];
}

function userChange(deed: Deed, words: ValueWords): string {
  const { target, was, is } = deed;
  const flags = alike(permissions(was), permissions(is))
    ? []
    : [`set the permissions of ${name(target)} to ${permissions(is).join(', ') || 'none'}`];
  const active = alike(was.active, is.active)
    ? []
    : [`${is.active ? 'enabled' : 'disabled'} the user ${name(target)}`];
  const shown = alike(was.display_name, is.display_name)
    ? []
    : [`renamed ${name(target)} to “${text(is.display_name)}”`];
  const limits = limitChange(deed, words);
  return (
    [...active, ...flags, ...shown, ...limits].join(', and ') || `changed the user ${name(target)}`
  );
}

/** "the limit 5 TB → 6 TB" */
const fromTo =
  (what: string, shown: (value: unknown) => string) => (value: unknown, before: unknown) =>
    before === undefined || before === null
      ? `set ${what} to ${shown(value)}`
      : `changed ${what}: ${shown(before)} → ${shown(value)}`;
/** "fra1/203.0.113.7" -> "fra1". */
function hostIn(target: string): string {
  return name(target.slice(0, target.lastIndexOf('/')));
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};

/** The rest of the sentence after the actor's name, without the full stop, by action. */
function sentencesIn(words: ValueWords): Sentences {
  const { time, bytes, duration } = words;
  const until = (fields: Fields) =>
    typeof fields.expiry === 'number' ? `, until ${time(fields.expiry)}` : '';
  const moment = (value: unknown) => time(number(value));
  const around = (at: unknown) => (at === undefined ? '' : ` around ${moment(at)}`);
  const entryChanges = {
    ip: (value: unknown) => `now ${text(value)}`,
    hostname: (value: unknown) => `now for ${text(value)}`,
    server: (value: unknown) => `now on ${text(value)}`,
    user: (value: unknown) => `now for ${text(value)}`,
    proven: (value: unknown) => (value ? 'now verified' : 'no longer verified'),
    expiry: (value: unknown) => `now until ${moment(value)}`,
  };
  const contractChanges = {
    suspended: (value: unknown) =>
      value ? 'suspended the contract' : 'lifted the suspension of the contract',
    plan: fromTo('the plan', text),
    start: fromTo('the start of the contract', moment),
    expiry: fromTo('the end of the contract', moment),
    limit_bytes: fromTo('the limit of a period', (value) => bytes(number(value))),
    on_limit: (value: unknown) =>
      `set connections over the limit to be ${value === 'allow' ? 'allowed and billed' : 'refused'}`,
    detailed_billing: onOff('detailed server billing'),
    port_scheme_id: () => 'changed the port scheme',
    token_lifetime_seconds: fromTo('the lifetime of proxy access tokens', (value) =>
      duration(number(value)),
    ),
  };

  return {
    'authlist.create': ({ is }) =>
      `added ${text(is.ip)} to the authlist for ${text(is.user)}${until(is)}`,
    'authlist.change': (deed) =>
      `changed the authlist entry ${text(deed.was.ip)} of ${text(deed.was.user)}: ${changes(deed, entryChanges, 'no changes')}`,
    'authlist.remove': ({ was }) =>
      `removed ${text(was.ip)} of ${text(was.user)} from the authlist`,
    'authlist.give_way': ({ was }) =>
      `removed ${text(was.ip)} of ${text(was.user)} from the authlist: another account verified the address`,
    'authlist.remove_all': ({ was }) => `removed ${entries(was)} from the authlist`,
    'authlist.restore': (deed) => `${restored(deed)} on the authlist`,

    'override.create': ({ is }) =>
      `added a custom DNS entry on ${text(is.server)}: ${text(is.hostname)} resolves to ${text(is.ip)}${until(is)}`,
    'override.change': (deed) =>
      `changed the custom DNS entry ${text(deed.was.hostname)} on ${text(deed.was.server)}: ${changes(deed, entryChanges, 'no changes')}`,
    'override.remove': ({ was }) =>
      `removed the custom DNS entry ${text(was.hostname)} on ${text(was.server)}`,
    'override.remove_all': ({ was }) => `removed ${entries(was)} of custom DNS`,
    'override.restore': (deed) => `${restored(deed)} of custom DNS`,

    'user.create': ({ target, is }) =>
      `added the user ${name(target)}, permissions: ${permissions(is).join(', ') || 'none'}`,
    'user.change': (deed) => userChange(deed, words),
    'user.raise_token_version': ({ target }) => `ended all proxy access tokens of ${name(target)}`,
    'user.erase': ({ target }) => `erased the person whose record is now named ${name(target)}`,
    'user.invite': ({ target, is }) => `created an invitation for ${name(target)}${until(is)}`,
    'user.sign_in_link': ({ target, is }) =>
      `created a sign-in link for ${name(target)}${until(is)}`,
    'user.reset_sign_in': (deed) =>
      `reset the sign-in of ${name(deed.target)} (password, second factor, invitations); ${sessions(deed)}`,
    'user.end_sessions': (deed) => `signed ${name(deed.target)} out everywhere; ${sessions(deed)}`,
    'vpn_profile.create': ({ target, is }) =>
      `created a VPN profile of ${is.server === null ? 'all servers' : text(is.server)} for ${name(target)}${until(is)}`,
    'proxy_token.create': ({ target, is }) =>
      `created a proxy access token for ${name(target)}${until(is)}`,

    'connection.end': ({ is }) =>
      `ended ${is.service === undefined ? 'the connections' : `the ${text(is.service)} connections`}${[
        ['of', is.user],
        ['of the account', is.account],
        ['from', is.address],
        ['to the exit IP', is.exit_ip],
        ['on', is.server],
        ['on the node', is.node],
      ]
        .flatMap(([word, value]) => (value === undefined ? [] : [` ${word} ${text(value)}`]))
        .join('')}, ordered from ${count(number(is.nodes), 'node')}`,
    'connection.find': ({ target, is }) =>
      `asked who used the exit ${name(target)}${around(is.at)} (${text(is.reason)})${is.rows === undefined ? '' : ` and saw ${count(number(is.rows), 'row')}`}`,
    'connection.answer': ({ target, is }) =>
      `saw ${count(number(is.rows), 'row')} about who used the exit ${name(target)}${around(is.at)}`,

    'session.create': ({ is }) =>
      ({ invitation: 'signed in with an invitation', link: 'signed in with a one-time link' })[
        String(is.by)
      ] ?? 'signed in',
    'password.set': ({ target }) => `set a first password for ${name(target)}`,
    'password.change': ({ target }) => `changed the password of ${name(target)}`,
    'second_factor.set': ({ target }) => `set up a second factor for ${name(target)}`,
    'second_factor.remove': ({ target }) => `removed the second factor of ${name(target)}`,
    'second_factor.recover': ({ target, is }) =>
      `used a recovery code of ${name(target)}; ${count(number(is.codes_left), 'code')} left`,

    'api_token.create': ({ is }) => `created the API token ${text(is.name)}${until(is)}`,
    'api_token.view': ({ target }) => `viewed the text of API token ${idIn(target)}`,
    'api_token.remove': ({ was }) => `revoked the API token ${text(was.name)}`,

    'contract_server.add': ({ target }) => `added the server ${name(target)} to the contract`,
    'contract_server.change': ({ target, is }) =>
      typeof is.limit_bytes === 'number'
        ? `set the limit of ${name(target)} on the contract to ${bytes(is.limit_bytes)}`
        : `removed the limit of ${name(target)} on the contract`,
    'contract_server.remove': ({ target }) =>
      `removed the server ${name(target)} from the contract`,

    'account.create': ({ target, is }) =>
      `created the account ${name(target)}, plan ${text(is.plan)}`,
    'account.change': (deed) => changes(deed, contractChanges, 'changed the contract'),

    'port_scheme.create': ({ target }) => `created the port scheme ${name(target)}`,
    'port_scheme.change': ({ target }) => `changed the ports of the port scheme ${name(target)}`,
    'port_scheme.remove': ({ target }) => `removed the port scheme ${name(target)}`,
    'server.create': ({ target }) => `added the server ${name(target)} to the network`,
    'server.change': ({ target, was, is }) =>
      `changed the server ${name(target)}${changedFields(was, is, words)}`,
    'server.renew_vpn_key': ({ target }) =>
      `renewed the VPN key of ${name(target)}, which ended its VPN passwords`,
    'server.remove': ({ target }) => `removed the server ${name(target)} from the network`,
    'inventory.import': ({ is }) =>
      `imported the inventory: ${number(is.added)} servers added, ${number(is.changed)} changed, ${number(is.removed)} removed`,
    'exit_ip.add': ({ target }) => `added the exit IP ${idIn(target)} to ${hostIn(target)}`,
    'exit_ip.change': ({ target, is }) =>
      `moved the exit IP ${idIn(target)} of ${hostIn(target)} to port base ${text(is.port_base)}`,
    'exit_ip.remove': ({ target }) => `removed the exit IP ${idIn(target)} of ${hostIn(target)}`,
    'node.invite': ({ target, is }) => `invited a node to ${name(target)}${until(is)}`,
    'node.uninvite': ({ target }) => `canceled node invitation ${idIn(target)}`,
    'node.join': ({ target }) => `joined ${hostIn(target)} as the node ${idIn(target)}`,
    'node.change': ({ target, is }) =>
      typeof is.max_bytes_per_second === 'number'
        ? `let the node ${idIn(target)} report up to ${bytes(is.max_bytes_per_second)} a second`
        : `let the node ${idIn(target)} report as much as other nodes`,
    'node.drain': ({ is }) => `drained the node ${text(is.name)}: it accepts no new connections`,
    'node.undrain': ({ is }) => `undrained the node ${text(is.name)}: it accepts connections again`,
    'node.revoke': ({ was }) => `revoked the node ${text(was.name)}`,
    'held_usage.accept': ({ was }) =>
      `accepted ${bytes(number(was.bytes))} of held usage that a node had reported`,
    'held_usage.discard': ({ was }) =>
      `discarded ${bytes(number(was.bytes))} of held usage that a node had reported`,
    'operator_token.create': ({ target, is }) =>
      `created the operator token ${name(target)}${is.may_find_connections === 1 ? ', which can find out who used an exit' : ''}`,
    'operator_token.remove': ({ target }) => `revoked the operator token ${name(target)}`,
    'maintenance.on': () => 'started maintenance',
    'maintenance.off': () => 'ended maintenance',
    'signing_key.prepare': ({ target }) =>
      `prepared the signing key ${name(target)} and announced it to the nodes`,
    'signing_key.activate': ({ target }) =>
      `started to sign proxy access tokens with the key ${name(target)}`,
    'signing_key.end': ({ target }) =>
      `removed the signing key ${name(target)}, whose last token had expired`,
    'signing_key.revoke': ({ target }) =>
      `revoked the signing key ${name(target)}, and all its tokens`,
    'hash_key.prepare': ({ target }) => `prepared the hashing key ${name(target)}`,
    'hash_key.activate': ({ target }) => `started to hash tokens with the key ${name(target)}`,
    'database.restore': () => 'restored the database from a backup',
    'database.failover': () =>
      'started a new history: the database moved to another PostgreSQL server',
  };
}

/**
 * The deed of the actor, without the full stop; names are between marks: "added 203.0.113.7 to the
 * authlist for ci". An action that this program doesn't know is shown as it is.
 */
export function auditDeed(
  { action, target, before, after }: AuditRecord,
  words: ValueWords,
): string {
  const sentence = sentencesIn(words)[action];
  return (
    sentence?.({ target, was: fieldsOf(before), is: fieldsOf(after) }) ??
    `did ${action} on ${name(target)}`
  );
}

const noWords: ValueWords = { time: String, bytes: String, duration: String };

/** The actions that have a sentence. */
export const auditActions = Object.keys(sentencesIn(noWords));

/** ": title A → B, services": a list has its name alone. Empty when no such field changed. */
function changedFields(before: Fields, after: Fields, words: ValueWords): string {
  const phrases = differences({ before, after }, words).map(({ field, before, after }) => {
    const word = /^[A-Z][a-z]/.test(field) ? field.charAt(0).toLowerCase() + field.slice(1) : field;
    return /^[[{]/.test(after) ? word : `${word} ${before} → ${after}`;
  });
  return phrases.length === 0 ? '' : `: ${phrases.join(', ')}`;
}

export interface Difference {
  field: string;
  before: string;
  after: string;
}

/** Fields that mean nothing to people: ids of the tables of the server, and secrets. */
const isHidden = (field: string) =>
  /_id$/.test(field) || ['revision', 'hash', 'sealed'].includes(field);

/** The fields whose name is not what people call them. */
const fieldWords: Record<string, string> = {
  ip: 'Address',
  expiry: 'Ends',
  start: 'Begins',
  proven: 'Verified',
  proven_at: 'Verified',
  waits: 'Waits to be verified',
  limit_bytes: 'Limit',
  on_limit: 'Over the limit',
  over_until: 'Over the limit until',
  admin: 'Administrator',
  proxy: 'Proxy user',
};

/** "display_name" -> "Display name" */
function wordsOf(field: string): string {
  const plain = field.replace(/_(at|seconds|bytes)$/, '').replaceAll('_', ' ');
  return fieldWords[field] ?? plain.charAt(0).toUpperCase() + plain.slice(1);
}

/** The differences between the record before and after; all fields when one is missing. */
export function differences(
  { before, after }: Pick<AuditRecord, 'before' | 'after'>,
  words: ValueWords,
): Difference[] {
  const was = fieldsOf(before);
  const is = fieldsOf(after);
  const isChange = before !== null && after !== null;
  return [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .filter((field) => !isHidden(field))
    .filter((field) => !isChange || !alike(was[field], is[field]))
    .map((field) => ({
      field: wordsOf(field),
      before: textOf(field, was[field], words),
      after: textOf(field, is[field], words),
    }));
}

/** Stored as 1 and 0. */
const isYesOrNo = new Set([
  ...['active', 'admin', 'billing', 'proxy', 'proven', 'waits', 'suspended', 'detailed_billing'],
]);
const isMoment = (field: string) => /^(start|expiry|over_until)$|_at$/.test(field);

function textOf(field: string, value: unknown, words: ValueWords): string {
  if (value === undefined) return '';
  if (value === null) return 'none';
  if (isMoment(field) && typeof value === 'number') return value === 0 ? 'none' : words.time(value);
  if (/_bytes$/.test(field) && typeof value === 'number') return words.bytes(value);
  if (/_seconds$/.test(field) && typeof value === 'number') return words.duration(value);
  if (isYesOrNo.has(field)) return value ? 'yes' : 'no';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
