// The words of the OpenAPI document beyond the routes' schemas: names, tags, descriptions, examples.
import type { OperationWords } from './operation_words.ts';
import { consoleTags, consoleWords } from './words_console.ts';
import { nestedInRecords, recordWords } from './words_records.ts';

export const description = `Exitward runs a proxy or VPN network. This document covers its four audiences:

- **Account API** (\`/v0\`): what an account holder uses.
- **Console** (\`/console\`): what people of an account use with a browser, by a session's cookie. Only \`/console\` reads cookies, and it never reads \`Authorization\`. Writes need an \`Origin\` of this server.
- **Operator API** (\`/admin\`): what the operator of the network uses; on a listener of its own.
- **Node interface** (\`/node\`): what the agents on proxy servers use.

## Two variants of /v0
One server speaks both at once, from the same data. The half of the Basic pair that holds the API token decides: as the **password** with an empty username the request speaks the *current* variant, as the **username** with an empty password the *earlier* one. A path of the other variant answers 404 and names the right one.

## Errors
An error has a \`message\`, for a person to read, and a code, for programs to decide by: sentences may be improved on any day, codes stay. Under \`/v0\` the body is exactly \`{"message": "…"}\` and the code is in the header \`exitward-error\`; everywhere else it is \`{"message", "code", "field"?}\`, where \`field\` names the field of the request at fault. Checks run in this order, and the first that fails answers: 401 unknown token, 404 no such path or record for this account, 405 wrong method, 403 not allowed, 400 the request itself, 409 it does not fit the records. A request that is no valid HTTP is answered 400, 408 or 431, and the connection is closed.

## Reading
HEAD works wherever GET does. Every GET under \`/v0\` carries an \`ETag\`: send it back as \`If-None-Match\` to get 304 while nothing has changed, or as \`If-Match\` on PATCH and DELETE to change only what you have seen (else 412).

## Writing
Bodies are JSON in UTF-8 with \`Content-Type: application/json\`, at most 64 KB (8 MB for usage batches and inventories), without unknown fields and without coercion: \`"5"\` is not an integer. All timestamps are epoch seconds. A 2xx answer means that the change is durable. After a 5xx or a lost connection send the same \`Idempotency-Key\` again: the change is made once.`;

/** All tags, in the order in which they are shown, by audience. */
export const tagGroups: Record<string, Record<string, string>> = {
  'Account API': {
    Root: 'Where to start.',
    Contract: 'The contract of the account, and its usage of the whole network.',
    'Network servers': 'Every server of the network, on the contract or not.',
    'Contract servers': 'The servers added to the contract, with their exit IPs and health.',
    'Users and tokens':
      'The users of the contract, and proxy access tokens for them. Current variant only.',
    'IP authlist':
      'Addresses whose connections count as a user, without a password. Current variant; the earlier one knows the same list as the whitelist. One account at a time may list an address on a port scheme.',
    'IP whitelist (earlier variant)': 'The IP authlist under the path of the earlier variant.',
    'Custom DNS entries':
      'Hostname overrides: on the override port (the normal port plus 500) a server resolves a hostname to an address of your choice. `pending`: wanted, and not yet on every node of the server; `active`: wanted and applied; `expiring`: expired, and still applied somewhere; `expired`: neither. Expired entries stay in the list for 30 days.',
  },
  Console: consoleTags,
  'Operator API': {
    'Operator: network': 'How the network stands, maintenance, and the audit log.',
    'Operator: accounts': 'Accounts and their contracts.',
    'Operator: API tokens': 'The API tokens of an account.',
    'Operator: users': 'The users of an account.',
    'Operator: servers': 'Servers of the network and their exit IPs.',
    'Operator: manifests': 'Parts of the network as one document declares them.',
    'Operator: geo-IP': 'Where geo-IP providers see the exit IPs, and the feed that tells them.',
    'Operator: contract servers': 'Which servers are on which contract.',
    'Operator: port schemes': 'Which ports lead to the exit IPs, and with which service.',
    'Operator: authlist and custom DNS':
      "An account's lists, and undoing a removal of all entries.",
    'Operator: usage': 'Traffic by account, hour, day, server and user.',
    'Operator: nodes':
      'Agents on servers: invitations, lag, revocation, and what one would do with a connection.',
    'Operator: operator tokens': 'Who may use this interface.',
  },
  'Node interface': {
    Nodes:
      'Join once with a code; then snapshot, change stream, acknowledgements, reports and answers.',
  },
};

