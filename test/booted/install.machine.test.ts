// docs/install.md, followed to the letter on two booted Debians: each of its blocks is run as it
// stands, in the order of the page; then reboots, upgrades, a downgrade, and a purge. The machines
// are containers: they share the kernel of this one.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../server/test/waiting.ts';
import { architecture, packagesOfRun } from '../packages.ts';
import { addresses, Internet } from './internet.ts';
import { Machine, makeDebian } from './machine.ts';
import { serveVpn, takeProfile, vpnPackages } from './vpn.ts';

const folder = mkdtempSync(join(tmpdir(), 'exitward-booted-'));
let internet: Internet;
let control: Machine;
let node: Machine;
let client: Machine;
let second: Machine;
let packages: string[];

interface Block {
  section: string;
  text: string;
  isRun: boolean;
}

/**
 * The page's blocks of commands. Its addresses are reserved for documents: a reader puts others in
 * their places.
 */
const blocks: Block[] = readFileSync(join(import.meta.dirname, '../../docs/install.md'), 'utf8')
  .replaceAll('198.51.100.1', addresses.node)
  .replaceAll('203.0.113.7', addresses.client)
  .replaceAll('_amd64.deb', `_${architecture}.deb`)
  .split(/^##+ /m)
  .flatMap((section) =>
    [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, text = '']) => ({
      section: section.slice(0, section.indexOf('\n')),
      text,
      isRun: false,
    })),
  );

/** The next block of a section. */
function next(section: string): string {
  const block = blocks.find((block) => block.section === section && !block.isRun);
  if (!block)
    throw new Error(`docs/install.md has no further block in ${JSON.stringify(section)}.`);
  block.isRun = true;
  return block.text;
}

/** Runs it, and returns what it printed. */
const follow = (section: string, machine: Machine, input = '') => machine.run(next(section), input);

/** The same package as a later version of it. */
function newer(file: string, version: string): string {
  const parts = join(folder, `${basename(file)}-parts`);
  const control = join(parts, 'control');
  mkdirSync(parts);
  execFileSync('dpkg-deb', ['--control', file, control]);
  execFileSync('sed', ['-i', `s/^Version: .*/Version: ${version}/`, join(control, 'control')]);
  execFileSync('tar', ['-cf', 'control.tar', '-C', control, '.'], { cwd: parts });
  execFileSync('ar', ['x', file], { cwd: parts });
  const out = join(folder, basename(file).replace(/_[^_]+_/, `_${version}_`));
  execFileSync('ar', ['rcS', out, 'debian-binary', 'control.tar', 'data.tar.zst'], { cwd: parts });
  rmSync(parts, { recursive: true });
  return out;
}

const proxied = () =>
  client.run(`curl -sf -m 10 -x ${addresses.node}:10001 https://www.example.com/`);

beforeAll(async () => {
  const over = join(folder, 'over');
  mkdirSync(over);
  execFileSync('mount', ['-t', 'tmpfs', 'machines', over]);
  const debian = join(over, 'debian');
  internet = await Internet.start(join(folder, 'internet'));
  packages = await packagesOfRun(join(folder, 'packages'));
  makeDebian(debian, internet, [...packages, 'caddy', 'nginx', ...vpnPackages]);
  [control, node, client, second] = (['control', 'node', 'client', 'second'] as const).map(
    (name) => new Machine(name, debian, over, internet),
  ) as [Machine, Machine, Machine, Machine];
  await Promise.all([control, node, client, second].map((machine) => machine.booted()));
  for (const file of packages) control.bring(file);
  node.bring(packages[1] as string);
}, 1_500_000);

afterAll(async () => {
  await Promise.all([control, node, client, second].map((machine) => machine?.stop()));
  internet?.stop();
  execFileSync('umount', ['--lazy', join(folder, 'over')]);
  rmSync(folder, { recursive: true, force: true });
});

