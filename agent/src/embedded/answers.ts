// What the proxy itself answers: the policy's refusals, and what came between with an allowed request.
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { allReasons, bodyOf, type Reason, reasonHeader, statusOf } from '../policy/denials.ts';

/** What the policy has nothing to do with: the request is none, or cannot be carried out. */
const failures = {
  bad_request: [400, 'a proxy takes CONNECT host:port, and http://host/path for other methods'],
  bad_expectation: [417, 'nothing but 100-continue may be expected'],
  slow_request: [408, 'the request did not come in time'],
  long_header: [431, 'the header of the request is too long'],
  unresolved: [502, 'the name of the destination could not be resolved'],
  unreachable: [502, 'the destination could not be reached'],
  broken_answer: [502, 'the destination ended the connection, or answered what is not HTTP'],
  exit_unavailable: [503, 'the exit address of this port is not available; try another one'],
  timed_out: [504, 'the destination did not answer in time'],
} as const satisfies Record<string, readonly [number, string]>;

export type Failure = keyof typeof failures;
export type Answer = Reason | Failure;

/** Whether the policy says no: then nothing of the exchange is billed. */
export function isRefusal(answer: Answer): answer is Reason {
  return (allReasons as string[]).includes(answer);
}

interface Parts {
  status: number;
  headers: Record<string, string | number>;
  body: string;
}

function partsOf(answer: Answer): Parts {
  const [status, body] = isRefusal(answer)
    ? [statusOf(answer), bodyOf(answer)]
    : [failures[answer][0], `Exitward: ${failures[answer][1]} (${answer}).\n`];
  const headers = {
    [reasonHeader]: answer,
    ...(status === 407 ? { 'Proxy-Authenticate': 'Basic realm="Exitward"' } : {}),
    'Content-Type': 'text/plain;charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  };
  return { status, headers, body };
}

/** Answers a plain request. `close`: the connection takes no other one after it. */
export function answerRequest(response: ServerResponse, answer: Answer, close: boolean): void {
  const { status, headers, body } = partsOf(answer);
  if (close) response.setHeader('Connection', 'close');
  response.writeHead(status, headers).end(body);
}

const linger_ms = 2000;

/** Answers where no server does, as in place of a tunnel, and ends the connection. */
export function answerRaw(socket: Socket, answer: Answer): void {
  const { status, headers, body } = partsOf(answer);
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  // Closed with something unread, the answer might be thrown away on the client's side.
  socket.resume();
  setTimeout(() => socket.destroy(), linger_ms).unref();
}
