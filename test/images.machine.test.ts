// The container images: made without a registry, and run by podman as docs/containers.md and
// compose.yaml say.
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { buildImages } from '../packaging/images.ts';
import { eachDatabase } from '../server/test/databases.ts';
import { until } from '../server/test/waiting.ts';
import { epoch, packagesOfRun } from './packages.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'exitward-images-'));
const { version } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../server/package.json'), 'utf8'),
);
const compose = parse(
  readFileSync(join(import.meta.dirname, '../packaging/compose.yaml'), 'utf8'),
) as { services: Record<string, Service> };

interface Service {
  image: string;
  environment: Record<string, string>;
  volumes: string[];
  read_only: boolean;
  cap_drop: string[];
  security_opt: string[];
}

/** As a new engine on this machine would be, without systemd. */
const engine = [
  ...['--root', join(folder, 'store'), '--runroot', join(folder, 'state')],
  ...['--runtime', 'runc', '--cgroup-manager', 'cgroupfs', '--events-backend', 'none'],
];
const podman = async (...args: string[]) =>
  (await run('podman', [...engine, ...args])).stdout.trim();

/** The limits and rights of a container, as compose.yaml gives them. */
function confined({ read_only, cap_drop, security_opt }: Service): string[] {
  return [
    ...['--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=4096:4096', '--network', 'host'],
    `--read-only=${read_only}`,
    ...cap_drop.flatMap((capability) => ['--cap-drop', capability]),
    ...security_opt.flatMap((option) => ['--security-opt', option.replace(':true', '')]),
  ];
}

const service = compose.services.exitward as Service;
const nameOf = (image: string) => `localhost/${image}:${version}`;

/** Starts a container, and returns its name. */
async function start(
  image: string,
  volume: string,
  environment: Record<string, string>,
  ...args: string[]
): Promise<string> {
  const variables = Object.entries(environment).flatMap(([key, value]) => [
    '--env',
    `${key}=${value}`,
  ]);
  const mounted = ['--volume', volume, ...variables, nameOf(image), ...args];
  return (await podman('run', '--detach', ...confined(service), ...mounted)).slice(-64);
}

/** Waits until the health check passes. */
const healthy = (container: string) =>
  until(async () => (await podman('healthcheck', 'run', container)) === '', 60);

beforeAll(async () => {
  const packages = await packagesOfRun(folder);
  const out = join(folder, 'out');
  const scratch = join(folder, 'scratch');
  execFileSync('mkdir', [scratch]);
  for (const archive of await buildImages({ packages, suite: 'bookworm', epoch, scratch, out })) {
    await podman('load', '--quiet', '--input', archive);
    rmSync(archive);
  }
}, 1_500_000);

afterAll(async () => {
  await podman('rm', '--force', '--all', '--time', '0');
  await podman('rmi', '--force', '--all');
  rmSync(folder, { recursive: true, force: true });
});

test('an image has its version, one user by number, its volume and a health check', async () => {
  expect(service.image.replace('${EXITWARD_VERSION:-', '').replace('}', '')).toBe(
    `exitward:${version}`,
  );
  for (const image of ['exitward', 'exitward-agent']) {
    const [inspected] = JSON.parse(await podman('image', 'inspect', nameOf(image)));
    expect(inspected).toMatchObject({
      Config: {
        User: '10001:10001',
        Volumes: { [`/var/lib/${image}`]: {} },
        Labels: { 'org.opencontainers.image.version': version },
      },
      Healthcheck: { Test: ['CMD', image, 'status'] },
    });
    expect(inspected.RootFS.Layers.length).toBe(1);
    const output = await podman('run', '--rm', ...confined(service), nameOf(image), '--version');
    expect(output).toBe(version);
  }
});