const authlistPath = (current: boolean) => (current ? 'ip-authlist' : 'whitelist');
const listWords = (current: boolean): Record<string, OperationWords> => {
  const path = `/v0/contract/${authlistPath(current)}`;
  const noun = current ? 'authlist' : 'whitelist';
  const claim =
    'The address is on the authlist already (one entry holds an address in the whole network of a port scheme), the user is not part of the account, or the list is full.';
  return {
    [`get ${path}`]: {
      id: `list_${noun}_entries`,
      record: 'AuthlistEntry',
      description:
        'Entries that hold, by id; expired ones leave the list. `ip` matches a whole address in any spelling, anything else as a part of the address as it is shown. `user` restricts to those users.',
    },
    [`post ${path}`]: {
      id: `create_${noun}_entry`,
      record: 'AuthlistEntry',
      body: 'NewAuthlistEntry',
      description:
        'Lists an address for a user. Without `ip` the address that the request comes from is listed. A user without the proxy permission may be listed, and gets no access by it.',
      statuses: { 409: claim },
    },
    [`delete ${path}`]: {
      id: `remove_all_${noun}_entries`,
      description:
        'Removes every entry of the account; takes no filters. The operator can undo it for seven days.',
    },
    [`get ${path}/{id}`]: { id: `get_${noun}_entry`, record: 'AuthlistEntry' },
    [`patch ${path}/{id}`]: {
      id: `change_${noun}_entry`,
      record: 'AuthlistEntry',
      body: 'AuthlistEntryChanges',
      description: 'Changes any of `ip`, `user` and `expiry`; what is left out stays.',
      statuses: { 409: claim },
    },
    [`delete ${path}/{id}`]: { id: `remove_${noun}_entry` },
  };
};

/** By `method path`. */
const tooOften = 'This node reports too often; `Retry-After` says how long to wait.';

