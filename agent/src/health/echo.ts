// Asks the echo which address it sees, directly from this machine or through a proxy.
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { canonicalAddress } from '../../../kit/src/address.ts';
import { request as httpRequest } from '../../../kit/src/node_http.ts';
import { freshLoopback } from '../address.ts';
import { reasonHeader } from '../policy/denials.ts';

/** A port of the proxy on this machine, and the credentials for it. */
export interface ProxyPort {
  host: string;
  port: number;
  /** Whether the port speaks TLS. */
  tls: boolean;
  user: string;
  password: string;
}

const maxBytes = 4096;

/** The echo's destination, as decisions compare it. The node's own checks may reach no other. */
export function destinationOf(url: URL): { host: string; port: number } {
  const bare = url.hostname.replace(/^\[(.*)\]$|\.$/, '$1');
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  return { host: canonicalAddress(bare) ?? bare, port };
}

/**
 * The address that the echo sees, in canonical spelling. The response may be `{"address": "…"}` or
 * the address alone. Errors: a sentence that says what failed.
 */
export async function askEcho(
  url: string,
  proxy: ProxyPort | undefined,
  signal: AbortSignal,
): Promise<string> {
  const echo = new URL(url);
  const response = await answerTo(await openRequest(echo, proxy, signal));
  const text = await readText(response);
  if (response.statusCode !== 200) throw new Error(`the answer was ${statusOf(response)}`);
  const address = canonicalAddress(addressIn(text));
  if (address === undefined) throw new Error('the answer held no address');
  return address;
}

async function openRequest(
  echo: URL,
  proxy: ProxyPort | undefined,
  signal: AbortSignal,
): Promise<ClientRequest> {
  // Each check needs a new connection.
  const fresh = { agent: false, signal } as const;
  const isHttps = echo.protocol === 'https:';
  if (!proxy) return (isHttps ? httpsRequest : httpRequest)(echo, fresh);
  if (!isHttps) return toProxy(proxy, 'GET', echo.href, echo.host, signal);
  const socket = await openTunnel(proxy, echo, signal);
  return httpsRequest(echo, { signal, createConnection: () => socket });
}

/** A request to the proxy itself. */
function toProxy(
  { host, port, tls, user, password }: ProxyPort,
  method: string,
  path: string,
  destination: string,
  signal: AbortSignal,
): ClientRequest {
  const credentials = Buffer.from(`${user}:${password}`).toString('base64');
  const headers = { host: destination, 'proxy-authorization': `Basic ${credentials}` };
  const localAddress = freshLoopback(host);
  const ends = { host, port, ...(localAddress && { localAddress }) };
  const options = { ...ends, method, path, headers, agent: false, signal } as const;
  // The certificate is for the name that clients use, and this connection never leaves the machine.
  return tls ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options);
}

/** TLS to the echo itself, through the proxy. */
async function openTunnel(proxy: ProxyPort, echo: URL, signal: AbortSignal): Promise<TLSSocket> {
  const { host, port } = destinationOf(echo);
  const destination = `${echo.hostname}:${port}`;
  const asking = toProxy(proxy, 'CONNECT', destination, destination, signal);
  const socket = await new Promise<Socket>((resolve, reject) => {
    const settle = (response: IncomingMessage, opened: Socket) => {
      if (response.statusCode === 200) return resolve(opened);
      opened.destroy();
      reject(new Error(`the proxy answered ${statusOf(response)}`));
    };
    asking.once('connect', settle);
    asking.on('error', reject);
    asking.end();
  });
  return tlsConnect({ socket, host, ...(isIP(host) ? {} : { servername: host }) });
}

/** The status, with the proxy's reason if it refused: `503 (exit_busy)`. */
function statusOf({ statusCode, headers }: IncomingMessage): string {
  const reason = headers[reasonHeader.toLowerCase()];
  return typeof reason === 'string' ? `${statusCode} (${reason})` : `${statusCode}`;
}

function answerTo(asking: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    asking.once('response', resolve);
    asking.on('error', reject);
    asking.end();
  });
}

async function readText(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of response.setEncoding('utf8')) {
    text += piece;
    if (text.length > maxBytes) throw new Error('the answer was too long');
  }
  return text;
}

function addressIn(text: string): string {
  try {
    const value = JSON.parse(text) as { address?: unknown } | null;
    return typeof value?.address === 'string' ? value.address : '';
  } catch {
    return text.trim();
  }
}
