// The listeners of a server. All are tried before it starts: one refusal names each port in use.
import type { Server } from 'node:net';
import {
  addressText,
  isFree,
  listenFault,
  type NamedListener,
  whyTaken,
} from '../../../kit/src/listening.ts';
import { readPrivate } from '../../../kit/src/private_files.ts';
import { type ListenAddress, SettingsFault } from '../../../kit/src/settings.ts';
import { adminUrlFile, type Config } from '../config.ts';
import { installation } from '../install/installation.ts';

/** The listeners without which a server does not start. */
export function requiredListeners({ listen, admin_listen, node_listen }: Config): NamedListener[] {
  const listeners = [
    { at: listen, purpose: 'account API and console', setting: 'EXITWARD_LISTEN' },
    { at: admin_listen, purpose: 'operators', setting: 'EXITWARD_ADMIN_LISTEN' },
    { at: node_listen, purpose: 'nodes', setting: 'EXITWARD_NODE_LISTEN' },
  ];
  // Parts with the same address share a listener.
  return listeners.filter(
    ({ at }, i) => i === listeners.findIndex((other) => addressText(other.at) === addressText(at)),
  );
}

/**
 * Tries each listener of the settings and closes it again. Errors: a line for each that cannot be
 * had, and for ports in use a line that sets free ones, to paste, or whose server has them.
 */
export async function tryListeners(config: Config): Promise<void> {
  const faults: string[] = [];
  const free: string[] = [];
  const usedPorts = new Set<number>();
  for (const listener of requiredListeners(config)) {
    const error = await whyTaken(listener.at);
    if (error === undefined) continue;
    faults.push(listenFault(listener, error));
    if (error.code !== 'EADDRINUSE') continue;
    const at = await freeNear(listener.at, usedPorts);
    if (at) free.push(`${listener.setting}=${addressText(at)}`);
  }
  const running = free.length > 0 ? await runningServer(config) : undefined;
  if (running !== undefined) {
    faults.push(
      `The server of ${config.data_dir} runs already, for operators on ${running}. To restart it: ${installation.restart}`,
    );
  } else if (free.length > 0) faults.push(`For free ports: export ${free.join(' ')}`);
  if (faults.length > 0) throw new SettingsFault(faults.join('\n'));
}

/** The operators' URL of a server that runs on this data folder, by the file that it left there. */
async function runningServer({ data_dir }: Config): Promise<string | undefined> {
  try {
    const url = readPrivate(adminUrlFile(data_dir)).trim();
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(20_000) });
    return response.ok ? url : undefined;
  } catch {
    return undefined;
  }
}

/** A free port some tens above; it joins `usedPorts`. */
async function freeNear(
  { host, port }: ListenAddress,
  usedPorts: Set<number>,
): Promise<ListenAddress | undefined> {
  for (let candidate = port + 10; candidate <= port + 100; candidate += 10) {
    const at = { host, port: candidate };
    if (candidate > 65_535 || usedPorts.has(candidate) || !(await isFree(at))) continue;
    usedPorts.add(candidate);
    return at;
  }
  return undefined;
}

export function urlOf(server: Server, tls: boolean): string {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('The listener has no address.');
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `${tls ? 'https' : 'http'}://${host}:${address.port}`;
}
