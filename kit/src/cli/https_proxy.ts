// HTTPS_PROXY: a command line reaches an https service through the proxy that the environment
// names. Node's own errors do not name that proxy, so it is tried before the first request.
import type { Environment } from '../environment.ts';
import { httpFetch } from './http_fetch.ts';
import { notify } from './output.ts';
import { type Outcome, requestThrough } from './through.ts';

/** Shorter than the timeouts of commands, so that the proxy is named first. */
const defaultPatienceSeconds = 5;
/** This machine is never reached through it. */
const near = 'localhost,127.0.0.1,[::1]';

export interface HttpsProxy {
  url: URL;
  /** The variable that names it. */
  variable: string;
  /** Hosts that are reached directly, as NO_PROXY has them. */
  except: readonly string[];
}

let current: HttpsProxy | undefined;
let fetchOfCommands = httpFetch;

/** The fetch of command lines, as far as `httpFetch` goes. */
export const commandFetch: typeof fetch = (...request) => fetchOfCommands(...request);

/**
 * Sends requests over https through HTTPS_PROXY, except to hosts of NO_PROXY (`*`: all) and to
 * this machine.
 * Plain http never goes there: the proxy could read the token. Says so where Node cannot do it.
 */
export async function useHttpsProxy(env: Environment): Promise<void> {
  const variable = ['https_proxy', 'HTTPS_PROXY'].find((name) => env[name]) ?? '';
  const text = env[variable];
  if (!text) return;
  const { default: http } = await import('node:http');
  const noProxy = [env.no_proxy || env.NO_PROXY || '', near].join(',');
  const except = noProxy.split(/[,\s]+/).filter(Boolean);
  if (except.includes('*')) return;
  const url = URL.parse(/^\w+:\/\//.test(text) ? text : `http://${text}`);
  if (!http.setGlobalProxyFromEnv) {
    notify(`${variable} is ignored: Node ${process.versions.node} can't use it, 24.14 can.`);
  } else if (!/^https?:$/.test(url?.protocol ?? '') || !url) {
    notify(`${variable} is ignored: expected a URL such as http://proxy.example:3128.`);
  } else if (!isDecodable(url)) {
    notify(`${variable} is ignored: expected %25 for each % in its name and password.`);
  } else {
    http.setGlobalProxyFromEnv({ HTTPS_PROXY: url.href, NO_PROXY: except.join(',') });
    current = { url, variable, except };
    fetchOfCommands = triedFirst(httpFetch, current);
    globalThis.fetch = triedFirst(globalThis.fetch, current);
  }
}

/** `the proxy proxy.example:3128 (HTTPS_PROXY)`, if requests to this URL go through it. */
export function proxyOf(url: string): string | undefined {
  return current && isThrough(current, new URL(url)) ? nameOf(current) : undefined;
}

function isDecodable({ username, password }: URL): boolean {
  try {
    return decodeURIComponent(username + password) !== undefined;
  } catch {
    return false;
  }
}

/** Without its password. */
const nameOf = ({ url, variable }: HttpsProxy) => `the proxy ${url.host} (${variable})`;

/** Whether requests to this URL go through it, by the rules of Node. */
function isThrough({ except }: HttpsProxy, { protocol, hostname, port }: URL): boolean {
  return (
    protocol === 'https:' &&
    !except.some((entry) => {
      const [, host = entry, exceptPort] = /^(.+):(\d+)$/.exec(entry) ?? [];
      const name = host.replace(/^\*?\./, '').toLowerCase();
      const isHost = hostname === name || hostname.endsWith(`.${name}`);
      return isHost && (exceptPort === undefined || exceptPort === (port || '443'));
    })
  );
}

/**
 * A fetch that fails in words when the proxy does not let it through to the host, or does not
 * answer within `patienceSeconds`.
 */
export function triedFirst(
  fetch: typeof globalThis.fetch,
  proxy: HttpsProxy,
  patienceSeconds = defaultPatienceSeconds,
): typeof globalThis.fetch {
  const passed = new Set<string>();
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (isThrough(proxy, url) && !passed.has(url.host)) {
      const to = `${url.hostname}:${url.port || 443}`;
      const fault = faultOf(proxy, to, await requestThrough(proxy.url, to, patienceSeconds));
      // As fetch itself fails: the reason is in the cause.
      if (fault) throw new TypeError('fetch failed', { cause: new ProxyFault(fault) });
      passed.add(url.host);
    }
    return fetch(input, init);
  };
}

/** Nothing was sent to the host. */
class ProxyFault extends Error {
  readonly code = 'ERR_PROXY';
}

/** Whether it is the cause of a request that a proxy stopped. */
export const isProxyFault = (cause: unknown) => cause instanceof ProxyFault;

/** Why the proxy does not let a connection through, and what to do; undefined if it does. */
function faultOf(proxy: HttpsProxy, to: string, outcome: Outcome): string | undefined {
  const { url, variable } = proxy;
  const name = nameOf(proxy);
  const around = `set NO_PROXY=${to.replace(/:\d+$/, '')} to do without it`;
  if ('closed' in outcome) {
    return `${name} can't be used: ${outcome.closed}; correct ${variable}, or ${around}`;
  }
  const { status } = outcome;
  if (status >= 200 && status < 300) return undefined;
  if (status === 407) {
    return url.username
      ? `${name} does not accept the name and password in ${variable} (407)`
      : `${name} asks for a name and password (407): set ${variable}=http://NAME:PASSWORD@${url.host}`;
  }
  if (status === 403)
    return `${name} does not allow connections to ${to} (403); ask its operator, or ${around}`;
  if (status >= 500)
    return `${name} could not connect to ${to} (${status}); check the address, or ${around}`;
  return `${name} answered ${status}, not as an HTTP proxy does; correct ${variable}, or ${around}`;
}