export const operationWords: Record<string, OperationWords> = {
  'get /v0': { id: 'get_index', record: 'Index' },
  'get /v0/contract': { id: 'get_contract', record: 'Contract' },
  'get /v0/servers': {
    id: 'list_servers',
    record: 'NetworkServer',
    description: '`title` is shown in the current variant only.',
  },
  'get /v0/contract/servers': {
    id: 'list_contract_servers',
    record: 'ContractServer',
    description:
      '`usage`, `location` and `geostatus` are there when `detail` asks for them; `title` in the current variant only. A name in `server` that is not on the contract matches nothing.',
  },
  'get /v0/contract/servers/{server}': {
    id: 'get_contract_server',
    record: 'ContractServer',
    statuses: { 403: 'The server is in the network, but not on the contract.' },
  },
  'get /v0/users': { id: 'list_users', record: 'User' },
  'post /v0/users/token': {
    id: 'create_proxy_token',
    record: 'ProxyToken',
    body: 'NewProxyToken',
    description:
      "The token is the password of the proxy's own authentication, with the user's name as username. A user may have many; raising the user's `token_version` ends them all. A string is a name or, failing that, an id in digits.",
    statuses: {
      200: 'The token, shown only here.',
      409: 'The user is unknown, inactive or without the proxy permission.',
    },
  },
  ...listWords(true),
  ...listWords(false),
  'get /v0/contract/overrides': {
    id: 'list_overrides',
    record: 'Override',
    description: '`ip` takes one whole address in any spelling; `server` names of servers.',
  },
  'post /v0/contract/overrides': {
    id: 'create_override',
    record: 'Override',
    body: 'NewOverride',
    statuses: {
      409: 'The hostname is overridden on that server already, the server is not on the account, or the list is full.',
    },
  },
  'delete /v0/contract/overrides': {
    id: 'remove_all_overrides',
    description:
      'Removes every entry of the account; takes no filters. The operator can undo it for seven days.',
  },
  'get /v0/contract/overrides/{id}': { id: 'get_override', record: 'Override' },
  'patch /v0/contract/overrides/{id}': {
    id: 'change_override',
    record: 'Override',
    body: 'OverrideChanges',
    description:
      'Changes any of `server`, `hostname`, `ip` and `expiry`; what is left out stays. The entry is `pending` again. A new `expiry` revives an expired one.',
    statuses: {
      409: 'The hostname is overridden on that server already, the entry has expired and no new `expiry` was sent, or the server is not on the account: no changes were made.',
    },
  },
  'delete /v0/contract/overrides/{id}': { id: 'remove_override' },

  'post /node/join': {
    id: 'node_join',
    record: 'JoinedNode',
    body: 'NodeJoin',
    statuses: {
      201: 'Joined. The token is shown only here.',
      401: 'The code is unknown, used or too old.',
    },
  },
  'get /node/snapshot': {
    id: 'node_snapshot',
    statuses: { 503: 'As many snapshots as may be are under way: try again after `Retry-After`.' },
  },
  'get /node/changes': {
    id: 'node_changes',
    statuses: {
      409: 'The log of changes no longer reaches back that far: take a new snapshot.',
      429: tooOften,
    },
  },
  'post /node/acks': {
    id: 'node_acknowledge',
    body: 'NodeAcknowledgement',
    statuses: { 409: 'The epoch is not the one that runs: take a new snapshot.', 429: tooOften },
  },
  'post /node/usage': {
    id: 'node_report_usage',
    record: 'UsageOutcome',
    body: 'UsageBatch',
    statuses: {
      429: tooOften,
      503: 'Too much of this node is held already (`held_usage_full`), or the server cannot take it now: keep the batch, and send it again.',
    },
  },
  'post /node/last-used': { statuses: { 429: tooOften } },
  'post /node/health': {
    id: 'node_report_health',
    record: 'HealthOutcome',
    body: 'HealthReport',
    statuses: { 429: tooOften },
  },
  'post /node/faults': {
    id: 'node_report_faults',
    body: 'FaultReport',
    statuses: { 429: tooOften },
  },
  'post /node/answers': {
    id: 'node_answer',
    body: 'NodeAnswer',
    statuses: {
      404: 'No question of this id waits for this node: it was answered, is over, or this node is not live.',
      429: tooOften,
    },
  },
  'get /node/echo': { id: 'node_echo', record: 'SeenAddress' },

  'get /admin/status': { record: 'NetworkStatus' },
  'get /admin/audit': { record: 'AuditEntry' },
  'get /admin/tokens': { record: 'OperatorToken' },
  'post /admin/tokens': { body: 'NewOperatorToken', record: 'CreatedOperatorToken' },
  'post /admin/tokens/remove': {
    id: 'admin_revoke_tokens',
    body: 'ChosenEntries',
    record: 'RevokedTokens',
    statuses: {
      404: 'One of the tokens is not there, as `field` says; nothing was done.',
      409: 'No operator token would be left.',
    },
  },
  'get /admin/held_usage': { record: 'HeldUsage' },
  'post /admin/held_usage/{id}/accept': { id: 'admin_accept_held_usage', record: 'AcceptedUsage' },
  'patch /admin/nodes/{id}': { body: 'NodeChanges' },
  'get /admin/invites': { record: 'OpenInvite' },
  'post /admin/invites': { record: 'Invite', body: 'NewInvite' },
  'post /admin/port_schemes': { record: 'PortScheme', body: 'NewPortScheme' },
  'patch /admin/port_schemes/{name}': {
    id: 'admin_change_port_scheme',
    record: 'PortScheme',
    body: 'PortSchemeChanges',
    statuses: {
      409: 'An account has the scheme and a base would go, or a server has these ports by another scheme.',
    },
  },
  'delete /admin/port_schemes/{name}': {
    id: 'admin_remove_port_scheme',
    statuses: { 409: 'An account or a server has it; the message says who.' },
  },
  'get /admin/servers/places': { id: 'admin_list_server_places', record: 'ServerPlace' },
  'patch /admin/servers': {
    id: 'admin_change_servers',
    body: 'ManyServerChanges',
    record: 'ManyServers',
    statuses: {
      404: 'There is no server of a name.',
      409: 'No such port scheme, two share ports, or a contract uses one that would go.',
    },
  },
  'post /admin/servers/remove': {
    id: 'admin_remove_servers',
    body: 'ServerNames',
    record: 'ManyServers',
    statuses: {
      404: 'There is no server of a name.',
      409: 'One is on a contract, or usage of its nodes is held.',
    },
  },
  'post /admin/servers': { record: 'ServerDetail', body: 'NewServer' },
  'get /admin/servers/{server}': { record: 'ServerDetail' },
  'patch /admin/servers/{server}': { record: 'ServerDetail', body: 'ServerChanges' },
  'post /admin/servers/{server}/explain-login': {
    id: 'admin_explain_login',
    record: 'Verdict',
    body: 'VpnLogin',
    statuses: {
      409: 'The server has no exit IP.',
      503: 'No node of the server is live, or none answered in time.',
    },
  },
  'post /admin/servers/{server}/explain': {
    id: 'admin_explain',
    body: 'Connection',
    record: 'Verdict',
    statuses: { 503: 'No node of the server is live, or none answered in time.' },
  },
  'put /admin/servers/{server}/exits/{ip}': { record: 'ServerDetail', body: 'ExitIpSettings' },
  'get /admin/addresses': { id: 'admin_find_address', record: 'AddressUses' },
  'get /admin/usage': { record: 'AccountUsage' },
  'get /admin/geo': { id: 'admin_list_geo_statuses', record: 'GeoStatus' },
  'post /admin/geo/check': {
    id: 'admin_check_geo',
    record: 'GeoCheck',
    statuses: { 409: 'No geo-IP database is set.' },
  },
  'get /admin/geofeed.csv': { id: 'admin_get_geofeed' },
  'get /admin/inventory': { id: 'admin_export_inventory', record: 'InventoryDocument' },
  'get /admin/inventory.csv': {
    id: 'admin_export_inventory_csv',
  },
  'post /admin/inventory': {
    id: 'admin_import_inventory',
    body: 'Inventory',
    record: 'InventoryOutcome',
  },
  ...consoleWords,
  ...recordWords,
};

