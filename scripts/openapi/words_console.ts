// The words of /console in the OpenAPI document beyond the routes' schemas, and of signing in to it.
import type { OperationWords } from './operation_words.ts';

/** In the order in which they are shown. */
export const consoleTags: Record<string, string> = {
  'Console: sign-in':
    'Signing in with a password and a second factor, by invitation, or by a link; sessions.',
  'Console: account': 'The contract, its usage, and what was changed.',
  'Console: servers': 'The servers of the contract and of the whole network.',
  'Console: users': 'The users of the account, their proxy access tokens, and how they sign in.',
  'Console: API tokens': 'The API tokens of the account.',
  'Console: authlist and custom DNS': "The account's lists, and undoing a removal of all entries.",
  'Console: live': 'Hearing of changes.',
};

const throttled = 'Too many attempts; `Retry-After` says how long to wait.';
const asked = 'The password is wrong; or the request does not come from a page of this server.';

/** By `method path`. */
export const consoleWords: Record<string, OperationWords> = {
  'get /console': { id: 'console_get_facts', record: 'ConsoleFacts' },
  'post /console/session': {
    id: 'console_sign_in',
    record: 'Session',
    records: { 200: 'SecondFactorWanted' },
    body: 'Credentials',
    description:
      'An unknown account or user, a user without password and an inactive one are refused as a wrong password is. Attempts are counted by user and by address; from some failures on each has to wait longer than the one before.',
    statuses: {
      200: 'The password is right, and a second factor is needed. No cookie is set.',
      201: 'Signed in; `Set-Cookie` holds the session.',
      401: 'Account, user, password or code is not right.',
      429: throttled,
    },
  },
  'get /console/session': { record: 'Session' },
  'delete /console/session': { id: 'console_sign_out' },
  'post /console/session/link': {
    id: 'console_enter_by_link',
    record: 'Session',
    body: 'OneTimeCode',
    statuses: {
      201: 'Signed in; `Set-Cookie` holds the session.',
      401: 'The link is unknown, used, replaced or over.',
    },
  },
  'post /console/invite': {
    id: 'console_look_at_invite',
    record: 'ConsoleInvite',
    body: 'OneTimeCode',
    statuses: {
      200: 'Whom it invites.',
      401: 'The invitation is unknown, used, replaced or over.',
    },
  },
  'post /console/invite/accept': {
    id: 'console_accept_invite',
    record: 'Session',
    body: 'InviteAcceptance',
    statuses: {
      201: 'Signed in; `Set-Cookie` holds the session.',
      401: 'The invitation is unknown, used, replaced or over; or the second factor is missing or wrong.',
      429: throttled,
    },
  },
  'get /console/sessions': { id: 'console_list_sessions', record: 'OwnSession' },
  'delete /console/sessions': { id: 'console_end_other_sessions' },
  'delete /console/sessions/{id}': { id: 'console_end_session' },
  'get /console/address': { record: 'CallerAddress' },
  'put /console/password': {
    id: 'console_change_password',
    body: 'PasswordChange',
    statuses: { 403: asked, 429: throttled },
  },
  'post /console/second-factor': {
    id: 'console_begin_second_factor',
    record: 'PendingSecondFactor',
    body: 'PasswordAnew',
    statuses: {
      201: 'The secret, not yet in force.',
      403: asked,
      409: 'The person has no password yet.',
      429: throttled,
    },
  },
  'put /console/second-factor': {
    id: 'console_confirm_second_factor',
    record: 'RecoveryCodes',
    body: 'SecondFactorCode',
    statuses: {
      200: 'The second factor is in force; the recovery codes are shown only here.',
      409: 'None was begun.',
    },
  },
  'post /console/second-factor/remove': {
    id: 'console_remove_second_factor',
    body: 'PasswordAnew',
    statuses: {
      403: asked,
      409: 'There is no second factor; or the person has no password yet.',
      429: throttled,
    },
  },
};
