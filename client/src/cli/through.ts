// One connection through a proxy, to see how the proxy responds.

/** The port is closed; or the proxy responded, when it refused with a reason and a line of text. */
export type Outcome = { closed: string } | { status: number; reason: string; answer: string };

const patienceMs = 10_000;
const longestBody = 1000;

/** Asks the proxy for a tunnel to `to` (`host:port`), and closes it. */
export async function requestThrough(proxy: URL, to: string): Promise<Outcome> {
  const { hostname, port, username, password } = proxy;
  // Loaded only when needed: these modules are a third of what the command line loads.
  const { request } =
    proxy.protocol === 'https:' ? await import('node:https') : await import('node:http');
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const sent = request({
    host: hostname.replace(/^\[|\]$/g, ''),
    port,
    method: 'CONNECT',
    path: to,
    agent: false,
    timeout: patienceMs,
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
        if (body.length >= Math.min(longestBody, Number(headers['content-length']))) end();
      });
      socket.on('close', end).on('error', end);
      socket.setTimeout(patienceMs, end);
    });
    sent.on('timeout', () => sent.destroy(new Error('timed out')));
    sent.on('error', (error: NodeJS.ErrnoException) =>
      resolve({ closed: error.code ?? error.message }),
    );
    sent.end();
  });
}
