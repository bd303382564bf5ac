// A server that follows a script of responses, and remembers its requests.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request, and when it came. */
export interface ScriptedRequest {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
  at: number;
}

/**
 * The outcome of one request: a response, a connection that ends (FIN) or is reset (RST), or
 * silence.
 */
export type Step =
  | { status: number; headers?: Record<string, string>; body?: unknown; afterSeconds?: number }
  | 'cut'
  | 'reset'
  | 'cut in the answer'
  | 'silence';

export interface Scripted {
  url: string;
  requests: ScriptedRequest[];
  stop(): Promise<void>;
}

/**
 * Responds to the first request by the first step, and so on; the last step holds for all that
 * follow.
 */
export async function startScripted(...steps: Step[]): Promise<Scripted> {
  const requests: ScriptedRequest[] = [];
  const server = createServer(async (request, response) => {
    const at = performance.now();
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { method = '', url = '', headers } = request;
    requests.push({ method, url, headers, body, at });
    act(steps[Math.min(requests.length, steps.length) - 1], response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function act(step: Step | undefined, response: ServerResponse): void {
  if (step === undefined || step === 'silence') return;
  if (step === 'cut') return void response.destroy();
  if (step === 'reset') return void response.socket?.resetAndDestroy();
  if (step === 'cut in the answer') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
    response.write('[', () => response.destroy());
    return;
  }
  const { status, headers = {}, body, afterSeconds = 0 } = step;
  const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body);
  setTimeout(() => {
    response.writeHead(status, {
      ...(typeof body === 'object' ? { 'content-type': 'application/json' } : {}),
      ...headers,
    });
    response.end(text);
  }, afterSeconds * 1000);
}
