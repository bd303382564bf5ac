// The demo's origin: a small page of this machine, since there may be no network, that shows how a
// request reached it.
import { subscribe } from 'node:diagnostics_channel';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The connections of this process, which the proxy makes: it has the address of direct ones. */
const outgoing = new Set<Socket>();
/** A response that lasts, for a connection that can be seen and ended. */
const slowPath = '/slow';
const slowSeconds = 600;

/** Starts it on a port of 127.0.0.1, in the proxy's process. Errors: when the port is taken. */
export function startOrigin(port: number): Promise<Server> {
  subscribe('net.client.socket', (message) => {
    const { socket } = message as { socket: Socket };
    outgoing.add(socket);
    socket.once('close', () => outgoing.delete(socket));
  });
  const server = createServer((request, response) => {
    const asHtml = request.headers.accept?.includes('text/html') ?? false;
    const type = asHtml ? 'text/html' : 'text/plain';
    response.writeHead(200, {
      'Content-Type': `${type}; charset=utf-8`,
      'Cache-Control': 'no-store',
    });
    if (request.url === slowPath) respondSlowly(response);
    else response.end(asHtml ? page(request) : `${lines(request).join('\n')}\n`);
  });
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

/** A line each second, until the client leaves or is cut off. */
async function respondSlowly(response: ServerResponse): Promise<void> {
  for (let second = 1; second <= slowSeconds && !response.destroyed; second += 1) {
    response.write(`${second} s\n`);
    await sleep(1000, undefined, { ref: false });
  }
  response.end();
}

function lines(request: IncomingMessage): string[] {
  const { remoteAddress = '', remotePort } = request.socket;
  const isProxied = [...outgoing].some(({ localPort }) => localPort === remotePort);
  return [
    "This is the demo's origin.",
    `You asked for http://${request.headers.host ?? ''}${request.url ?? ''}`,
    `The request came from ${remoteAddress}, ${isProxied ? 'the exit IP' : 'not through the proxy'}.`,
  ];
}

function page(request: IncomingMessage): string {
  const [title, ...rest] = lines(request).map(escaped);
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>
<body style="font: 1.1rem/1.6 system-ui; max-width: 40rem; margin: 4rem auto; padding: 0 1rem">
<h1>${title}</h1>${rest.map((line) => `<p>${line}</p>`).join('')}</body></html>\n`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
