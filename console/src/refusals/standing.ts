// The current state of a refused connection's cause: fixed since, or its limit, who can change it,
// and the page for that; pure.
import { settingsOf } from '../../../kit/src/refusal_settings.ts';
import { operatorScope, type Scope } from '../api/scope.ts';
import { bytes, count, dateTime } from '../format.ts';
import { addressOf, paths } from '../paths.ts';
import type { Refusal } from './to_test.ts';
import { fixedWords, wayOf } from './words.ts';

interface Link {
  text: string;
  path: string;
}

export interface Standing {
  text: string;
  /** After the text. */
  link?: Link;
}

/** `scope`: of the account; undefined: of the network. */
export function standingOf(refusal: Refusal, scope: Scope | undefined): Standing | undefined {
  const { address, reason, limit, is_fixed, listed_for } = refusal;
  if (reason === 'unknown_address') {
    if (listed_for === null) return undefined;
    const path = addressOf(inAccount(refusal, scope)?.paths.authlist ?? '', { search: address });
    const isWaiting = is_fixed === false;
    return {
      text: isWaiting ? 'Not verified yet, listed for' : 'Listed for',
      link: { text: listed_for, path },
    };
  }
  if (is_fixed) {
    const isTime = limit !== null && ['user_expired', 'contract_expired'].includes(reason);
    const isUnlimited = limit === null && reason === 'user_limit_reached';
    if (isTime) return { text: `Extended to ${dateTime(limit)}.` };
    return { text: isUnlimited ? 'No longer limited.' : fixedWords(reason) };
  }
  const texts = [limitText(refusal, scope), whoChanges(refusal, scope)].filter(Boolean);
  return texts.length === 0 ? undefined : { text: texts.join(' ') };
}

function limitText({ reason, limit, user }: Refusal, scope: Scope | undefined): string {
  if (reason === 'too_many_connections' && (limit === null || user === null)) {
    const ofNodes = 'Nodes have limits by address, user and account';
    return isOperator(scope)
      ? `${ofNodes}: ${settingsOf(reason)}.`
      : `${ofNodes}. Your provider sets them.`;
  }
  if (limit === null) return '';
  switch (reason) {
    case 'too_many_connections':
      return `Limit: ${limit.toLocaleString('en')} at once.`;
    case 'too_many_addresses':
      return `Limit: ${count(limit, 'address', 'addresses')} at once.`;
    case 'user_limit_reached':
      return `Limit: ${bytes(limit)} in a billing period.`;
    case 'over_limit':
      return seesUsage(scope) ? `Limit: ${bytes(limit)} in a billing period.` : '';
    case 'user_expired':
    case 'contract_expired':
      return `Ended ${dateTime(limit)}.`;
    default:
      return '';
  }
}

const isOperator = (scope: Scope | undefined) => scope?.isOperator !== false;
const mayChangeUsers = (scope: Scope | undefined) => scope === undefined || scope.flags.admin;
const seesUsage = (scope: Scope | undefined) =>
  scope === undefined || scope.flags.admin || scope.flags.billing;

/** A sentence on those who can change it, for those who can't. */
function whoChanges({ reason, limit }: Refusal, scope: Scope | undefined): string {
  switch (wayOf(reason)) {
    case 'contract':
      return isOperator(scope) ? '' : 'Your provider can change it.';
    case 'limits':
      if (reason === 'too_many_connections' && limit === null) return '';
      return mayChangeUsers(scope) ? '' : `An admin of ${scope?.account} can change it.`;
    default:
      return ['inactive_user', 'no_proxy_flag'].includes(reason) && !mayChangeUsers(scope)
        ? `An admin of ${scope?.account} can change it.`
        : '';
  }
}

/** The account of a refusal, as the viewer sees it. */
export function inAccount(
  { account }: Pick<Refusal, 'account'>,
  scope: Scope | undefined,
): Scope | undefined {
  return scope ?? (account === null ? undefined : operatorScope(account));
}

export interface Remedy extends Link {
  /** The address to list, by a form instead of a page. */
  adds?: string;
  /** Whether it changes records of the account, which may be read-only. */
  isChange?: boolean;
}

/**
 * The remedy as a button; undefined where there is none, where the matter is fixed, and where the
 * viewer may not change it. `ofUser`: on the page of that user.
 */
export function remedyOf(
  refusal: Refusal,
  scope: Scope | undefined,
  ofUser = false,
): Remedy | undefined {
  const { reason, address, server, user, limit, is_fixed, listed_for } = refusal;
  if (is_fixed) return undefined;
  const own = inAccount(refusal, scope);
  const userPath = user === null ? undefined : own?.paths.user(user);
  switch (wayOf(reason)) {
    case 'address':
      if (listed_for !== null) return undefined;
      return scope
        ? { text: `Add ${address}`, path: '', adds: address, isChange: true }
        : { text: 'Who lists it', path: addressOf(paths.operator.addresses, { ip: address }) };
    case 'user':
      return userPath === undefined || ofUser
        ? undefined
        : { text: 'Open the user', path: userPath };
    case 'limits':
      if (userPath === undefined || !mayChangeUsers(scope)) return undefined;
      if (reason === 'too_many_connections' && limit === null) return undefined;
      return {
        text: 'Change limits',
        path: addressOf(userPath, { dialog: 'limits' }),
        isChange: true,
      };
    case 'server':
      return {
        text: 'Open the server',
        path: scope?.paths.server(server) ?? paths.operator.server(server),
      };
    case 'contract':
      if (isOperator(scope)) {
        return own && { text: 'Open the contract', path: paths.operator.account(own.account) };
      }
      return reason === 'over_limit' && seesUsage(scope) && own
        ? { text: 'Usage', path: own.paths.usage }
        : undefined;
    default:
      return undefined;
  }
}