// In the order of a life: each test goes on where the one before it ended.

test('control: installed, nothing runs; configured and enabled, it serves at its name with a certificate by ACME', async () => {
  await follow('Control: the server', control);
  await expect(control.run('systemctl is-enabled exitward')).rejects.toThrow(/disabled/);
  await expect(control.run('systemctl is-active exitward')).rejects.toThrow(/inactive/);
  await follow('Control: the server', control);
  expect(await follow('Control: the server', control)).toMatch(/^version\t/);
  expect(await follow('Control: the server', control)).toContain('"ok"');
  expect(await control.run('exitward status')).toMatch(/^control\.example\.net\tacme\t/m);
  await follow('Keys and backups', control);
  await until(async () => /^last verified\t\d/m.test(await control.run('exitward status')));
}, 900_000);

test('the network is described by the command line, and the node joins it by the code', async () => {
  const output = await follow('Control: the network', control);
  const [code] = /ewi_[\w.-]+/.exec(output) ?? [];
  const status = await follow('Node: the agent', node, `${code}\n`);
  expect(status).toMatch(/^state\tfollowing$/m);
  expect(status).toMatch(/^ports\t10001,10501,/m);
  await expect(node.run('systemctl is-active squid')).rejects.toThrow(/inactive/);
  await node.run('exitward-agent doctor');
}, 900_000);

test('another machine is a node by the one line that node invite prints, with its checks before and after', async () => {
  await control.run(`exitward server add ams1 --hostname ams1.example.net --title Amsterdam --city Amsterdam \\
      --country NL --latitude 52.37 --longitude 4.89 --services proxy
    exitward exit add ams1 ${addresses.second} --port-base 2`);
  const invitation = await control.run('exitward node invite ams1');
  const [line = ''] = /^curl .*sha256sum -c.*$/m.exec(invitation) ?? [];
  await second.run(line);
  expect(await second.run('systemctl is-enabled exitward-agent')).toBe('enabled\n');
  expect(await second.run('exitward-agent status')).toMatch(/^state\tfollowing$/m);
  await second.run('exitward-agent doctor');
  await control.run('exitward doctor');
}, 900_000);

test('a listed client gets its page through the node, from the node’s exit; another one gets the reason', async () => {
  await follow('A client: the first request', control);
  const page = await follow('A client: the first request', client);
  expect(page).toBe(`Example Domain, seen from ${addresses.node}\n`);
  await control.run('exitward authlist clear acme --yes');
  await until(async () => {
    const output = await client.run(
      `curl -s -x ${addresses.node}:10001 http://www.example.com/ || true`,
    );
    return /not on an IP authlist/.test(output);
  });
  await control.run(`exitward authlist add acme ${addresses.client} alice --expiry +1d`);
  await until(async () => (await proxied()).includes(addresses.node));
});

test('after a reboot of both, everything is as it was', async () => {
  await Promise.all([control.reboot(), node.reboot()]);
  await until(async () => (await proxied()).includes(addresses.node), 60);
  await until(async () => /^1\tfra1\tfra1-a\tyes\t/m.test(await control.run('exitward node list')));
}, 900_000);

test('a VPN: the agent has what it needs of systemd, a client leaves by its exit, and what ends the password ends the tunnel', async () => {
  await control.run('exitward contract add acme ams1');
  await serveVpn(control, second, 'ams1', internet.site);
  await until(
    async () => /^vpn-ikev2\t.*\tok/m.test(await second.run('exitward-agent status')),
    60,
  );
  await second.run('exitward-agent doctor');
  const made = 'exitward user vpn-profile acme alice ams1 --format strongswan';
  await takeProfile(
    client,
    await control.run(made),
    readFileSync(join(internet.authorities, 'web.crt'), 'utf8'),
  );
  await client.run('swanctl --initiate --child exitward-ams1');
  const page = () => client.run('curl -sf -m 10 https://www.example.com/');
  expect(await page()).toBe(`Example Domain, seen from ${addresses.second}\n`);
  // The agent alone is replaced; then all of it stops.
  await second.run('systemctl kill -s SIGUSR2 --kill-whom=main exitward-agent');
  expect(await page()).toBe(`Example Domain, seen from ${addresses.second}\n`);
  await until(async () => /^state\tfollowing$/m.test(await second.run('exitward-agent status')));
  await control.run('exitward user raise-token-version acme alice --yes');
  await until(async () => (await client.run('swanctl --list-sas')) === '');
  expect(await page()).toBe(`Example Domain, seen from ${addresses.client}\n`);
  await client.run('systemctl disable --now strongswan');
}, 900_000);

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
}, 900_000);

