// The files that a future node takes from the server: the script, its checksum in the line, the
// packages.
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { nodeUrlObstacle } from '../src/install/install.ts';
import { eachApp } from './apps.ts';

const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');

eachApp((t) => {
  let folder: string;
  beforeAll(async () => {
    await t.server('fra1');
    folder = t.running.ctx.config.packages_dir;
  });
  beforeEach(() => rmSync(folder, { recursive: true, force: true }));

  const put = (name: string, content: string) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, name), content);
  };
  const invite = async () => {
    const { status, body } = await t.operator.post('/invites', { server: 'fra1' });
    expect(status).toBe(201);
    return body as { code: string; line: string; architectures: string[] };
  };
  const script = async () => (await fetch(`${t.base_url}/node/install.sh`)).text();
  /** The status of a path that is sent as it stands. */
  const statusOf = (path: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const { hostname, port } = new URL(t.base_url);
      request({ hostname, port, path }, (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end();
    });

  test('the line has the checksum of the script that is served, the code, and where nodes connect', async () => {
    for (const content of [undefined, 'one', 'another']) {
      if (content) put('exitward-agent_0.1.0_amd64.deb', content);
      const { code, line } = await invite();
      const name = 'exitward-install.sh';
      expect(line).toBe(
        `curl -fsSLo ${name} ${t.base_url}/node/install.sh && echo '${sha256(await script())}  ${name}' | sha256sum -c --quiet && echo ${code} | sh ${name} ${t.base_url}`,
      );
    }
  });

  test('the status says why the line fails on another machine, until the settings and a package are there', async () => {
    const obstacles = async () => (await t.operator.get('/status')).body.joining.obstacles;
    expect(await obstacles()).toEqual([
      {
        message: `Nodes connect to ${t.base_url}, which no other machine can reach.`,
        remedy: 'stop "exitward serve", then: EXITWARD_PUBLIC_URL=https://NAME exitward serve',
      },
      {
        message: 'The server has no package of the agent for new machines.',
        remedy: expect.stringContaining('_….deb into the folder packages of'),
      },
    ]);
    put('exitward-agent_0.9.0_amd64.deb', 'any');
    expect(await obstacles()).toHaveLength(1);
    const urls = { public_url: 'https://exitward.example', node_url: 'https://[::1]:8443' };
    expect(nodeUrlObstacle(urls)?.remedy).toContain(' EXITWARD_NODE_URL=');
    expect(nodeUrlObstacle({ ...urls, node_url: urls.public_url })).toBeUndefined();
  });

  test('the script names the newest package of each architecture with its checksum, and holds no code', async () => {
    put('exitward-agent_0.9.0_amd64.deb', 'older');
    put('exitward-agent_0.10.0_amd64.deb', 'newer');
    put('exitward-agent_0.9.0_arm64.deb', 'other');
    put('exitward_0.10.0_amd64.deb', 'the server');
    put("exitward-agent_1.0.0';id;'_amd64.deb", 'a name for a shell');
    const { code, architectures } = await invite();
    expect(architectures).toEqual(['amd64', 'arm64']);
    const text = await script();
    expect(text).toContain(
      `packages='amd64 exitward-agent_0.10.0_amd64.deb ${sha256('newer')}\narm64 exitward-agent_0.9.0_arm64.deb ${sha256('other')}'`,
    );
    expect(text).not.toContain(code);
    expect(text).not.toContain(';id;');
  });

  test('a package is sent byte for byte, and is another when its file is', async () => {
    const file = 'exitward-agent_0.1.0_amd64.deb';
    put(file, 'x'.repeat(200_000));
    const get = async () => (await fetch(`${t.base_url}/node/packages/${file}`)).text();
    expect(sha256(await get())).toBe(sha256('x'.repeat(200_000)));
    put('next', 'y');
    renameSync(join(folder, 'next'), join(folder, file));
    expect(await get()).toBe('y');
    expect(await script()).toContain(sha256('y'));
  });

  test('nothing else of the disk is sent: no other file, no link, no path that leads out', async () => {
    put('exitward-agent_0.1.0_amd64.deb', 'good');
    put('secret', 'secret');
    symlinkSync(t.running.ctx.config.keys_file, join(folder, 'exitward-agent_0.2.0_amd64.deb'));
    for (const path of [
      'secret',
      'exitward-agent_0.2.0_amd64.deb',
      '..%2fkeys.json',
      '%2e%2e%2fkeys.json',
      'exitward-agent_0.1.0_amd64.deb%00',
      '..%2fpackages%2fexitward-agent_0.1.0_amd64.deb',
      '',
    ]) {
      expect([path, await statusOf(`/node/packages/${path}`)]).toEqual([
        path,
        expect.toBeOneOf([400, 404]),
      ]);
    }
    expect(await statusOf('/node/packages/exitward-agent_0.1.0_amd64.deb')).toBe(200);
  });

  test('a network has four downloads at once, which give their places back', async () => {
    const file = 'exitward-agent_0.1.0_amd64.deb';
    put(file, 'x'.repeat(20_000_000));
    const { hostname, port } = new URL(t.base_url);
    const begin = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const path = `/node/packages/${file}`;
        request({ hostname, port, path, agent: false }, resolve).on('error', reject).end();
      });
    const unread = await Promise.all([begin(), begin(), begin(), begin()]);
    expect(unread.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
    const further = await begin();
    expect([further.statusCode, further.headers['retry-after']]).toEqual([503, '10']);
    further.resume();
    for (const response of unread) response.destroy();
    const status = async () => {
      const response = await begin();
      response.destroy();
      return response.statusCode;
    };
    await expect.poll(status).toBe(200);
  });

  test('nothing is sent that other users of the machine can write, or replace', async () => {
    const file = 'exitward-agent_0.1.0_amd64.deb';
    put(file, 'good');
    const finding = async () => {
      const { body } = await t.operator.get('/doctor');
      return body.findings.find(({ name }: { name: string }) => name === 'node_packages');
    };
    for (const [path, open, right] of [
      [join(folder, file), 0o646, 0o644],
      [folder, 0o757, 0o755],
      [join(folder, '..'), 0o757, 0o700],
    ] as const) {
      chmodSync(path, open);
      expect([path, await statusOf(`/node/packages/${file}`)]).toEqual([path, 404]);
      expect((await invite()).architectures).toEqual([]);
      if (path === folder) expect(await finding()).toMatchObject({ state: 'fault' });
      chmodSync(path, right);
      expect((await invite()).architectures).toEqual(['amd64']);
    }
  });
});

test('nodes connect where people do, at a listener of their own, or where it is said', () => {
  const of = (env: Record<string, string>) => readConfig(env).node_url;
  expect(of({})).toBe('http://127.0.0.1:8080');
  expect(of({ EXITWARD_PUBLIC_URL: 'https://a.example' })).toBe('https://a.example');
  const own = { EXITWARD_PUBLIC_URL: 'https://a.example', EXITWARD_NODE_LISTEN: '127.0.0.1:9' };
  expect(of(own)).toBe('http://127.0.0.1:9');
  expect(of({ ...own, EXITWARD_NODE_URL: 'https://n.example' })).toBe('https://n.example');
  expect(() => of({ EXITWARD_NODE_URL: 'http://n.example' })).toThrow(
    /^EXITWARD_NODE_URL: .* https/,
  );
});
