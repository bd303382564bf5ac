// ACME on a node with Squid: Squid gets the certificate and its renewal, and no key gets where only
// certificates belong.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AcmeNode, hostname } from './acme_node.ts';

let node: AcmeNode;
beforeEach(async () => {
  node = await AcmeNode.make();
});
afterEach(() => node.clean());

test('Squid has the certificate of ACME on its TLS ports, and another one when the hostname changes', async () => {
  await node.run({ EXITWARD_AGENT_ENGINE: 'squid' });
  await node.untilShown(hostname);
  const copies = globSync(join(node.folder, 'state/squid/**/tls-*.crt'));
  expect(copies).toHaveLength(1);
  for (const copy of copies) expect(readFileSync(copy, 'utf8')).not.toContain('PRIVATE KEY');
  node.control.change(node.server('fra2.example.net'));
  await node.untilShown('fra2.example.net');
});
