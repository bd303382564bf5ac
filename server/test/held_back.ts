// A request whose body comes late: what may change between its first line and its last byte.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Long enough for the server to have read the head and looked up who calls. */
const headMs = 150;

export interface HeldBack {
  method: string;
  /** The whole path. */
  path: string;
  headers: Record<string, string>;
  body: unknown;
}

/**
 * Sends the head, does `meanwhile`, then sends the body. Answers the status and the body's text.
 */
export async function sendHeldBack(
  url: string,
  { method, path, headers, body }: HeldBack,
  meanwhile: () => Promise<unknown>,
): Promise<{ status: number; text: string }> {
  const { hostname, port, host } = new URL(url);
  const text = JSON.stringify(body);
  const socket = connect(Number(port), hostname);
  const closed = once(socket, 'close');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  const lines = Object.entries({
    host,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  await sleep(headMs);
  await meanwhile();
  socket.write(text);
  await closed;
  const answer = Buffer.concat(chunks).toString('utf8');
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]),
    text: answer.slice(answer.indexOf('\r\n\r\n') + 4),
  };
}
