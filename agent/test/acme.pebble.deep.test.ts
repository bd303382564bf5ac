// ACME on a node: the certificate of its TLS ports for the hostname of its server, against a real
// certificate authority.
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AcmeNode, hostname } from './acme_node.ts';

let node: AcmeNode;
beforeEach(async () => {
  node = await AcmeNode.make();
});
afterEach(() => node.clean());

test('the TLS ports have a certificate for the hostname of the server, by a listener of the check alone', async () => {
  await node.run();
  await node.untilShown(hostname);
  await vi.waitFor(() => expect(node.faults()).toEqual([]), 90_000);
  for (const file of ['certificate.pem', 'acme.json']) {
    expect(statSync(join(node.folder, 'state/tls', file)).mode & 0o777).toBe(0o600);
  }
  const attempts = connect({
    host: '127.0.0.1',
    port: node.authority.tls_port,
    rejectUnauthorized: false,
  });
  const [error] = (await once(attempts, 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ECONNREFUSED');
});

test('a hostname that changes gets another certificate, which is in force without a restart and stays behind one', async () => {
  await node.run();
  await node.untilShown(hostname);
  node.control.change(node.server('fra2.example.net'));
  await node.untilShown('fra2.example.net');
  await node.stop();
  node.authority.requests.length = 0;
  await node.run();
  await node.untilShown('fra2.example.net');
  expect(node.authority.requests).toEqual([]);
});

test('http-01 and names of its own are settings', async () => {
  await node.run({
    EXITWARD_AGENT_ACME_CHALLENGE: 'http-01',
    EXITWARD_AGENT_ACME_LISTEN: `127.0.0.1:${node.authority.http_port}`,
    EXITWARD_AGENT_ACME_NAMES: 'node-a.example.net',
  });
  await node.untilShown('node-a.example.net');
});

test('a failure is a fault of the node, and is reported to the control plane', async () => {
  await node.authority.resolve(hostname, '127.0.0.9');
  await node.run();
  const sentence = expect.stringMatching(
    /^No new certificate: .* looked for fra1\.example\.net on TCP port 443 .* The next try is at .*Z\.$/,
  );
  await vi.waitFor(() => {
    expect(node.faults()).toContainEqual(sentence);
    expect(node.faults()).toContainEqual(
      expect.stringContaining('the first one from ACME has not arrived yet.'),
    );
    expect(node.control.faults.at(-1)).toContainEqual(
      expect.objectContaining({ kind: 'certificate', subject: hostname, message: sentence }),
    );
  }, 90_000);
});
