// A node in one line: the line that an invitation prints, pasted on a machine as it stands. systemd
// does not run there, so `systemctl` is a stand-in that records how it was called and starts the
// agent; all the rest is real.
import { execFile, execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCertificate, startNameServer } from '../agent/test/proxy_world.ts';
import { CommandLine } from '../server/test/cli_process.ts';
import { until } from '../server/test/waiting.ts';
import { bare, Machine } from './machine.ts';
import { architecture, packagesOfRun } from './packages.ts';

const folder = mkdtempSync(join(tmpdir(), 'exitward-line-'));
const packagesDir = join(folder, 'packages');
/** The control plane's certificate is of an authority that nobody knows. */
const pair = createCertificate('127.0.0.1');
const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
writeFileSync(cert, pair.cert);
writeFileSync(key, pair.key, { mode: 0o600 });
const cli = new CommandLine({
  EXITWARD_PACKAGES_DIR: packagesDir,
  EXITWARD_TLS_CERT: cert,
  EXITWARD_TLS_KEY: key,
  NODE_EXTRA_CA_CERTS: cert,
});
let machine: Machine;
let names: Awaited<ReturnType<typeof startNameServer>>;
/** The package of the agent. */
let built: string;

/**
 * Of the agent, wherever it is started: other programs of this machine may have the usual ports.
 */
const own = {
  EXITWARD_AGENT_PORT_SHIFT: '15000',
  EXITWARD_AGENT_ALLOW_DESTINATIONS: '127.0.0.0/8',
  CURL_CA_BUNDLE: '/srv/cert.pem',
};

const standIn = `#!/bin/sh
echo "$*" >> /tmp/systemctl.log
case "$*" in
  "enable --now exitward-agent")
    setsid exitward-agent run > /tmp/agent.log 2>&1 < /dev/null &
    echo $! > /tmp/agent.pid ;;
  *is-active*) exit 3 ;;
esac
`;

beforeAll(async () => {
  const made = await packagesOfRun(folder);
  built = made.find((file) => basename(file).startsWith('exitward-agent_')) as string;
  machine = new Machine(join(folder, 'over'));
  machine.bring(cert);
  machine.bring(built);
  const at = (path: string) => join(machine.root, path);
  rmSync(at('usr/bin/systemctl'), { force: true });
  writeFileSync(at('usr/bin/systemctl'), standIn, { mode: 0o755 });
  // All that the package needs is installed here: apt has to ask nobody.
  rmSync(at('etc/apt/sources.list.d'), { recursive: true, force: true });
  writeFileSync(at('etc/apt/sources.list'), '');
  names = await startNameServer(new Map(), { ip: '127.0.0.153', port: 53 });
  rmSync(at('etc/resolv.conf'), { force: true });
  writeFileSync(at('etc/resolv.conf'), 'nameserver 127.0.0.153\n');
  await cli.serve();
  const place = ['--hostname', 'fra1.example.net', '--title', 'Frankfurt', '--city', 'Frankfurt'];
  const where = ['--country', 'DE', '--latitude', '50', '--longitude', '8', '--services', 'proxy'];
  expect((await cli.run('server', 'add', 'fra1', ...place, ...where)).code).toBe(0);
  expect((await cli.run('exit', 'add', 'fra1', '127.0.0.2', '--port-base', '1')).code).toBe(0);
}, 300_000);

afterAll(async () => {
  await machine?.inside('[ ! -e /tmp/agent.pid ] || kill "$(cat /tmp/agent.pid)"').catch(() => {});
  const isGone = () =>
    machine.inside('exitward-agent status').then(
      () => false,
      () => true,
    );
  if (machine) await until(isGone, 30, () => 'the agent does not end');
  machine?.remove();
  names?.stop();
  await cli.clean();
  rmSync(folder, { recursive: true, force: true });
});

