// The names of the records and bodies of operations in the OpenAPI document, where they do not follow from method and path.

export interface Names {
  /** Of the record that it returns, or lists. */
  record?: string;
  /** Of the record that a status returns, where it is another one. */
  records?: Record<number, string>;
  /** Of its body. */
  body?: string;
}

/** By `method path`. */
export const names: Record<string, Names> = {
  'get /v0': {
    record: 'Index',
  },
  'get /v0/contract': {
    record: 'Contract',
  },
  'get /v0/servers': {
    record: 'NetworkServer',
  },
  'get /v0/contract/servers': {
    record: 'ContractServer',
  },
  'get /v0/contract/servers/{server}': {
    record: 'ContractServer',
  },
  'get /v0/users': {
    record: 'User',
  },
  'post /v0/users/token': {
    record: 'ProxyToken',
    body: 'NewProxyToken',
  },
  'get /v0/contract/ip-authlist': {
    record: 'AuthlistEntry',
  },
  'post /v0/contract/ip-authlist': {
    record: 'AuthlistEntry',
    body: 'NewAuthlistEntry',
  },
  'get /v0/contract/ip-authlist/{id}': {
    record: 'AuthlistEntry',
  },
  'patch /v0/contract/ip-authlist/{id}': {
    record: 'AuthlistEntry',
    body: 'AuthlistEntryChanges',
  },
  'get /v0/contract/whitelist': {
    record: 'AuthlistEntry',
  },
  'post /v0/contract/whitelist': {
    record: 'AuthlistEntry',
    body: 'NewAuthlistEntry',
  },
  'get /v0/contract/whitelist/{id}': {
    record: 'AuthlistEntry',
  },
  'patch /v0/contract/whitelist/{id}': {
    record: 'AuthlistEntry',
    body: 'AuthlistEntryChanges',
  },
  'get /v0/contract/overrides': {
    record: 'Override',
  },
  'post /v0/contract/overrides': {
    record: 'Override',
    body: 'NewOverride',
  },
  'get /v0/contract/overrides/{id}': {
    record: 'Override',
  },
  'patch /v0/contract/overrides/{id}': {
    record: 'Override',
    body: 'OverrideChanges',
  },
  'post /node/join': {
    record: 'JoinedNode',
    body: 'NodeJoin',
  },
  'post /node/acks': {
    body: 'NodeAcknowledgement',
  },
  'post /node/usage': {
    record: 'UsageOutcome',
    body: 'UsageBatch',
  },
  'post /node/uses': {
    body: 'UsesReport',
  },
  'post /node/health': {
    record: 'HealthOutcome',
    body: 'HealthReport',
  },
  'post /node/faults': {
    body: 'FaultReport',
  },
  'post /node/answers': {
    body: 'NodeAnswer',
  },
  'get /node/echo': {
    record: 'SeenAddress',
  },
  'get /admin/status': {
    record: 'NetworkStatus',
  },
  'get /admin/audit': {
    record: 'AuditEntry',
  },
  'get /admin/tokens': {
    record: 'OperatorToken',
  },
  'post /admin/tokens': {
    record: 'CreatedOperatorToken',
    body: 'NewOperatorToken',
  },
  'post /admin/tokens/remove': {
    record: 'RevokedTokens',
    body: 'ChosenEntries',
  },
  'get /admin/held_usage': {
    record: 'HeldUsage',
  },
  'post /admin/held_usage/{id}/accept': {
    record: 'AcceptedUsage',
  },
  'patch /admin/nodes/{id}': {
    body: 'NodeChanges',
  },
  'get /admin/invites': {
    record: 'OpenInvite',
  },
  'post /admin/invites': {
    record: 'Invite',
    body: 'NewInvite',
  },
  'post /admin/port_schemes': {
    record: 'PortScheme',
    body: 'NewPortScheme',
  },
  'patch /admin/port_schemes/{name}': {
    record: 'PortScheme',
    body: 'PortSchemeChanges',
  },
  'get /admin/servers/places': {
    record: 'ServerPlace',
  },
  'patch /admin/servers': {
    record: 'ManyServers',
    body: 'ManyServerChanges',
  },
  'post /admin/servers/remove': {
    record: 'ManyServers',
    body: 'ServerNames',
  },
  'post /admin/servers': {
    record: 'ServerDetail',
    body: 'NewServer',
  },
  'get /admin/servers/{server}': {
    record: 'ServerDetail',
  },
  'patch /admin/servers/{server}': {
    record: 'ServerDetail',
    body: 'ServerChanges',
  },
  'post /admin/servers/{server}/explain-login': {
    record: 'Verdict',
    body: 'VpnLogin',
  },
  'post /admin/servers/{server}/explain': {
    record: 'Verdict',
    body: 'Connection',
  },
  'put /admin/servers/{server}/exits/{ip}': {
    record: 'ServerDetail',
    body: 'ExitIpSettings',
  },
  'get /admin/addresses': {
    record: 'AddressUses',
  },
  'get /admin/usage': {
    record: 'AccountUsage',
  },
  'get /admin/geo': {
    record: 'GeoStatus',
  },
  'post /admin/geo/check': {
    record: 'GeoCheck',
  },
  'get /admin/inventory': {
    record: 'InventoryDocument',
  },
  'post /admin/inventory': {
    record: 'InventoryOutcome',
    body: 'Inventory',
  },
  'get /console': {
    record: 'ConsoleFacts',
  },
  'post /console/session': {
    record: 'Session',
    records: {
      '200': 'SecondFactorWanted',
    },
    body: 'Credentials',
  },
  'get /console/session': {
    record: 'Session',
  },
  'post /console/session/link': {
    record: 'Session',
    body: 'OneTimeCode',
  },
  'post /console/invite': {
    record: 'ConsoleInvite',
    body: 'OneTimeCode',
  },
  'post /console/invite/accept': {
    record: 'Session',
    body: 'InviteAcceptance',
  },
  'get /console/sessions': {
    record: 'OwnSession',
  },
  'get /console/address': {
    record: 'CallerAddress',
  },
  'put /console/password': {
    body: 'PasswordChange',
  },
  'post /console/second-factor': {
    record: 'PendingSecondFactor',
    body: 'PasswordAnew',
  },
  'put /console/second-factor': {
    record: 'RecoveryCodes',
    body: 'SecondFactorCode',
  },
  'post /console/second-factor/remove': {
    body: 'PasswordAnew',
  },
  'get /console/contract': {
    record: 'ConsoleContract',
  },
  'get /console/usage': {
    record: 'UsageReport',
  },
  'get /console/removals': {
    record: 'Removal',
  },
  'get /console/audit': {
    record: 'AuditEntry',
  },
  'get /console/entries': {
    record: 'FoundEntry',
  },
  'get /console/tokens': {
    record: 'AccountToken',
  },
  'post /console/tokens': {
    record: 'CreatedAccountToken',
    body: 'NewOwnToken',
  },
  'post /console/tokens/remove': {
    record: 'RevokedTokens',
    body: 'ChosenEntries',
  },
  'post /console/tokens/{id}/view': {
    record: 'ViewedToken',
    body: 'PasswordAnew',
  },
  'get /console/servers': {
    record: 'OwnServer',
  },
  'get /console/servers/{server}': {
    record: 'OwnServer',
  },
  'get /console/network': {
    record: 'AnyServer',
  },
  'get /console/network/places': {
    record: 'AccountServerPlace',
  },
  'put /console/servers/{server}': {
    record: 'OwnServer',
    records: {
      '201': 'OwnServer',
    },
    body: 'AccountServerSettings',
  },
  'post /console/servers/add': {
    record: 'AddedServers',
    body: 'ChosenServers',
  },
  'post /console/servers/remove': {
    record: 'RemovedServers',
    body: 'ChosenServers',
  },
  'get /console/users': {
    record: 'UserSigningIn',
  },
  'post /console/users': {
    record: 'UserSigningIn',
    body: 'NewAccountUser',
  },
  'patch /console/users/{user}': {
    record: 'UserSigningIn',
    body: 'ConsoleUserChanges',
  },
  'patch /console/users': {
    record: 'ChangedEntries',
    body: 'ConsoleUsersChanges',
  },
  'post /console/users/end_sessions': {
    body: 'ChosenUsers',
  },
  'post /console/users/{user}/token_version': {
    record: 'UserSigningIn',
  },
  'post /console/users/{user}/vpn-profile': {
    record: 'VpnProfile',
    body: 'NewVpnProfile',
  },
  'post /console/servers/{server}/explain': {
    record: 'ConnectionDecision',
    body: 'OwnConnection',
  },
  'get /console/users/{user}': {
    record: 'UserSigningIn',
  },
  'post /console/users/{user}/invite': {
    record: 'HandedCode',
    body: 'PasswordAnew',
  },
  'get /console/authlist': {
    record: 'OperatorAuthlistEntry',
  },
  'post /console/authlist': {
    record: 'OperatorAuthlistEntry',
    body: 'NewNotedAuthlistEntry',
  },
  'get /console/authlist/{id}': {
    record: 'OperatorAuthlistEntry',
  },
  'patch /console/authlist/{id}': {
    record: 'OperatorAuthlistEntry',
    body: 'ConsoleAuthlistEntryChanges',
  },
  'delete /console/authlist': {
    record: 'RemovedEntries',
  },
  'post /console/authlist/restore': {
    record: 'RestoreOutcome',
    body: 'Restore',
  },
  'post /console/authlist/remove': {
    record: 'RemovedEntries',
    body: 'ChosenEntries',
  },
  'patch /console/authlist': {
    record: 'ChangedEntries',
    body: 'EntryExpiries',
  },
  'post /console/authlist/add': {
    record: 'AddedAddresses',
    body: 'PastedAddresses',
  },
  'get /console/overrides': {
    record: 'ConsoleOverride',
  },
  'post /console/overrides': {
    record: 'ConsoleOverride',
    body: 'NewNotedOverride',
  },
  'patch /console/overrides/{id}': {
    record: 'ConsoleOverride',
    body: 'ConsoleOverrideChanges',
  },
  'get /console/overrides/{id}': {
    record: 'OverrideOnNodes',
  },
  'delete /console/overrides': {
    record: 'RemovedEntries',
  },
  'post /console/overrides/restore': {
    record: 'OverridesRestoreOutcome',
    body: 'Restore',
  },
  'post /console/overrides/remove': {
    record: 'RemovedEntries',
    body: 'ChosenEntries',
  },
  'patch /console/overrides': {
    record: 'ChangedEntries',
    body: 'EntryExpiries',
  },
  'post /console/proxy-tokens': {
    record: 'CreatedProxyToken',
    body: 'NewConsoleProxyToken',
  },
  'get /admin/accounts/{account}/contract': {
    record: 'ConsoleContract',
  },
  'get /admin/accounts/{account}/usage': {
    record: 'UsageReport',
  },
  'get /admin/accounts/{account}/removals': {
    record: 'Removal',
  },
  'get /admin/accounts/{account}/audit': {
    record: 'AuditEntry',
  },
  'get /admin/accounts/{account}/entries': {
    record: 'FoundEntry',
  },
  'get /admin/accounts/{account}/tokens': {
    record: 'AccountToken',
  },
  'post /admin/accounts/{account}/tokens': {
    record: 'CreatedAccountToken',
    body: 'NewAccountToken',
  },
  'post /admin/accounts/{account}/tokens/remove': {
    record: 'RevokedTokens',
    body: 'ChosenEntries',
  },
  'post /admin/accounts/{account}/tokens/{id}/view': {
    record: 'ViewedToken',
    body: 'PasswordAnew',
  },
  'get /admin/accounts/{account}/servers': {
    record: 'OwnServer',
  },
  'get /admin/accounts/{account}/servers/{server}': {
    record: 'OwnServer',
  },
  'get /admin/accounts/{account}/network': {
    record: 'AnyServer',
  },
  'get /admin/accounts/{account}/network/places': {
    record: 'AccountServerPlace',
  },
  'put /admin/accounts/{account}/servers/{server}': {
    record: 'OwnServer',
    records: {
      '201': 'OwnServer',
    },
    body: 'AccountServerSettings',
  },
  'post /admin/accounts/{account}/servers/add': {
    record: 'AddedServers',
    body: 'ChosenServers',
  },
  'post /admin/accounts/{account}/servers/remove': {
    record: 'RemovedServers',
    body: 'ChosenServers',
  },
  'get /admin/accounts/{account}/users': {
    record: 'UserSigningIn',
  },
  'post /admin/accounts/{account}/users': {
    record: 'UserSigningIn',
    body: 'NewAccountUser',
  },
  'patch /admin/accounts/{account}/users/{user}': {
    record: 'UserSigningIn',
    body: 'AccountUserChanges',
  },
  'patch /admin/accounts/{account}/users': {
    record: 'ChangedEntries',
    body: 'AccountUsersChanges',
  },
  'post /admin/accounts/{account}/users/end_sessions': {
    body: 'ChosenUsers',
  },
  'post /admin/accounts/{account}/users/{user}/token_version': {
    record: 'UserSigningIn',
  },
  'post /admin/accounts/{account}/users/{user}/vpn-profile': {
    record: 'VpnProfile',
    body: 'NewVpnProfile',
  },
  'post /admin/accounts/{account}/servers/{server}/explain': {
    record: 'ConnectionDecision',
    body: 'OwnConnection',
  },
  'get /admin/accounts/{account}/users/{user}': {
    record: 'UserSigningIn',
  },
  'post /admin/accounts/{account}/users/{user}/invite': {
    record: 'HandedCode',
    body: 'PasswordAnew',
  },
  'get /admin/accounts/{account}/authlist': {
    record: 'OperatorAuthlistEntry',
  },
  'post /admin/accounts/{account}/authlist': {
    record: 'OperatorAuthlistEntry',
    body: 'NewNotedAuthlistEntry',
  },
  'get /admin/accounts/{account}/authlist/{id}': {
    record: 'OperatorAuthlistEntry',
  },
  'patch /admin/accounts/{account}/authlist/{id}': {
    record: 'OperatorAuthlistEntry',
    body: 'OperatorAuthlistEntryChanges',
  },
  'delete /admin/accounts/{account}/authlist': {
    record: 'RemovedEntries',
  },
  'post /admin/accounts/{account}/authlist/restore': {
    record: 'RestoreOutcome',
    body: 'Restore',
  },
  'post /admin/accounts/{account}/authlist/remove': {
    record: 'RemovedEntries',
    body: 'ChosenEntries',
  },
  'patch /admin/accounts/{account}/authlist': {
    record: 'ChangedEntries',
    body: 'EntryExpiries',
  },
  'post /admin/accounts/{account}/authlist/add': {
    record: 'AddedAddresses',
    body: 'PastedAddresses',
  },
  'get /admin/accounts/{account}/overrides': {
    record: 'ConsoleOverride',
  },
  'post /admin/accounts/{account}/overrides': {
    record: 'ConsoleOverride',
    body: 'NewNotedOverride',
  },
  'patch /admin/accounts/{account}/overrides/{id}': {
    record: 'ConsoleOverride',
    body: 'ConsoleOverrideChanges',
  },
  'get /admin/accounts/{account}/overrides/{id}': {
    record: 'OverrideOnNodes',
  },
  'delete /admin/accounts/{account}/overrides': {
    record: 'RemovedEntries',
  },
  'post /admin/accounts/{account}/overrides/restore': {
    record: 'OverridesRestoreOutcome',
    body: 'Restore',
  },
  'post /admin/accounts/{account}/overrides/remove': {
    record: 'RemovedEntries',
    body: 'ChosenEntries',
  },
  'patch /admin/accounts/{account}/overrides': {
    record: 'ChangedEntries',
    body: 'EntryExpiries',
  },
  'patch /admin/accounts': {
    record: 'ChangedEntries',
    body: 'AccountsChanges',
  },
  'post /admin/accounts/{account}/users/{user}/sign-in-link': {
    record: 'HandedCode',
    body: 'NewSignInLink',
  },
  'post /admin/accounts/{account}/users/{user}/erase': {
    record: 'ErasedUser',
  },
};