/** Objects inside records that have a name of their own. */
export const nested: Record<string, Record<string, string>> = {
  NetworkServer: { location: 'Location' },
  ContractServer: { location: 'Location', usage: 'Usage', ips: 'ExitIp' },
  NodeAnswer: { answer: 'NodeVerdict' },
  FaultReport: { faults: 'ReportedFault' },
  Node: { faults: 'NodeFault' },
  ...nestedInRecords,
};

/** Query parameters that are numbers on a wire that knows only text. */
export const numbers: Record<string, { minimum: number; maximum?: number }> = {
  limit: { minimum: 1, maximum: 1000 },
  before: { minimum: 1 },
  from: { minimum: 0 },
  to: { minimum: 0 },
};

/** The errors that every operation may answer, by status. */
export const errorWords: Record<number, { name: string; description: string }> = {
  400: {
    name: 'BadRequest',
    description:
      'The request was not understood; the message names the field and what was expected.',
  },
  401: {
    name: 'Unauthorized',
    description: 'The token was not recognised; the message says where to obtain one.',
  },
  403: {
    name: 'Forbidden',
    description:
      'The principal is known and may not do this: a read-only API token, a user without the flag, a suspended or expired contract, a web page of another site.',
  },
  404: {
    name: 'NotFound',
    description:
      'There is nothing at this path for this principal, or no such record on this account.',
  },
  405: {
    name: 'MethodNotAllowed',
    description: 'The path exists and knows other methods; `Allow` lists them.',
  },
  409: {
    name: 'Conflict',
    description:
      'Well formed, and it does not fit the records; or an Idempotency-Key that stood for another request.',
  },
  412: { name: 'PreconditionFailed', description: '`If-Match` does not name the current version.' },
  429: {
    name: 'TooManyRequests',
    description:
      'More than may be done within a time, such as changes of the account on a day, or requests with this API token in a minute where the operator sets a limit; nothing was done. Go on after `Retry-After` seconds.',
  },
  500: {
    name: 'InternalError',
    description: 'Something went wrong on our side; it has been logged under the `x-request-id`.',
  },
  503: {
    name: 'Unavailable',
    description:
      'Down for maintenance, overloaded, or the database does not answer; try again after `Retry-After` seconds.',
  },
};
