// The audit log as a person reads it: a head for each day, a sentence for each record.
import { bytesInWords, timeInWords } from '../../../kit/src/cli/values.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface AuditRecord {
  at: number;
  actor_kind: string;
  actor: string;
  address: string | null;
  account: string | null;
  action: string;
  target: string;
  before: Fields | null;
  after: Fields | null;
}

const nouns: Readonly<Record<string, string>> = {
  api_token: 'API token',
  authlist: 'authlist entry',
  contract_server: 'contract server',
  exit_ip: 'exit IP',
  override: 'custom DNS entry',
  proxy_token: 'proxy access token of',
  session: 'session of',
  vpn_profile: 'VPN profile of',
};

/** Verbs that English does not form by adding -d or -ed. */
const verbs: Readonly<Record<string, string>> = {
  end_sessions: 'ended the sessions of',
  give_way: 'lost to another account, which verified the address,',
  raise_token_version: 'ended the proxy access tokens of',
  remove_all: 'removed all:',
  renew_vpn_key: 'renewed the VPN key of',
  reset_sign_in: 'reset the sign-in of',
  restore: 'put back:',
  set: 'set',
  sign_in_link: 'made a sign-in link for',
  uninvite: 'canceled an invitation:',
};

/** The records, newest first: `11:12Z  operator first removed server fra1`, by days. */
export function auditInWords(records: readonly AuditRecord[], hasAddresses: boolean): string {
  const days = Map.groupBy(records, ({ at }) => timeInWords(at).slice(0, 10));
  return Array.from(days, ([day, ofDay]) => {
    const lines = ofDay.map(
      (record) =>
        `${timeInWords(record.at).slice(11)}  ${sentenceOf(record)}${hasAddresses && record.address ? ` (from ${record.address})` : ''}`,
    );
    return `${[day, ...lines].join('\n')}\n`;
  }).join('\n');
}

function sentenceOf({ at, actor_kind, actor, account, action, target, ...change }: AuditRecord) {
  const [noun = '', verb = ''] = action.split('.');
  const who = ['user', 'account'].includes(actor_kind) ? actor : `${actor_kind} ${actor}`;
  const past = verbs[verb] ?? `${verb.replaceAll('_', ' ')}ed`.replace(/eed$/, 'ed');
  const fields = { ...change.before, ...change.after };
  const ofList = ['authlist', 'override'].includes(noun)
    ? (fields.hostname ?? fields.ip)
    : undefined;
  const name = ofList ?? fields.name ?? target;
  const isNamed = account === null || account === name || actor.startsWith(`${account}/`);
  const where = isNamed ? '' : ` of ${account}`;
  const what = `${nouns[noun] ?? noun.replaceAll('_', ' ')} ${name}${where}`;
  return `${who} ${past} ${what}${detailsOf(change, at)}`;
}

/** The user and the end of a new record, or the fields that a change changed. */
function detailsOf({ before, after }: Pick<AuditRecord, 'before' | 'after'>, at: number): string {
  if (!after) return '';
  if (!before) {
    const { user, expiry } = after;
    const whom = typeof user === 'string' ? ` for ${user}` : '';
    return typeof expiry === 'number' ? `${whom} until ${timeFrom(at, expiry)}` : whom;
  }
  const changed = Object.keys(after).filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  );
  const phrases = changed.map((field) => {
    const words = field.replaceAll('_', ' ').replace(/ (bytes|seconds|id)$/, '');
    return `${words} ${wordsOf(field, before[field])} → ${wordsOf(field, after[field])}`;
  });
  return phrases.length === 0 ? '' : `: ${phrases.join(', ')}`;
}

/** Without the day, if it is the same. */
function timeFrom(at: number, time: number): string {
  const [day, clock] = timeInWords(time).split(' ');
  return timeInWords(at).startsWith(`${day} `) ? `${clock}` : timeInWords(time);
}

function wordsOf(field: string, value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number' && field.endsWith('_bytes')) return bytesInWords(value);
  if (typeof value === 'number' && /^(start|end|expiry)$|_at$/.test(field))
    return timeInWords(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
