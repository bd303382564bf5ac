// docs/install.md, followed to the letter on two booted Debians: each of its blocks is run as it stands, in the order of the
// page; then reboots, upgrades, a downgrade, and a purge. The machines are containers: they share the kernel of this one.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildPackages } from '../../packaging/deb.ts';
import { findNode } from '../../packaging/node.ts';
import { layPrograms } from '../../packaging/programs.ts';
import { until } from '../../server/test/waiting.ts';
import { addresses, Internet } from './internet.ts';
import { Machine, makeDebian } from './machine.ts';

const architecture = execFileSync('dpkg', ['--print-architecture'], { encoding: 'utf8' }).trim();
const folder = mkdtempSync(join(tmpdir(), 'exitward-booted-'));
let internet: Internet;
let control: Machine;
let node: Machine;
let client: Machine;
let packages: string[];

interface Block {
  section: string;
  text: string;
  isRun: boolean;
}

/** The page's blocks of commands. Its addresses are reserved for documents: a reader puts others in their places. */
const blocks: Block[] = readFileSync(join(import.meta.dirname, '../../docs/install.md'), 'utf8')
  .replaceAll('198.51.100.1', addresses.node)
  .replaceAll('203.0.113.7', addresses.client)
  .replaceAll('_amd64.deb', `_${architecture}.deb`)
  .split(/^## /m)
  .flatMap((section) =>
    [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, text = '']) => ({
      section: section.slice(0, section.indexOf('\n')),
      text,
      isRun: false,
    })),
  );

/** The next block of a section. */
function next(section: string): string {
  const block = blocks.find((one) => one.section === section && !one.isRun);
  if (!block)
    throw new Error(`docs/install.md has no further block in ${JSON.stringify(section)}.`);
  block.isRun = true;
  return block.text;
}

/** Runs it, and returns what it printed. */
const follow = (section: string, machine: Machine, input = '') => machine.run(next(section), input);

/** The same package as a later version of it. */
function newer(file: string, version: string): string {
  const tree = join(folder, `${basename(file)}-tree`);
  execFileSync('dpkg-deb', ['--raw-extract', file, tree]);
  execFileSync('sed', ['-i', `s/^Version: .*/Version: ${version}/`, join(tree, 'DEBIAN/control')]);
  const out = file.replace(/_[^_]+_/, `_${version}_`);
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zzstd', '-z1', '--build', tree, out], {
    stdio: 'pipe',
  });
  rmSync(tree, { recursive: true });
  return out;
}

const proxied = () =>
  client.run(`curl -sf -m 10 -x ${addresses.node}:10001 https://www.example.com/`);

beforeAll(async () => {
  const over = join(folder, 'over');
  mkdirSync(over);
  execFileSync('mount', ['-t', 'tmpfs', 'machines', over]);
  const debian = join(over, 'debian');
  makeDebian(debian);
  internet = await Internet.start(join(folder, 'internet'));
  const programs = await layPrograms(join(folder, 'programs'));
  const binary = await findNode(architecture, folder);
  const out = join(folder, 'packages');
  packages = buildPackages({ programs, node: binary, architecture, epoch: 1_795_000_000, out });
  const machine = (name: 'control' | 'node' | 'client') =>
    new Machine(name, debian, over, internet);
  [control, node, client] = [machine('control'), machine('node'), machine('client')];
  await Promise.all([control, node, client].map((one) => one.booted()));
  control.bring(packages[0] as string);
  node.bring(packages[1] as string);
}, 600_000);

afterAll(async () => {
  await Promise.all([control, node, client].map((one) => one?.stop()));
  internet?.stop();
  execFileSync('umount', ['--lazy', join(folder, 'over')]);
  rmSync(folder, { recursive: true, force: true });
});

// In the order of a life: each test goes on where the one before it ended.

test('control: installed, nothing runs; configured and enabled, it serves at its name by TLS', async () => {
  await follow('Control: the server', control);
  await expect(control.run('systemctl is-enabled exitward')).rejects.toThrow(/disabled/);
  await expect(control.run('systemctl is-active exitward')).rejects.toThrow(/inactive/);
  await follow('Control: the server', control);
  expect(await follow('Control: the server', control)).toContain('"ok"');
}, 300_000);

test('the network is described by the command line, and the node joins it by the code', async () => {
  const told = await follow('Control: the network', control);
  const [code] = /ewi_[\w.-]+/.exec(told) ?? [];
  await follow('Node: the agent', node);
  await expect(node.run('systemctl is-active exitward-agent squid')).rejects.toThrow(
    /inactive\ninactive/,
  );
  const status = await follow('Node: the agent', node, code);
  expect(status).toMatch(/^state\tfollowing$/m);
  expect(status).toMatch(/^ports\t10001,10501,/m);
}, 300_000);

