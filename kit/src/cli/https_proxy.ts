// HTTPS_PROXY: a command line reaches an https service through the proxy that the environment
// names.
import type { Environment } from '../environment.ts';
import { notify } from './output.ts';

/** This machine is never reached through it. */
const near = 'localhost,127.0.0.1,[::1]';

/**
 * Sends requests over https through HTTPS_PROXY, except to hosts of NO_PROXY (`*`: all) and to
 * this machine.
 * Plain http never goes there: the proxy could read the token. Says so where Node cannot do it.
 */
export async function useHttpsProxy(env: Environment): Promise<void> {
  const proxy = env.https_proxy || env.HTTPS_PROXY;
  if (!proxy) return;
  const { default: http } = await import('node:http');
  const except = env.no_proxy || env.NO_PROXY || '';
  if (/(?:^|,)\s*\*\s*(?:,|$)/.test(except)) return;
  const NO_PROXY = [except, near].filter(Boolean).join(',');
  const HTTPS_PROXY = /^\w+:\/\//.test(proxy) ? proxy : `http://${proxy}`;
  if (!http.setGlobalProxyFromEnv) {
    notify(`HTTPS_PROXY is ignored: Node ${process.versions.node} can't use it, 24.14 can.`);
  } else if (!/^https?:$/.test(URL.parse(HTTPS_PROXY)?.protocol ?? '')) {
    notify('HTTPS_PROXY is ignored: expected a URL such as http://proxy.example:3128.');
  } else {
    http.setGlobalProxyFromEnv({ HTTPS_PROXY, NO_PROXY });
  }
}
