// The parts of a test node that are the same for both engines: a folder with a certificate and a
// policy, and a name server.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../src/engine.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { Store, type StoreOptions } from '../src/store/store.ts';
import { createCertificateChain, now, startNameServer } from './proxy_world.ts';
import type { NodeOptions } from './scenarios/scene.ts';
import { inPieces, snapshotText } from './stored.ts';

const certificate = createCertificateChain('proxy.test');

export async function createNodeFolder(
  { names, settings, prepare, records, heard_at }: NodeOptions,
  nameServer: { ip: string; port: number },
  { group }: Pick<StoreOptions, 'group'> = {},
) {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-node-'));
  const [crt, key] = [join(dir, 'proxy.crt'), join(dir, 'proxy.key')];
  writeFileSync(crt, certificate.cert);
  writeFileSync(key, certificate.key, { mode: 0o600 });
  const server = await startNameServer(names ?? new Map(), nameServer);
  const policy = join(dir, 'policy');
  prepare?.(policy);
  const store = await Store.open(policy, { group });
  let revision = 1;
  /** Replaces the policy by these records, at revision 1. */
  const replace = async (records: NodeRecord[], heard_at = now()) => {
    revision = 1;
    await store.replace(inPieces(snapshotText({ epoch: 'e1', revision }, records)), heard_at);
  };
  await replace(records, heard_at);
  return {
    dir,
    policy,
    store,
    replace,
    certificate: certificate.authority,
    settings: {
      EXITWARD_AGENT_STATE_DIR: dir,
      EXITWARD_AGENT_DNS_SERVERS: server.address,
      EXITWARD_AGENT_TLS_CERT: crt,
      EXITWARD_AGENT_TLS_KEY: key,
      ...settings,
    },
    /** Stores records as the next revision, which the engine applies. */
    async apply(engine: Engine, records: NodeRecord[]) {
      revision += 1;
      store.append(revision, now(), records);
      const position = await engine.catchUp();
      if (position?.revision !== revision) throw new Error(`applied ${position?.revision} only`);
    },
    async remove() {
      await store.close();
      server.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
