// Starts the embedded engine for the scenarios, on a policy and a name server of its own.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { systemClock } from '../src/clock.ts';
import { readConfig } from '../src/config.ts';
import { type EmbeddedOptions, startEmbedded } from '../src/embedded/engine.ts';
import { Store } from '../src/store/store.ts';
import {
  createCertificateChain,
  nameServerIp,
  now,
  rules,
  startNameServer,
} from './proxy_world.ts';
import type { NodeOptions, ProxyNode } from './scenarios/scene.ts';
import { inPieces, snapshotText } from './stored.ts';

const certificate = createCertificateChain('proxy.test');

export interface EmbeddedNode extends ProxyNode {
  dir: string;
  store: Store;
}

export async function startEmbeddedNode(
  options: NodeOptions,
  own: Partial<EmbeddedOptions> = {},
): Promise<EmbeddedNode> {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-embedded-'));
  const [crt, key] = [join(dir, 'proxy.crt'), join(dir, 'proxy.key')];
  writeFileSync(crt, certificate.cert);
  writeFileSync(key, certificate.key);
  const names = await startNameServer(options.names ?? new Map(), { ip: nameServerIp, port: 0 });
  const config = readConfig({
    EXITWARD_AGENT_STATE_DIR: dir,
    EXITWARD_AGENT_DNS_SERVERS: names.address,
    EXITWARD_AGENT_TLS_CERT: crt,
    EXITWARD_AGENT_TLS_KEY: key,
    ...options.settings,
  });
  const policy = join(dir, 'policy');
  options.prepare?.(policy);
  const store = await Store.open(policy);
  const start = { epoch: 'e1', revision: 1 };
  await store.replace(inPieces(snapshotText(start, options.records)), options.heard_at ?? now());
  const engine = await startEmbedded({
    config,
    rules: { ...rules, ...options.rules },
    dir: policy,
    unstored: store.unstored,
    clock: systemClock,
    log: pino({ level: 'silent' }),
    ...own,
  });
  let revision = 1;
  return {
    dir,
    store,
    engine,
    certificate: certificate.authority,
    async apply(...records) {
      revision += 1;
      store.append(revision, now(), records);
      const position = await engine.catchUp();
      if (position?.revision !== revision) throw new Error(`applied ${position?.revision} only`);
    },
    async stop() {
      await engine.stop({ leave_running: false });
      await store.close();
      names.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
