// Responses of the proxy itself: denials by the policy, and failures of an allowed request.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { STATUS_CODES } from '../../../kit/src/node_http.ts';
import { bodyOfFailure, type Failure, statusOfFailure } from '../failures.ts';
import { allReasons, bodyOf, type Reason, reasonHeader, statusOf } from '../policy/denials.ts';

export type Rejection = Reason | Failure;

/** Whether the policy denied it: nothing of the exchange is billed then. */
export function isDenial(rejection: Rejection): rejection is Reason {
  return (allReasons as string[]).includes(rejection);
}

interface Parts {
  status: number;
  headers: Record<string, string | number>;
  body: string;
}

function partsOf(rejection: Rejection): Parts {
  const [status, body] = isDenial(rejection)
    ? [statusOf(rejection), bodyOf(rejection)]
    : [statusOfFailure(rejection), bodyOfFailure(rejection)];
  const headers = {
    [reasonHeader]: rejection,
    ...(status === 407 ? { 'Proxy-Authenticate': 'Basic realm="Exitward"' } : {}),
    'Content-Type': 'text/plain;charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  };
  return { status, headers, body };
}

/** Rejects a plain request. `close`: the connection accepts no other request after it. */
export function rejectRequest(
  response: ServerResponse,
  rejection: Rejection,
  close: boolean,
): void {
  const { status, headers, body } = partsOf(rejection);
  if (close) response.setHeader('Connection', 'close');
  response.writeHead(status, headers).end(body);
}

const lingerMs = 2000;

/** Rejects on the bare socket, as for a tunnel, and closes the connection. */
export function rejectRaw(socket: Socket, rejection: Rejection): void {
  const { status, headers, body } = partsOf(rejection);
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  // With unread data, closing might discard the response on the client's side.
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
