// Questions to nodes about a connection, and their decisions, for operators, accounts and nodes.
import { Type } from 'typebox';
import type { ConnectionQuestion } from '../../../kit/src/node_interface.ts';
import { Integer, OneOf, Strict, Text } from '../http/fields.ts';
import type { Secrets } from '../keys/secrets.ts';

export const ExitCheck = Strict(
  {
    address: Type.Optional(Text('The address that was seen at the other end.', 64)),
    milliseconds: Type.Optional(Integer('How long it took.', 0, 60_000)),
    fault: Type.Optional(Text('Why it did not come through.', 1000)),
  },
  'A request that the node itself sent through the exit, to the echo of its health checks.',
);

/** The 503 of routes that ask a node. */
export const noAnswer = 'No node of the server is live, or none answered in time.';

/** A connection, as a client asks a proxy for it. */
export const requestFields = {
  port: Integer('Port of the proxy that it comes in on.', 1, 65_535),
  host: Type.String({
    pattern: '^[^\\s/@?#]{1,255}$',
    description: 'Hostname or IP address that the client asks for.',
  }),
  destination_port: Type.Optional(
    Integer('Port that the client asks for; 443 for CONNECT and 80 otherwise.', 1, 65_535),
  ),
  method: Type.Optional(
    Type.String({ pattern: '^[A-Z-]{1,32}$', description: 'HTTP method; CONNECT when omitted.' }),
  ),
  check_exit: Type.Optional(
    Type.Boolean({
      description:
        'Whether the node is to send a request of its own through the exit, too, where it lets the connection through.',
    }),
  ),
};
/** A node's decision, as the client gets it. */
export const decisionFields = {
  verdict: OneOf(
    ['allow', 'challenge', 'deny'],
    'Let through, asked for credentials, or turned away.',
  ),
  status: Integer('The HTTP status that the client would get.', 100, 599),
  reason: Type.String({ description: 'How the user was known, or why not, in one word.' }),
  message: Type.String({ description: 'What the client would be answered.' }),
  rule: Type.Optional(Type.String({ description: 'The record or rule that decided.' })),
  account: Type.Optional(Type.String({ description: 'Account that the connection belongs to.' })),
  user: Type.Optional(Type.String({ description: 'Its user.' })),
  exit_ip: Type.Optional(Type.String({ description: 'The address that it would leave from.' })),
  dial: Type.Optional(Type.String({ description: 'What it would connect to.' })),
  checked: Type.Optional(ExitCheck),
};
/** The method and the port, with defaults for a client that doesn't name them. */
export function withDefaults<T extends { method?: string; destination_port?: number }>(
  connection: T,
) {
  const { method = 'CONNECT' } = connection;
  const usualPort = method === 'CONNECT' ? 443 : 80;
  return { ...connection, method, destination_port: connection.destination_port ?? usualPort };
}

/** Null: the token is not genuine. */
export function claimsOf(secrets: Secrets, token: string): ConnectionQuestion['claims'] {
  const read = secrets.readProxyToken(token);
  if (!read) return null;
  const { kid, account_id: account, user_id: user, token_version, expiry } = read;
  return { kid, account, user, token_version, expiry };
}