/** Has a machine invited, and returns what was printed. */
async function invite() {
  const { code, stdout } = await cli.run('node', 'invite', 'fra1', '--json');
  expect(code).toBe(0);
  return JSON.parse(stdout) as { code: string; line: string; architectures: string[] };
}

/** Pastes a line, as root's shell reads it; resolves with how it ended and its output. */
function paste(
  line: string,
  env: Record<string, string> = {},
  first = '',
): Promise<[number, string]> {
  return new Promise((resolve) => {
    const script = `exec 2>&1; cd /tmp; ${first}${line}`;
    const options = {
      env: { ...bare, ...own, ...env },
      maxBuffer: 2 ** 24,
    };
    execFile('chroot', [machine.root, 'sh', '-c', script], options, (error, stdout) =>
      resolve([error ? Number(error.code) : 0, stdout]),
    );
  });
}

const isInstalled = () =>
  machine.inside('dpkg --status exitward-agent').then(
    (output) => output.includes('Status: install ok installed'),
    () => false,
  );

test('the script is such that a shell, and shellcheck, find nothing wrong with it', async () => {
  const script = join(folder, 'install.sh');
  const url = `${cli.base_url}/node/install.sh`;
  execFileSync('curl', ['-fsS', '--cacert', cert, '-o', script, url]);
  for (const file of [script, join(import.meta.dirname, '../server/install/install.sh')]) {
    execFileSync('sh', ['-n', file]);
    execFileSync('shellcheck', ['--shell=sh', file], { encoding: 'utf8' });
  }
});

test('a machine that it cannot make a node gets the reason, and is left as it was', async () => {
  const { line } = await invite();
  const refused = async (
    why: RegExp,
    env?: Record<string, string>,
    first?: string,
    pasted = line,
  ) => {
    const [code, output] = await paste(pasted, env, first);
    expect([code === 0, output]).toEqual([false, expect.stringMatching(why)]);
    expect(await isInstalled()).toBe(false);
  };
  rmSync(join(machine.root, 'run/systemd/system'), { recursive: true, force: true });
  await refused(/systemd does not run here/);
  mkdirSync(join(machine.root, 'run/systemd/system'), { recursive: true });

  const release = join(machine.root, 'etc/os-release');
  const before = readFileSync(release, 'utf8');
  rmSync(release);
  writeFileSync(release, 'ID=fedora\nVERSION_ID=42\n');
  await refused(/neither Debian nor Ubuntu/);
  writeFileSync(release, 'ID=debian\nVERSION_ID="11"\n');
  await refused(/debian 11, whose Squid is too old: expected 12 or newer/);
  writeFileSync(release, before);

  await refused(/self[- ]signed certificate/, {}, 'unset CURL_CA_BUNDLE; ');
  await refused(/no code of an invitation/, {}, '', line.replace(/echo ewi_\w+/, 'echo hello'));
  await refused(/no package of exitward-agent for/);
  rmSync(join(machine.root, 'usr/bin/sudo'), { force: true });
  chmodSync(join(machine.root, 'tmp'), 0o1777);
  rmSync(join(machine.root, 'tmp/exitward-install.sh'), { force: true });
  const asOther = `setpriv --reuid=65534 --clear-groups sh -c '${line.replaceAll("'", `'"'"'`)}'`;
  await refused(/this takes root, and there is no sudo here/, {}, '', asOther);
  rmSync(join(machine.root, 'tmp/exitward-install.sh'), { force: true });
});

test('a script, or a package, that is another than the line came with is not run', async () => {
  const { line } = await invite();
  mkdirSync(packagesDir);
  const file = join(packagesDir, basename(built));
  writeFileSync(file, 'another package');
  // The script names the package with its checksum, so it is another one now.
  const [code, output] = await paste(line);
  expect([code, output]).toEqual([1, expect.stringContaining('exitward-install.sh: FAILED')]);
  const next = await invite();
  expect(next.architectures).toEqual([architecture]);
  const fetching = next.line.split(' && ').slice(0, 2).join(' && ');
  expect(await paste(fetching)).toEqual([0, '']);
  cpSync(built, file);
  const [fetched, why] = await paste(next.line.split(' && ').at(-1) as string);
  expect([fetched, why]).toEqual([
    1,
    expect.stringContaining('is not the package that this script came with'),
  ]);
  expect(await isInstalled()).toBe(false);
});

