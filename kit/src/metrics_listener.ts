// The listener of Prometheus, which answers with a program's metrics and nothing else.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { shareConnections, smallListener } from './client_networks.ts';
import { createServer } from './node_http.ts';

/** Answers GET and HEAD of /metrics; `read` returns the text of this type. */
export function metricsListener(type: string, read: () => Promise<string>): Server {
  const serve = async ({ url, method }: IncomingMessage, response: ServerResponse) => {
    if (url !== '/metrics' || (method !== 'GET' && method !== 'HEAD')) {
      response.writeHead(404).end();
      return;
    }
    const text = await read();
    const headers = { 'content-type': type, 'content-length': Buffer.byteLength(text) };
    response.writeHead(200, headers).end(text);
  };
  const server = createServer(smallListener, (request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  shareConnections(server);
  return server;
}
