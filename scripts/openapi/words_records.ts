// The words of an account's records under /console and /admin, beyond the routes' schemas.
import type { OperationWords } from './operation_words.ts';

const notAlone =
  'Without the admin flag: a user other than oneself; or the contract takes no changes.';
const wrongPassword = 'The password is wrong; or the person does not have the admin flag.';
const throttled = 'Too many attempts; `Retry-After` says how long to wait.';
const claimed =
  'The address is on the authlist already, the user is not part of the account, or the list is full.';

const noSuchToken = 'One of the tokens is not there, as `field` says; nothing was done.';
const noSuchEntry = 'One of the entries is not there, as `field` says; nothing was done.';
const noSuchUser = 'One of the users is not there, as `field` says; nothing was done.';
const unchangeable =
  'The server of an entry is not on the contract, or an expired one has lost its hostname; nothing was done.';

/** Those that only people have. */
const ofPeople: Record<string, OperationWords> = {
  'get /console/events': {
    id: 'console_events',
    statuses: { 503: 'Too many streams are open, of this session or of all.' },
  },
  'post /console/proxy-tokens': {
    id: 'console_create_proxy_token',
    record: 'CreatedProxyToken',
    body: 'NewConsoleProxyToken',
    statuses: {
      201: 'The token, shown only here. `Location` is its user.',
      403: notAlone,
      409: 'The user is inactive or without the proxy permission.',
    },
  },
};