eachDatabase((database) => {
  describe('the control plane and a node', () => {
    let settings: Record<string, string>;
    let server: string;
    const volumes = {
      server: `server-${database.name.toLowerCase()}:/var/lib/exitward`,
      agent: `agent-${database.name.toLowerCase()}:/var/lib/exitward-agent`,
    };
    const exitward = (...args: string[]) => podman('exec', server, 'exitward', ...args);
    let url: string;

    beforeAll(async () => {
      const port = database.name === 'SQLite' ? 18_490 : 18_492;
      url = `http://127.0.0.1:${port}`;
      settings = {
        ...service.environment,
        EXITWARD_DATABASE_URL: database.name === 'SQLite' ? '' : await database.url(),
        EXITWARD_PUBLIC_URL: 'https://control.example.net',
        EXITWARD_LISTEN: `127.0.0.1:${port}`,
        EXITWARD_ADMIN_LISTEN: `127.0.0.1:${port + 1}`,
        EXITWARD_ADMIN_URL: `http://127.0.0.1:${port + 1}`,
        EXITWARD_METRICS_LISTEN: 'off',
      };
      expect(service.volumes).toEqual(['data:/var/lib/exitward']);
      server = await start('exitward', volumes.server, settings);
      await healthy(server);
    });

    test('it runs without root and without any capability, and writes to its volume alone', async () => {
      const inside = (command: string) => podman('exec', server, 'sh', '-c', command);
      expect(await inside('id -u')).toBe('10001');
      expect(await inside("sed -n 's/^Cap[A-Za-z]*:\\t//p' /proc/1/status")).toMatch(
        /^(0{16}\n?){5}$/,
      );
      expect(await inside("sed -n 's/^NoNewPrivs:\\t//p' /proc/1/status")).toBe('1');
      const writes = await inside(
        'for d in / /etc /usr/lib/exitward /var/lib /var/lib/exitward; do touch $d/x 2> /dev/null && echo $d; done; rm -f /var/lib/exitward/x',
      );
      expect(writes).toBe('/var/lib/exitward');
      expect(await inside("stat -c '%a %u' /var/lib/exitward/keys.json")).toBe('600 10001');
      expect(await inside('ls -A /var/lib/exitward')).not.toContain('cache');
    });

    test('a new container on the same volume goes on where the one before was stopped', async () => {
      await exitward(
        'account',
        'create',
        'acme',
        '--plan',
        'Business',
        '--limit',
        '1TB',
        '--expiry',
        '+1y',
      );
      const before = await exitward('account', 'list', '--json');
      await podman('stop', server);
      const [{ State }] = JSON.parse(await podman('inspect', server));
      expect(State.ExitCode).toBe(0);
      // It does its work no more, and the check says so.
      await expect(podman('healthcheck', 'run', server)).rejects.toThrow();
      await podman('rm', server);
      server = await start('exitward', volumes.server, settings);
      await healthy(server);
      expect(await exitward('account', 'list', '--json')).toBe(before);
    });

    test('a node joins by its container, is healthy, and serves from its exit', async () => {
      const place =
        '--hostname fra1.example.net --title Frankfurt --city Frankfurt --country DE --latitude 50 --longitude 8';
      await exitward('server', 'add', 'fra1', ...place.split(' '), '--services', 'proxy');
      const exit = database.name === 'SQLite' ? '127.64.3.1' : '127.64.3.2';
      await exitward('exit', 'add', 'fra1', exit, '--port-base', '471');
      await exitward('contract', 'add', 'acme', 'fra1');
      await exitward('user', 'add', 'acme', 'alice', '--flags', 'proxy');
      await exitward('authlist', 'add', 'acme', '127.64.3.9', 'alice', '--expiry', '+1d');
      const invited = await exitward('node', 'invite', 'fra1', '--json');
      const [code] = /ewi_[\w.-]+/.exec(invited) ?? [];

      const early = await run('podman', [
        ...engine,
        'run',
        '--rm',
        ...confined(service),
        nameOf('exitward-agent'),
      ]).catch(({ code: status, stderr }) => ({ status, stderr }));
      expect(early).toMatchObject({
        status: 1,
        stderr: expect.stringMatching(/has not joined a network/),
      });
      const join = ['join', url, '-', '--name', 'fra1-a'];
      const joining = spawn('podman', [
        ...engine,
        ...['run', '--rm', '--interactive', ...confined(service), '--volume', volumes.agent],
        ...[nameOf('exitward-agent'), ...join],
      ]);
      joining.stdin.end(`${code}\n`);
      expect(await new Promise((done) => joining.once('exit', done))).toBe(0);

      const origin = createServer((request, response) => {
        response.end(`${request.socket.remoteAddress}`);
      });
      await new Promise<void>((done) => origin.listen(0, '127.64.3.8', done));
      const agent = await start('exitward-agent', volumes.agent, {
        EXITWARD_AGENT_ALLOW_DESTINATIONS: '127.0.0.0/8',
        EXITWARD_AGENT_METRICS_LISTEN: 'off',
      });
      try {
        await healthy(agent);
        const { port } = origin.address() as AddressInfo;
        const through = ['--interface', '127.64.3.9', '--proxy', `${exit}:10471`];
        await until(async () => {
          const page = await run('curl', ['-sf', ...through, `http://127.64.3.8:${port}/`]);
          return page.stdout === exit;
        });
        await until(async () => (await exitward('node', 'list')).includes('\tfra1-a\tyes\t'));
        expect(
          await podman('exec', agent, 'sh', '-c', 'id -u; touch /x 2> /dev/null || echo no'),
        ).toBe('10001\nno');
      } finally {
        await podman('stop', agent);
        origin.close();
      }
      const [{ State }] = JSON.parse(await podman('inspect', agent));
      expect(State.ExitCode).toBe(0);
    });
  });
});
