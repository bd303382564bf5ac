// One connection through a proxy, to see how the proxy responds.
import { isIP } from 'node:net';
import { networkFault } from '../network_fault.ts';

/**
 * The reason why nothing answered, as a clause; or the response of the proxy: its status and, for a
 * refusal, its reason and a line of text.
 */
export type Outcome = { closed: string } | { status: number; reason: string; answer: string };

const maxBodyLength = 1000;

/** Asks the proxy for a tunnel to `to` (`host:port`), and closes it. */
export async function requestThrough(
  proxy: URL,
  to: string,
  patienceSeconds = 10,
): Promise<Outcome> {
  const { hostname, port, username, password } = proxy;
  // Loaded only when needed: these modules are a third of what the command line loads.
  const { request } =
    proxy.protocol === 'https:' ? await import('node:https') : await import('node:http');
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const host = hostname.replace(/^\[|\]$/g, '');
  const signal = AbortSignal.timeout(patienceSeconds * 1000);
  const sent = request({
    host,
    port,
    // Otherwise the certificate of a proxy would have to be that of the host in the header.
    servername: isIP(host) ? '' : host,
    method: 'CONNECT',
    path: to,
    agent: false,
    signal,
    headers: {
      host: to,
      ...(username
        ? { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` }
        : {}),
    },
  });
  return new Promise((resolve) => {
    sent.on('connect', ({ statusCode: status = 0, headers }, socket, head) => {
      const reason = String(headers['x-exitward-reason'] ?? '');
      let body = head.toString('utf8');
      const end = () => {
        socket.destroy();
        const line = body.trim().split('\n')[0] ?? '';
        resolve({ status, reason, answer: line || `status ${status}` });
      };
      if (status === 200 || body.length >= Number(headers['content-length'] ?? 0)) return end();
      socket.on('data', (chunk: Buffer) => {
        body += chunk.toString('utf8');
        if (body.length >= Math.min(maxBodyLength, Number(headers['content-length']))) end();
      });
      socket.on('close', end).on('error', end);
      signal.addEventListener('abort', end);
    });
    const silence = `there was no answer within ${patienceSeconds} seconds`;
    sent.on('error', (error) =>
      resolve({ closed: signal.aborted ? silence : networkFault(error) }),
    );
    sent.end();
  });
}