/** Those that people and operators have, by `method path` of people. */
const shared: Record<string, OperationWords> = {
  'get /console/contract': { record: 'ConsoleContract' },
  'get /console/usage': { id: 'console_get_usage', record: 'UsageReport' },
  'get /console/removals': { record: 'Removal' },
  'get /console/audit': { record: 'AuditEntry' },
  'get /console/entries': { record: 'FoundEntry' },

  'get /console/tokens': { record: 'AccountToken' },
  'post /console/tokens': {
    id: 'console_create_token',
    record: 'CreatedAccountToken',
    body: 'NewOwnToken',
    statuses: {
      403: wrongPassword,
      409: 'The name is taken; or the person has no password yet.',
      429: throttled,
    },
  },
  'post /console/tokens/remove': {
    id: 'console_revoke_tokens',
    body: 'ChosenEntries',
    record: 'RevokedTokens',
    statuses: { 404: noSuchToken },
  },
  'post /console/tokens/{id}/view': {
    id: 'console_view_token',
    record: 'ViewedToken',
    body: 'PasswordAnew',
    statuses: {
      403: wrongPassword,
      409: 'The person has no password yet; or the token was shown only once.',
      429: throttled,
    },
  },

  'get /console/servers': { record: 'OwnServer' },
  'get /console/servers/{server}': { record: 'OwnServer' },
  'get /console/network': { record: 'AnyServer' },
  'get /console/network/places': { record: 'AccountServerPlace' },
  'put /console/servers/{server}': {
    id: 'console_add_server',
    record: 'OwnServer',
    records: { 201: 'OwnServer' },
    body: 'AccountServerSettings',
    statuses: {
      403: 'The person does not have the admin flag, the contract takes no changes, or the operator leaves contracts to nobody else.',
      409: "The server does not listen on the account's port scheme.",
    },
  },
  'delete /console/servers/{server}': { id: 'console_remove_server' },
  'post /console/servers/add': {
    id: 'console_add_servers',
    body: 'ChosenServers',
    record: 'AddedServers',
    statuses: {
      409: "One of them is not in the network, or does not listen on the account's port scheme.",
    },
  },
  'post /console/servers/remove': {
    id: 'console_remove_servers',
    body: 'ChosenServers',
    record: 'RemovedServers',
    statuses: { 409: 'One of them is not on the contract.' },
  },

  'get /console/users': { record: 'UserSigningIn' },
  'post /console/users': { record: 'UserSigningIn', body: 'NewAccountUser' },
  'patch /console/users/{user}': {
    record: 'UserSigningIn',
    body: 'ConsoleUserChanges',
    statuses: {
      403: wrongPassword,
      409: 'Nobody active with the admin flag would be left; or the person who gives a password has none yet.',
      429: throttled,
    },
  },
  'patch /console/users': {
    id: 'console_change_users',
    record: 'ChangedEntries',
    body: 'ConsoleUsersChanges',
    statuses: {
      403: wrongPassword,
      404: noSuchUser,
      409: 'Nobody active with the admin flag would be left; or the person who gives a password has none yet. Nothing was done.',
      429: throttled,
    },
  },
  'post /console/users/end_sessions': {
    id: 'console_end_sessions_of_users',
    body: 'ChosenUsers',
    statuses: { 404: noSuchUser },
  },
  'post /console/users/{user}/token_version': {
    id: 'console_raise_token_version',
    record: 'UserSigningIn',
  },

  'post /console/users/{user}/vpn-profile': {
    id: 'console_create_vpn_profile',
    record: 'VpnProfile',
    body: 'NewVpnProfile',
    statuses: {
      201: 'The profile, with the passwords. `Location` is its user.',
      403: notAlone,
      409: 'The user is unknown, inactive or without the proxy permission; the server is not on the contract, or has no VPN; or the exit is not one of its VPN.',
    },
  },

  'post /console/servers/{server}/explain': {
    id: 'console_explain_connection',
    record: 'ConnectionDecision',
    body: 'OwnConnection',
    statuses: {
      403: notAlone,
      409: 'The account has no such user.',
      503: 'No node of the server is live, or none answered in time.',
    },
  },

  'get /console/users/{user}': { record: 'UserSigningIn' },
  'post /console/users/{user}/invite': {
    id: 'console_invite_user',
    record: 'HandedCode',
    body: 'PasswordAnew',
    statuses: {
      403: wrongPassword,
      409: 'The user is not active; or the person has no password yet.',
      429: throttled,
    },
  },
  'delete /console/users/{user}/sign-in': { id: 'console_reset_user_sign_in' },
  'delete /console/users/{user}/sessions': { id: 'console_end_user_sessions' },

  'get /console/authlist': { id: 'console_list_authlist', record: 'OperatorAuthlistEntry' },
  'post /console/authlist': {
    id: 'console_create_authlist_entry',
    record: 'OperatorAuthlistEntry',
    body: 'NewNotedAuthlistEntry',
    statuses: { 403: notAlone, 409: claimed },
  },
  'get /console/authlist/{id}': {
    id: 'console_get_authlist_entry',
    record: 'OperatorAuthlistEntry',
  },
  'patch /console/authlist/{id}': {
    id: 'console_change_authlist_entry',
    record: 'OperatorAuthlistEntry',
    body: 'ConsoleAuthlistEntryChanges',
    statuses: { 403: notAlone, 409: claimed },
  },
  'delete /console/authlist/{id}': { id: 'console_remove_authlist_entry' },
  'delete /console/authlist': {
    id: 'console_remove_all_authlist_entries',
    record: 'RemovedEntries',
  },
  'post /console/authlist/restore': {
    id: 'console_restore_authlist',
    body: 'Restore',
    record: 'RestoreOutcome',
  },
  'post /console/authlist/remove': {
    id: 'console_remove_authlist_entries',
    body: 'ChosenEntries',
    record: 'RemovedEntries',
    statuses: { 404: noSuchEntry },
  },
  'patch /console/authlist': {
    id: 'console_change_authlist_expiries',
    body: 'EntryExpiries',
    record: 'ChangedEntries',
    statuses: { 404: noSuchEntry, 409: unchangeable },
  },
  'post /console/authlist/add': {
    id: 'console_add_addresses',
    body: 'PastedAddresses',
    record: 'AddedAddresses',
    statuses: { 403: notAlone, 409: claimed },
  },

  'get /console/overrides': { record: 'ConsoleOverride' },
  'post /console/overrides': { record: 'ConsoleOverride', body: 'NewNotedOverride' },
  'patch /console/overrides/{id}': {
    record: 'ConsoleOverride',
    body: 'ConsoleOverrideChanges',
  },
  'get /console/overrides/{id}': { record: 'OverrideOnNodes' },
  'delete /console/overrides/{id}': {},
  'delete /console/overrides': { id: 'console_remove_all_overrides', record: 'RemovedEntries' },
  'post /console/overrides/restore': {
    id: 'console_restore_overrides',
    body: 'Restore',
    record: 'OverridesRestoreOutcome',
  },
  'post /console/overrides/remove': {
    id: 'console_remove_overrides',
    body: 'ChosenEntries',
    record: 'RemovedEntries',
    statuses: { 404: noSuchEntry },
  },
  'patch /console/overrides': {
    id: 'console_change_override_expiries',
    body: 'EntryExpiries',
    record: 'ChangedEntries',
    statuses: { 404: noSuchEntry, 409: unchangeable },
  },
};

