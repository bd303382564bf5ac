// The machine's name servers change under the embedded engine's resolver: a process in a mount
// namespace whose resolv.conf is the test's.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { nameServerIp, startNameServer } from './proxy_world.ts';

/** Resolves a name for each line that it reads. */
const script = `
  const [clock, resolver] = await Promise.all(
    ['clock', 'resolver'].map((file) => import(\`${new URL('../src', import.meta.url)}/\${file}.ts\`)),
  );
  const names = new resolver.Resolver([], clock.systemClock);
  process.stdin.on('data', async () => {
    names.followMachine();
    console.log(JSON.stringify(await names.resolve('www.example', 4)));
  });
`;

test('the resolver asks the name servers that DHCP has just set, and forgets what others said', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-names-'));
  const conf = join(dir, 'resolv.conf');
  const options = { ip: nameServerIp, port: 0, ttl_seconds: 60 };
  const first = await startNameServer(new Map([['www.example', () => ['192.0.2.1']]]), options);
  const other = await startNameServer(new Map([['www.example', () => ['192.0.2.2']]]), options);
  const listOnly = (address: string) => {
    writeFileSync(conf, `nameserver ${address.replace(/^(.*):/, '[$1]:')}\n`);
  };
  // The state before the network is up.
  writeFileSync(conf, '');
  const mount = `mount --bind ${conf} /etc/resolv.conf && exec "$@"`;
  const node = [process.execPath, '--input-type=module', '-e', script];
  const child = spawn('unshare', ['--mount', 'sh', '-c', mount, 'sh', ...node], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const resolve = async () => {
    child.stdin.write('\n');
    return (await lines.next()).value;
  };
  try {
    expect(await resolve()).toBe('"no_name_server"');
    listOnly(first.address);
    expect(await resolve()).toBe('["192.0.2.1"]');
    listOnly(other.address);
    expect(await resolve()).toBe('["192.0.2.2"]');
  } finally {
    child.kill();
    first.stop();
    other.stop();
    rmSync(dir, { recursive: true, force: true });
  }
});
