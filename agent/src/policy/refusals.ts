// The last refused connections, for people who want to know the reason: by minute, reason, source
// and user, without destinations. Held in memory until reported.
import { canonicalAddress } from '../../../kit/src/address.ts';
import type { Refusal as Sent } from '../../../kit/src/node_interface.ts';
import { readLogin } from '../../../kit/src/vpn_password.ts';
import type { Denied, Question } from './decision.ts';
import { allReasons, type Reason } from './denials.ts';
import type { Policy } from './policy.ts';

export type Refusal = Sent & { reason: Reason };
type Refused = Omit<Refusal, 'at' | 'count'>;

/**
 * Most rows, so that a flood from many addresses, or by one account, leaves room for others.
 * `guesses`: logins of an account's users with a wrong password, which anybody can send.
 */
const defaultMax = { all: 10_000, unnamed: 5000, account: 200, guesses: 100 };
const maxCount = 1_000_000_000;

/** One map write per refusal, and never more rows than `max` allows. The newest ones stay. */
export class Refusals {
  /** By account, the oldest first. Guesses are under the negative id, unnamed ones under 0. */
  readonly #byHolder = new Map<number, Map<string, Refusal>>();
  readonly #max: typeof defaultMax;
  #size = 0;

  constructor(max = defaultMax) {
    this.#max = max;
  }

  /** Notes a refusal, unless the client has no address. */
  note(refused: Refused | undefined, now: number): void {
    if (refused) this.#keep({ ...refused, at: now - (now % 60), count: 1 });
  }

  /** Adds the refusals that another process noted, without invalid ones. */
  add(refusals: readonly Refusal[]): void {
    for (const refusal of refusals) if (isSound(refusal)) this.#keep(refusal);
  }

  /** Removes and returns at most this many. */
  take(maxRows = Number.POSITIVE_INFINITY): Refusal[] {
    const taking: Refusal[] = [];
    for (const [holder, rows] of this.#byHolder) {
      for (const [key, refusal] of rows) {
        if (taking.length >= maxRows) return taking;
        taking.push(refusal);
        rows.delete(key);
        this.#size -= 1;
      }
      this.#byHolder.delete(holder);
    }
    return taking;
  }

  #keep(refusal: Refusal): void {
    const { at, reason, source, service, port = 0, account = 0, user = 0, count } = refusal;
    const isGuess = reason === 'bad_token';
    const holder = isGuess ? -account : account;
    let rows = this.#byHolder.get(holder);
    const key = `${at} ${reason} ${source} ${service} ${port} ${user}`;
    const noted = rows?.get(key);
    if (noted) {
      noted.count = Math.min(noted.count + count, maxCount);
      return;
    }
    const [oldest] = rows?.keys() ?? [];
    const max = this.#max[account === 0 ? 'unnamed' : isGuess ? 'guesses' : 'account'];
    if ((rows?.size ?? 0) >= max && oldest !== undefined) {
      rows?.delete(oldest);
      this.#size -= 1;
    }
    if (this.#size >= this.#max.all) return;
    if (!rows) {
      rows = new Map();
      this.#byHolder.set(holder, rows);
    }
    rows.set(key, { ...refusal, count: Math.min(count, maxCount) });
    this.#size += 1;
  }
}

/** A refusal of this request or login. Undefined: it came from no address. */
export function refusedBy(
  policy: Policy,
  question: Question,
  source: string,
  denied: Pick<Denied, 'reason' | 'principal'>,
): Refused | undefined {
  const address = canonicalAddress(source);
  if (address === undefined) return undefined;
  const { reason } = denied;
  const names = namedBy(policy, question, denied);
  if (question.kind === 'login')
    return { reason, source: address, service: question.service, ...names };
  const { port } = question;
  const service = policy.listeners.get(port)?.tls ? 'proxy-https' : 'proxy';
  return { reason, source: address, service, port, ...names };
}

/** Reasons that imply a genuine token: reading it again costs only a look-up. */
const afterToken: readonly Reason[] = [
  'expired_token',
  'old_token_version',
  'server_not_on_contract',
];

/** Reasons that come before the check of a login's password. */
const beforePassword: readonly Reason[] = ['not_ready', 'no_service', 'drained'];

/** The user that the credentials name. A name without an account identifies no user. */
function namedBy(
  policy: Policy,
  question: Question,
  { reason, principal }: Pick<Denied, 'reason' | 'principal'>,
): Pick<Refusal, 'account' | 'user'> {
  if (principal) {
    const { authority } = principal;
    return authority.by === 'probe' ? {} : { account: authority.account, user: authority.user };
  }
  if (question.kind === 'request') {
    const { credentials } = question;
    if (!credentials || !afterToken.includes(reason)) return {};
    const claims = credentials.claims ?? policy.tokens.read(credentials.password);
    return claims ? { account: claims.account, user: claims.user } : {};
  }
  if (beforePassword.includes(reason)) return {};
  const users = readLogin(question.login).flatMap(({ user: name, account: contract }) =>
    [...policy.accountsNamed(contract)].flatMap((account) =>
      account.usersNamed(name).map((user) => ({ account: account.id, user: user.id })),
    ),
  );
  return users[0] ?? {};
}

const servicePattern = /^[a-z][a-z0-9-]{0,31}$/;
const isId = (value: unknown) => Number.isSafeInteger(value) && (value as number) > 0;

/** Whether the control plane would accept it. Squid's user may have sent anything. */
function isSound(refusal: Refusal): boolean {
  const { at, reason, source, service, port = 1, account, user, count } = refusal;
  return (
    [at, count].every(isId) &&
    allReasons.includes(reason) &&
    typeof source === 'string' &&
    canonicalAddress(source) === source &&
    typeof service === 'string' &&
    servicePattern.test(service) &&
    Number.isSafeInteger(port) &&
    port >= 0 &&
    port <= 65_535 &&
    (account === undefined) === (user === undefined) &&
    [account ?? 1, user ?? 1].every(isId)
  );
}