/** The names of operators' operations that do not follow from method and path, by `method path` below an account. */
const operatorIds: Record<string, string> = {
  'get usage': 'admin_get_account_usage',
  'post tokens/{id}/view': 'admin_view_account_token',
  'post users/{user}/token_version': 'admin_raise_token_version',
  'post servers/{server}/explain': 'admin_explain_account_connection',
  'post servers/add': 'admin_add_account_servers',
  'post servers/remove': 'admin_remove_account_servers',
  'post users/{user}/invite': 'admin_invite_user',
  'post users/{user}/vpn-profile': 'admin_create_vpn_profile',
  'delete users/{user}/sign-in': 'admin_reset_user_sign_in',
  'delete users/{user}/sessions': 'admin_end_user_sessions',
  'post users/end_sessions': 'admin_end_account_sessions_of_users',
  'post authlist': 'admin_create_account_authlist_entry',
  'get authlist/{id}': 'admin_get_account_authlist_entry',
  'delete authlist/{id}': 'admin_remove_account_authlist_entry',
  'delete authlist': 'admin_remove_all_account_authlist_entries',
  'post authlist/restore': 'admin_restore_account_authlist',
  'delete overrides': 'admin_remove_all_account_overrides',
  'delete overrides/{id}': 'admin_remove_account_override',
  'post overrides/restore': 'admin_restore_account_overrides',
  'post tokens/remove': 'admin_revoke_account_tokens',
  'post authlist/remove': 'admin_remove_account_authlist_entries',
  'patch authlist': 'admin_change_account_authlist_expiries',
  'post authlist/add': 'admin_add_account_addresses',
  'post overrides/remove': 'admin_remove_account_overrides',
  'patch overrides': 'admin_change_account_override_expiries',
};

/** The same records for operators; statuses that tell of a person's flags and password are not theirs. */
const ofOperators = Object.fromEntries(
  Object.entries(shared).map(([route, { record, records, body, statuses }]) => {
    const own = route.replace('/console/', '');
    const conflict = /^(post tokens|patch users|post users\/{user}\/invite)/.test(own)
      ? undefined
      : statuses?.[409];
    const id = operatorIds[own];
    const words: OperationWords = {
      ...(id ? { id } : {}),
      ...(record ? { record } : {}),
      ...(records ? { records } : {}),
      ...(body ? { body } : {}),
      ...(conflict ? { statuses: { 409: conflict } } : {}),
    };
    return [route.replace('/console/', '/admin/accounts/{account}/'), words];
  }),
);

/** By `method path`. */
export const recordWords: Record<string, OperationWords> = {
  ...shared,
  ...ofPeople,
  ...ofOperators,
  'patch /admin/accounts/{account}/authlist/{id}': {
    id: 'admin_change_account_authlist_entry',
    record: 'OperatorAuthlistEntry',
    body: 'OperatorAuthlistEntryChanges',
    statuses: { 409: claimed },
  },
  'patch /admin/accounts/{account}/users/{user}': {
    record: 'UserSigningIn',
    body: 'AccountUserChanges',
  },
  'patch /admin/accounts/{account}/users': {
    id: 'admin_change_account_users',
    record: 'ChangedEntries',
    body: 'AccountUsersChanges',
  },
  'patch /admin/accounts': {
    id: 'admin_change_accounts',
    record: 'ChangedEntries',
    body: 'AccountsChanges',
    statuses: { 404: 'One of the accounts is not there, as `field` says; nothing was done.' },
  },
  'post /admin/accounts/{account}/tokens': {
    id: 'admin_create_account_token',
    record: 'CreatedAccountToken',
    body: 'NewAccountToken',
  },
  'get /admin/events': {
    id: 'admin_events',
    statuses: { 503: 'Too many streams are open, with this token or of all.' },
  },
  'post /admin/accounts/{account}/users/{user}/sign-in-link': {
    id: 'admin_create_sign_in_link',
    record: 'HandedCode',
    body: 'NewSignInLink',
  },
  'post /admin/accounts/{account}/users/{user}/erase': {
    id: 'admin_erase_user',
    record: 'ErasedUser',
    statuses: { 409: 'Another user of the account has the pseudonym as name.' },
  },
};

/** Objects inside these records that have a name of their own. */
export const nestedInRecords: Record<string, Record<string, string>> = {
  OwnServer: { location: 'Location', usage: 'Usage', ips: 'OwnExitIp' },
  AnyServer: { location: 'Location' },
  UserSigningIn: { sign_in: 'SignInFacts' },
  AddedAddresses: { lines: 'PastedLine' },
  ConsoleOverride: { nodes: 'NodeOfEntry' },
  EntryExpiries: { entries: 'EntryExpiry' },
  OverrideOnNodes: { nodes: 'EntryNode' },
};
