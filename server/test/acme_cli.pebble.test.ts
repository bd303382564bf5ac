// The real server with ACME, and the real command line beside it: nothing is set but what an
// operator sets.
import { once } from 'node:events';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Authority, startAuthority } from '../../test/authority.ts';
import { deepTest } from '../../test/deep_test.ts';
import { CommandLine } from './cli_process.ts';

let authority: Authority;
let cli: CommandLine;
beforeAll(async () => {
  authority = await startAuthority();
  cli = new CommandLine({
    EXITWARD_LISTEN: `127.0.0.1:${authority.tls_port}`,
    EXITWARD_PUBLIC_URL: 'https://proxies.example',
    EXITWARD_ACME: 'operator@proxies.example',
    EXITWARD_ACME_DIRECTORY: authority.directory_url,
    NODE_EXTRA_CA_CERTS: authority.ca_file,
  });
  await authority.resolve('proxies.example', '127.0.0.9');
});
afterAll(async () => {
  await cli.clean();
  await authority.stop();
});

/** The output of `exitward status`, as soon as it matches. */
const status = (pattern: RegExp) =>
  vi.waitFor(
    async () => {
      const { code, stdout, stderr } = await cli.run('status');
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(pattern);
    },
    { timeout: 90_000, interval: 500 },
  );

test('the command line works while the certificate is awaited, and says why it is', async () => {
  await cli.serve();
  expect(cli.base_url).toMatch(/^https:/);
  expect(cli.env.EXITWARD_ADMIN_URL).toMatch(/^http:/);
  await status(/^proxies\.example\tself_signed\t.* looked for proxies\.example on TCP port 443/m);
});

deepTest(
  'new settings are tried at once, and the command line works while the certificate is there',
  async () => {
    await cli.stop();
    cli.env = { ...cli.env, EXITWARD_ACME_NAMES: 'other.example' };
    await cli.serve();
    await status(/^other\.example\tacme\t/m);
    const to = { host: '127.0.0.1', port: authority.tls_port, servername: 'other.example' };
    const socket = connect({ ...to, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    expect(socket.getPeerCertificate().subjectaltname).toBe('DNS:other.example');
    socket.destroy();
  },
);

test('an address with https, which the listener on loopback does not speak, is reported', async () => {
  const url = String(cli.env.EXITWARD_ADMIN_URL).replace('http:', 'https:');
  cli.env = { ...cli.env, EXITWARD_ADMIN_URL: url };
  const { code, stderr } = await cli.run('status');
  expect(code).toBe(1);
  expect(stderr).toContain(`The server at ${url} (by EXITWARD_ADMIN_URL) speaks plain http there`);
});