test('an agent that is already installed trusts the certificate authority that the line names, as a new one does', async () => {
  const offered = join(packagesDir, basename(built));
  const authority = join(machine.root, 'etc/exitward/ca.pem');
  const settings = join(machine.root, 'etc/exitward/agent.env');
  const trusts = async (line: string, why: string) => {
    // It ends before it joins, so that the same machine can be looked at again.
    const [code, output] = await paste(line, { EXITWARD_AGENT_SQUID: '/nowhere/squid' });
    expect([code, output]).toEqual([1, expect.stringContaining('nothing was joined')]);
    expect(output).toContain(why);
    expect(output).toMatch(
      /^ok\tcontrol\tThe certificate of the control plane is for 127\.0\.0\.1/m,
    );
    expect(readFileSync(authority, 'utf8')).toBe(pair.cert);
    const named = readFileSync(settings, 'utf8').match(/^NODE_EXTRA_CA_CERTS=.*$/gm);
    expect(named).toEqual(['NODE_EXTRA_CA_CERTS=/etc/exitward/ca.pem']);
  };
  const purge = async () => {
    await machine.inside('dpkg --purge exitward-agent');
    rmSync(authority, { force: true });
  };
  const install = () => machine.inside(`dpkg --install /srv/${basename(built)}`);

  rmSync(offered);
  const { line: without } = await invite();
  await install();
  await trusts(without, 'has no package of it');
  await purge();

  cpSync(built, offered);
  const { line } = await invite();
  await install();
  await trusts(line, 'is already installed');
  // A different authority was set up before.
  writeFileSync(authority, createCertificate('127.0.0.1').cert);
  await trusts(line, 'is already installed');
  await purge();

  await trusts(line, `fetching ${basename(built)}`);
  await purge();
});

test('a fault of the machine stops it before it joins, and the same line goes on when that is fixed', async () => {
  const { line, code } = await invite();
  const open = async () => JSON.parse((await cli.run('node', 'invites', '--json')).stdout);
  const before = await open();
  const [faulty, output] = await paste(line, { EXITWARD_AGENT_SQUID: '/nowhere/squid' });
  expect([faulty, output]).toEqual([1, expect.stringContaining('There is no /nowhere/squid.')]);
  expect(output).toContain('nothing was joined');
  expect(await isInstalled()).toBe(true);
  expect(await open()).toEqual(before);

  const [done, all] = await paste(line);
  expect([done, all]).toEqual([0, expect.stringContaining('is already installed')]);
  expect(all).toMatch(/^This machine is node 1 of fra1 now/m);
  // Looked at twice: before it joined, and when it served.
  expect(all).toMatch(/^ok\tnode\tThis machine has not joined a network yet\./m);
  expect(all).toMatch(/^ok\tnode\tThis machine is node 1 of fra1; its agent \S+ follows/m);
  expect(all).toMatch(/^ok\tports\tThe agent holds all \d+ ports of its policy\./m);
  expect(all).not.toContain(code);
  const nodes = JSON.parse((await cli.run('node', 'list', '--json')).stdout);
  expect(nodes).toMatchObject([{ id: 1, server: 'fra1', live: true }]);
  const called = readFileSync(join(machine.root, 'tmp/systemctl.log'), 'utf8');
  expect(called.match(/^enable .*$/gm)).toEqual(['enable --now exitward-agent']);
});

test('a machine that is a node already stays what it is', async () => {
  const { line } = await invite();
  const [code, output] = await paste(line);
  expect([code, output]).toEqual([1, expect.stringContaining('has joined a network already')]);
});
