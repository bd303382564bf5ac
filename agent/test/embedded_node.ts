// Starts the embedded engine for the scenarios, on a policy and a name server of its own.
import pino from 'pino';
import { systemClock } from '../src/clock.ts';
import { readConfig } from '../src/config.ts';
import { type EmbeddedOptions, startEmbedded } from '../src/embedded/engine.ts';
import type { Store } from '../src/store/store.ts';
import { createNodeFolder } from './node_folder.ts';
import { nameServerIp, rules } from './proxy_world.ts';
import type { NodeOptions, ProxyNode } from './scenarios/scene.ts';

export interface EmbeddedNode extends ProxyNode {
  dir: string;
  store: Store;
}

export async function startEmbeddedNode(
  options: NodeOptions,
  overrides: Partial<EmbeddedOptions> = {},
): Promise<EmbeddedNode> {
  const folder = await createNodeFolder(options, { ip: nameServerIp, port: 0 });
  const { dir, store, certificate } = folder;
  const engine = await startEmbedded({
    config: readConfig(folder.settings),
    rules: { ...rules, ...options.rules },
    dir: folder.policy,
    unstored: store.unstored,
    clock: systemClock,
    log: pino({ level: 'silent' }),
    ...overrides,
  });
  return {
    ...{ dir, store, engine, certificate },
    apply: (...records) => folder.apply(engine, records),
    async stop() {
      await engine.stop({ leave_running: false });
      await folder.remove();
    },
  };
}
