// The ports of the demo: one setting moves them all.
import { isFree, type NamedListener } from '../kit/src/listening.ts';
import type { Environment } from '../kit/src/settings.ts';
import { readConfig } from '../server/src/config.ts';
import { requiredListeners } from '../server/src/http/listeners.ts';

export const usualPortBase = 11_000;
export const [lowestPortBase, highestPortBase] = [4000, 63_000];

/** The origin listens so far above the proxy. */
export const originOffset = 80;

/** The ports of the default port scheme and their override ports, then the origin. */
const nodePorts = (base: number): Array<Pick<NamedListener, 'at' | 'purpose' | 'isOptional'>> =>
  [-1000, -500, 0, 500, originOffset].map((offset) => ({
    at: { host: '127.0.0.1', port: base + offset },
    purpose: offset === originOffset ? "the demo's web page" : 'proxy',
  }));

/** The server's settings for a demo at this base; at the usual one they are the server's own. */
export function listenersFor(base: number): Environment {
  const moved = base - usualPortBase;
  return {
    EXITWARD_LISTEN: `127.0.0.1:${8080 + moved}`,
    EXITWARD_ADMIN_LISTEN: `127.0.0.1:${8081 + moved}`,
    EXITWARD_METRICS_LISTEN: `127.0.0.1:${9464 + moved}`,
  };
}

interface PortInUse {
  port: number;
  purpose: string;
  /** Whether the demo runs without it. */
  isOptional: boolean;
}

async function portsInUse(env: Environment, base: number): Promise<PortInUse[]> {
  const config = readConfig(env);
  const { metrics_listen } = config;
  const listeners = [
    ...requiredListeners(config),
    ...(metrics_listen ? [{ at: metrics_listen, purpose: 'metrics', isOptional: true }] : []),
    ...nodePorts(base),
  ];
  const inUse: PortInUse[] = [];
  for (const { at, purpose, isOptional = false } of listeners) {
    if (!(await isFree(at))) inUse.push({ port: at.port, purpose, isOptional });
  }
  return inUse;
}

/**
 * Errors: ports of the demo are in use. Names all of them and a base at which the whole demo has
 * free ports. `settings` are those of its server.
 */
export async function requireFreePorts(settings: Environment, base: number): Promise<void> {
  const inUse = await portsInUse(settings, base);
  if (inUse.every(({ isOptional }) => isOptional)) return;
  let free = base + 2000;
  while (free <= highestPortBase && (await portsInUse(listenersFor(free), free)).length > 0) {
    free += 2000;
  }
  throw new Error(
    `These ports are in use: ${inUse.map(({ port, purpose }) => `${port} (${purpose})`).join(', ')}. To run the whole demo on others:\n\n` +
      `  EXITWARD_DEMO_PORT_BASE=${free} npm start\n`,
  );
}
