// The Debian packages: built, installed by dpkg into a copy of this system, run from there, and
// purged.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../server/test/waiting.ts';
import { deepTest } from './deep_test.ts';
import { Machine } from './machine.ts';
import { packagesOfRun } from './packages.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'exitward-deb-'));
/** The packages installed there are not here. */
const system = join(folder, 'over/root');
let packages: string[];

let machine: Machine;
const inside: Machine['inside'] = (...given) => machine.inside(...given);
const start: Machine['start'] = (...given) => machine.start(...given);

beforeAll(async () => {
  packages = await packagesOfRun(folder);
  contents = packages.map(contentOf);
  machine = new Machine(join(folder, 'over'));
  for (const file of packages) machine.bring(file);
}, 300_000);

afterAll(() => {
  machine.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** Of each package, the server's first. */
let contents: Array<ReturnType<typeof contentOf>>;

const contentOf = (file: string) =>
  execFileSync('dpkg-deb', ['--contents', file], { encoding: 'utf8', maxBuffer: 2 ** 26 })
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [mode = '', owner = '', , day = '', time = '', path = ''] = line.split(/\s+/);
      return { mode, owner, time: `${day} ${time}`, path: path.slice(1) };
    });

test('everything in the packages is of root and of one time, and nothing is open to others', () => {
  for (const entries of contents) {
    expect(new Set(entries.map(({ owner }) => owner))).toEqual(new Set(['root/root']));
    expect(new Set(entries.map(({ time }) => time)).size).toBe(1);
    const modes = entries.map(({ mode, path }) => (path.endsWith('/') ? 'folder' : mode));
    expect(new Set(modes)).toEqual(new Set(['folder', '-rw-r--r--', '-rwxr-xr-x']));
    const programs = entries.filter(
      ({ mode, path }) => mode === '-rwxr-xr-x' && !path.endsWith('/'),
    );
    for (const { path } of programs)
      expect(path).toMatch(/^\/usr\/(bin\/[\w-]+|lib\/[\w-]+\/bin\/node)$/);
  }
});

test('the packages hold programs, licences and documents, and neither sources, types nor tests', () => {
  for (const [index, name, commands] of [
    [0, 'exitward', ['exitward.1', 'exw.1']],
    [1, 'exitward-agent', ['exitward-agent.8']],
  ] as const) {
    const paths = contents[index]?.map(({ path }) => path) ?? [];
    for (const document of [
      'copyright',
      'LICENSE',
      'NOTICE',
      'README.md.gz',
      'changelog.gz',
      'node.LICENSE.gz',
    ]) {
      expect(paths).toContain(`/usr/share/doc/${name}/${document}`);
    }
    const examples = paths.filter(
      (path) => path.includes('/examples/') && /\.(yml|json)$/.test(path),
    );
    expect(examples.length > 0).toBe(name === 'exitward');
    for (const page of commands) {
      expect(paths).toContain(`/usr/share/man/man${page.slice(-1)}/${page}.gz`);
      const command = page.slice(0, -2);
      expect(paths).toContain(`/usr/share/bash-completion/completions/${command}`);
      expect(paths).toContain(`/usr/share/zsh/vendor-completions/_${command}`);
      expect(paths).toContain(`/usr/share/fish/vendor_completions.d/${command}.fish`);
    }
    expect(
      paths.filter((path) =>
        /\.ts$|\.map$|^\/usr\/lib\/[^/]+\/(server|agent|client|kit)\/(src|test)\//.test(path),
      ),
    ).toEqual([]);
    expect(
      paths.filter((path) =>
        /\/node_modules\/(vitest|typescript|vite|playwright-core)\//.test(path),
      ),
    ).toEqual([]);
  }
});

test('systemd accepts the units, and finds the server exposed to 2.0 at most', async () => {
  const units = ['exitward/exitward.service', 'exitward-agent/exitward-agent.service'];
  const paths = units.map((unit) => join(import.meta.dirname, '../packaging', unit));
  const exposure = (path: string) =>
    run('systemd-analyze', ['security', '--offline=true', '--no-pager', path]).then(({ stdout }) =>
      Number(/Overall exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1]),
    );
  expect(await exposure(paths[0] as string)).toBeLessThanOrEqual(2.0);
  expect(await exposure(paths[1] as string)).toBeLessThanOrEqual(3.9);
});