test('an older server is refused in place of a newer one, which goes on', async () => {
  const older = basename(packages[0] as string);
  const going = control.run(`apt-get install --yes --allow-downgrades ./${older}`);
  await expect(going).rejects.toThrow(/is older than 99\.1\.0, whose database it cannot read/);
  expect(await control.run('dpkg --status exitward')).toMatch(
    /ok installed\n(.*\n)*Version: 99\.1\.0\n/,
  );
  expect(await control.run('systemctl is-active exitward')).toBe('active\n');
});

/** Takes back how the server is reached, as who follows another part of the page must. */
const unset = () =>
  control.run(`systemctl stop exitward
    sed -i '/^EXITWARD_\\(LISTEN\\|PUBLIC_URL\\|ACME\\|TLS_[A-Z]*\\|TRUSTED_PROXIES\\)=/d' /etc/exitward/exitward.env`);

/** The server answers at its name, and its nodes have found it again. */
async function serves(): Promise<void> {
  await until(async () =>
    (await control.run('curl -s https://control.example.net/healthz')).includes('ok'),
  );
  await until(
    async () => /^1\tfra1\tfra1-a\tyes\t/m.test(await control.run('exitward node list')),
    90,
  );
}

test('behind a proxy that terminates TLS, Caddy or nginx, it serves people and nodes', async () => {
  control.write('root/fullchain.pem', internet.site.certificate);
  control.write('root/privkey.pem', internet.site.key);
  await unset();
  await follow('A proxy in front', control);
  await follow('A proxy in front', control);
  await serves();
  await control.run('systemctl disable --now caddy');
  await follow('A proxy in front', control);
  await serves();
  await control.run('systemctl disable --now nginx');
}, 900_000);

test('with a certificate of its own the server needs no proxy in front', async () => {
  await unset();
  expect(await follow('A certificate of your own', control)).toMatch(/^version\t/);
  await serves();
}, 900_000);

test('removed and purged, the programs are gone and the data stays until it is removed, too', async () => {
  await control.run('apt-get remove --yes exitward');
  await control.run('test -e /etc/exitward/exitward.env; test ! -e /usr/bin/exitward');
  expect(await control.run('apt-get purge --yes exitward')).toContain('rm -r /var/lib/exitward');
  expect(await node.run('apt-get purge --yes exitward-agent')).toContain(
    'rm -r /var/lib/exitward-agent',
  );
  await expect(node.run('pgrep "squid|node"')).rejects.toThrow();
  // The page's own: a certificate in a folder of the package's, and the configuration of nginx.
  await control.run('rm -r /etc/exitward/tls /etc/nginx && rmdir /etc/exitward');
  for (const machine of [control, node]) {
    expect(await machine.run('find /etc /usr /var/cache -name "*exitward*"')).toBe('');
  }
  const [onControl = '', onNode = ''] = next('Upgrade, and remove').split('\n');
  await control.run(onControl);
  await node.run(onNode);
}, 900_000);

test('every block of the page was run', () => {
  const unread = blocks.filter(({ isRun, section }) => !isRun && section !== 'The packages');
  expect(unread).toEqual([]);
});
