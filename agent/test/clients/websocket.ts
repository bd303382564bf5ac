// The handshake of a WebSocket, as a server answers it (RFC 6455).
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The head of the response that accepts the request with these headers. */
export function acceptingHead(headers: IncomingHttpHeaders): string {
  const accept = createHash('sha1')
    .update(`${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');
  return [
    'HTTP/1.1 101 Switching Protocols',
    'Connection: Upgrade',
    'Upgrade: websocket',
    `Sec-WebSocket-Accept: ${accept}`,
    '\r\n',
  ].join('\r\n');
}
