// The words of the OpenAPI document beyond the routes' schemas: names, tags, descriptions, examples.

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
  Console: {
    'Console: sign-in':
      'Signing in with a password and a second factor, by invitation, or by a link; sessions.',
    'Console: account': 'The contract, its usage, and what was changed.',
    'Console: servers': 'The servers of the contract and of the whole network.',
    'Console: users': 'The users of the account, their proxy access tokens, and how they sign in.',
    'Console: API tokens': 'The API tokens of the account.',
    'Console: authlist and custom DNS':
      "The account's lists, and undoing a removal of all entries.",
    'Console: live': 'Hearing of changes.',
  },
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