test('a listed client gets its page through the node, from the node’s exit; another one is told why not', async () => {
  await follow('A client: the first request', control);
  const page = await follow('A client: the first request', client);
  expect(page).toBe(`Example Domain, seen from ${addresses.node}\n`);
  await control.run('exitward authlist clear acme --yes');
  await until(async () => {
    const told = await client.run(
      `curl -s -x ${addresses.node}:10001 http://www.example.com/ || true`,
    );
    return /not on an IP authlist/.test(told);
  });
  await control.run(`exitward authlist add acme ${addresses.client} alice --expiry +1d`);
  await until(async () => (await proxied()).includes(addresses.node));
});

test('after a reboot of both, everything is as it was', async () => {
  await Promise.all([control.reboot(), node.reboot()]);
  await until(async () => (await proxied()).includes(addresses.node), 60);
  await until(async () => /^1\tfra1\tfra1-a\tyes\t/m.test(await control.run('exitward node list')));
}, 300_000);

test('a backup is made as the page says', async () => {
  await follow('Where things are', control);
  expect(await control.run('stat -c "%a %U" /var/backups/exitward/today.db')).toBe(
    '600 exitward\n',
  );
});

test('upgrades: the server migrates and serves on, the agent is replaced under a download, and both say their version', async () => {
  const [server, agent] = packages.map((file) => newer(file, '99.1.0')) as [string, string];
  control.bring(server);
  node.bring(agent);
  const slow = `https://www.example.com/slow`;
  const download = client.run(`curl -sf -m 60 -x ${addresses.node}:10001 ${slow} | wc -c`);
  await until(async () => /^connections\t[1-9]/m.test(await node.run('exitward-agent status')));
  const squid = await node.run('pgrep -o squid');
  await control.run(`apt-get install --yes ./${basename(server)}`);
  await node.run(`apt-get install --yes ./${basename(agent)}`);
  expect(await download).toBe('1000000\n');
  expect(await node.run('pgrep -o squid')).toBe(squid);
  expect(await control.run('dpkg --status exitward')).toContain('\nVersion: 99.1.0\n');
  await until(async () => /^state\tfollowing$/m.test(await node.run('exitward-agent status')));
  expect(await proxied()).toContain(addresses.node);
}, 300_000);

test('an older server is refused in place of a newer one, which goes on', async () => {
  const older = basename(packages[0] as string);
  const going = control.run(`apt-get install --yes --allow-downgrades ./${older}`);
  await expect(going).rejects.toThrow(/is older than 99\.1\.0, whose database it cannot read/);
  expect(await control.run('dpkg --status exitward')).toMatch(
    /ok installed\n(.*\n)*Version: 99\.1\.0\n/,
  );
  expect(await control.run('systemctl is-active exitward')).toBe('active\n');
});

test('with a certificate of its own the server needs no proxy in front', async () => {
  // As the page says: in place of the proxy and its three settings.
  const settings = '/etc/exitward/exitward.env';
  await control.run(`systemctl disable --now caddy
    sed -i '/^EXITWARD_\\(PUBLIC_URL\\|TLS_TERMINATED\\|TRUSTED_PROXIES\\)=/d' ${settings}
    systemctl stop exitward`);
  control.write('root/fullchain.pem', internet.site.certificate);
  control.write('root/privkey.pem', internet.site.key);
  await follow('Control: the server', control);
  await until(async () =>
    (await control.run('curl -s https://control.example.net/healthz')).includes('ok'),
  );
  await until(
    async () => /^1\tfra1\tfra1-a\tyes\t/m.test(await control.run('exitward node list')),
    60,
  );
}, 300_000);

test('removed and purged, the programs are gone and the data stays until it is removed, too', async () => {
  await control.run('apt-get remove --yes exitward');
  await control.run('test -e /etc/exitward/exitward.env; test ! -e /usr/bin/exitward');
  expect(await control.run('apt-get purge --yes exitward')).toContain('rm -r /var/lib/exitward');
  expect(await node.run('apt-get purge --yes exitward-agent')).toContain(
    'rm -r /var/lib/exitward-agent',
  );
  await expect(node.run('pgrep "squid|node"')).rejects.toThrow();
  // The certificate of the page is in a folder of the package's.
  await control.run('rm -r /etc/exitward/tls && rmdir /etc/exitward');
  for (const machine of [control, node]) {
    expect(await machine.run('find /etc /usr /var/cache -name "*exitward*"')).toBe('');
  }
  const [onControl = '', onNode = ''] = next('Upgrade, and remove').split('\n');
  await control.run(onControl);
  await node.run(onNode);
}, 300_000);

test('every block of the page was run', () => {
  const left = blocks.filter(({ isRun, section }) => !isRun && section !== 'The packages');
  expect(left).toEqual([]);
});