// In the order of a life: each test goes on where the one before it ended.
describe('installed', () => {
  const settings = {
    EXITWARD_LISTEN: '127.0.0.1:18480',
    EXITWARD_ADMIN_LISTEN: '127.0.0.1:18481',
    EXITWARD_METRICS_LISTEN: 'off',
    EXITWARD_ADMIN_URL: 'http://127.0.0.1:18481',
  };

  test('nothing runs or is enabled by it, and the folders are their owners’ alone', async () => {
    const output = await inside('dpkg --install /srv/exitward*.deb');
    expect(output).toContain('systemctl enable --now exitward\n');
    const modes = await inside(
      "stat -c '%a %U:%G %n' /etc/exitward/* /var/lib/exitward /var/lib/exitward-agent",
    );
    expect(modes.trim().split('\n')).toEqual([
      '600 root:root /etc/exitward/agent.env',
      '640 root:exitward /etc/exitward/exitward.env',
      '700 exitward:exitward /var/lib/exitward',
      '700 root:root /var/lib/exitward-agent',
    ]);
    expect(await inside('find /etc/systemd/system -name "exitward*"')).toBe('');
    // systemd finds the programs that the units start.
    const units =
      '/usr/lib/systemd/system/exitward.service /usr/lib/systemd/system/exitward-agent.service';
    expect(
      await inside(`systemd-analyze verify --man=no ${units} 2>&1 | grep -i exitward || true`),
    ).toBe('');
    const { version } = JSON.parse(
      readFileSync(join(import.meta.dirname, '../server/package.json'), 'utf8'),
    );
    const said = await inside('exitward --version; exw --version; exitward-agent --version');
    expect(said).toBe(`${version}\n`.repeat(3));
  });

  describe('a user who may not read the settings', () => {
    const asOther = (command: string, env = {}) =>
      inside(`setpriv --reuid=65534 --regid=65534 --clear-groups ${command} 2>&1`, env).catch(
        ({ stdout }) => stdout as string,
      );

    test.each([
      ...[
        'serve',
        'doctor',
        'backup /tmp/x',
        'operator-token create me --local',
        'account list',
      ].map((words) => ['exitward', words, 'exitward.env']),
      ...['join http://127.0.0.1:9 x', 'run', 'status', 'doctor'].map((words) => [
        'exitward-agent',
        words,
        'agent.env',
      ]),
    ])('is refused, and learns how to run it: %s %s', async (program, words, file) => {
      expect(await asOther(`${program} ${words}`)).toMatch(
        new RegExp(
          `^${program}: This user may not read /etc/exitward/${file}, .* sudo ${program} .*\\n$`,
        ),
      );
    });

    deepTest('reads help and completion, and works elsewhere', async () => {
      for (const program of ['exitward', 'exitward-agent']) {
        for (const words of ['--version', 'help doctor', 'doctor --help', 'completion bash']) {
          expect(await asOther(`${program} ${words}`)).not.toContain('may not read');
        }
      }
      const elsewhere = { EXITWARD_ADMIN_URL: 'http://127.0.0.1:9', EXITWARD_ADMIN_TOKEN: 'ewo_x' };
      expect(await asOther('exitward account list', elsewhere)).toContain('No Exitward server');
      expect(await asOther('exitward doctor', elsewhere)).toContain('may not read');
      const own = { EXITWARD_DATA_DIR: '/tmp/own', EXITWARD_AGENT_STATE_DIR: '/tmp/own' };
      expect(await asOther('exitward doctor', own)).toContain('/tmp/own');
      expect(await asOther('exitward-agent status', own)).toContain('No agent runs on /tmp/own');
    });

    test('and is the server itself learns how to give it back', async () => {
      const settings = '/etc/exitward/exitward.env';
      const [, remedy] =
        /Run: (.*)/.exec(
          await inside(
            `chmod 600 ${settings}; chown root:root ${settings}; setpriv --reuid=exitward --regid=exitward --init-groups exitward serve 2>&1 || true`,
          ),
        ) ?? [];
      expect(await inside(`${remedy} && stat -c '%a %U:%G' ${settings}`)).toBe(
        '640 root:exitward\n',
      );
    });
  });

  test('the server serves as its own user, its command line finds it, and agents with the rights of their unit serve, one after another', async () => {
    const unit = readFileSync(
      join(system, 'usr/lib/systemd/system/exitward-agent.service'),
      'utf8',
    );
    const of = (name: string) => new RegExp(`^${name}=(.+)$`, 'm').exec(unit)?.[1] ?? '';
    const umask = `umask ${of('UMask')}`;
    const rights = of('CapabilityBoundingSet').toLowerCase().replaceAll('cap_', '+').split(' ');
    const server = start('exitward serve', settings);
    let exitCode: number | null;
    await until(
      () => server.output.text.includes('Exitward listens on'),
      60,
      () => server.output.text,
    );
    try {
      const page = await fetch('http://127.0.0.1:18480/');
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<script')]);
      expect((await fetch('http://127.0.0.1:18480/docs')).status).toBe(200);
      const owners = await inside(
        "stat -c '%a %U' /var/lib/exitward/keys.json /var/lib/exitward/exitward.db",
      );
      expect(owners).toBe('600 exitward\n600 exitward\n');
      // Root looks as the server's user does, and as that user may.
      const looked = await inside('exitward doctor', settings);
      expect(looked).toMatch(/^ok\tserver\tExitward \S+ runs\.\t$/m);
      expect(looked).toMatch(/^ok\tkeys\t.*; exitward and root may read it \(mode 0600\)\.\t$/m);
      expect(looked).toMatch(/^ok\tdisk_speed\t/m);
      // Root's own backup is made as the server's user, which can open it again.
      await inside(
        'install -d -o exitward -m 700 /var/backups/exitward && exitward backup /var/backups/exitward/one.db',
      );
      expect(await inside('stat -c %U /var/backups/exitward/one.db')).toBe('exitward\n');

      const place =
        '--hostname fra1.example.net --title Frankfurt --city Frankfurt --country DE --latitude 50 --longitude 8';
      await inside(
        `exitward server add fra1 ${place} --services proxy; exitward exit add fra1 127.0.0.1 --port-base 1`,
        settings,
      );
      const invited = await inside('exitward node invite fra1 --json', settings);
      const [code] = /ewi_[\w.-]+/.exec(invited) ?? [];
      await inside(`echo ${code} | exitward-agent join http://127.0.0.1:18480 - --name fra1-a`);
      // The next agent finds what Squid's user owns by then.
      for (const life of ['first', 'second']) {
        const agent = start(`setpriv --bounding-set=-all,${rights} exitward-agent run`, {}, umask);
        try {
          await until(
            async () => /^ports\t10001,/m.test(await inside('exitward-agent status')),
            60,
            () => `${life}: ${agent.output.text}`,
          );
          expect(await inside('exitward node list', settings)).toContain('fra1-a');
        } finally {
          exitCode = await agent.stop();
        }
        expect(exitCode).toBe(0);
      }
    } finally {
      exitCode = await server.stop();
    }
    expect(exitCode).toBe(0);
  });

  test('purged, they leave the data of the network and of the node, and nothing else', async () => {
    const output = await inside('dpkg --purge exitward exitward-agent');
    expect(output).toContain('rm -r /var/lib/exitward\n');
    expect(output).toContain('rm -r /var/lib/exitward-agent\n');
    expect(statSync(join(system, 'var/lib/exitward/keys.json')).isFile()).toBe(true);
    expect(statSync(join(system, 'var/lib/exitward-agent/node.json')).isFile()).toBe(true);
    const remaining = await inside('find /etc /usr /var/cache -name "*exitward*"');
    expect(remaining).toBe('');
  });
});
