// The doctor of a server: GET /admin/doctor on both databases, and exitward doctor beside a server
// that runs, or does not.
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { type Finding, runChecks } from '../../kit/src/doctor/check.ts';
import { deepTest } from '../../test/deep_test.ts';
import type { BackupStatus } from '../src/backups/schedule.ts';
import { systemClock } from '../src/clock.ts';
import type { Config } from '../src/config.ts';
import { diskChecks } from '../src/doctor/disk.ts';
import { outsideChecks } from '../src/doctor/outside.ts';
import { runningChecks, type SeenNode } from '../src/doctor/running.ts';
import { backupStates, certificateRenewal } from '../src/doctor/upkeep.ts';
import { newKeys } from '../src/keys/keys_file.ts';
import { version } from '../src/values/version.ts';
import { newCertificate } from './certificate.ts';
import { CommandLine } from './cli_process.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';
import { runStatement } from './postgres.ts';

const named = (findings: Finding[], name: string) =>
  findings.filter((finding) => finding.name === name);

describe('what a server keeps up by itself', () => {
  const clock = { ...systemClock, now: () => 1_000_000 };
  const good = { file: 'a.db', at: 1_000_000 - 5 * 3600, bytes: 1, verified_at: 1_000_000 };
  const status: BackupStatus = {
    folder: '/var/backups/exitward',
    every_seconds: 86_400,
    keep: 14,
    verify: true,
    last: good,
    last_verified: good,
    fault: null,
    late: false,
  };
  const backups = (changes: Partial<BackupStatus>) => {
    const { state, sentence } = backupStates({ ...status, ...changes }, 'sqlite', clock);
    return [state, sentence];
  };

  test('backups: none are a warning, late ones a fault, and one that failed is reported with its reason', () => {
    expect(backups({})).toEqual([
      'ok',
      'The last good backup is 5 hours old; they are in /var/backups/exitward.',
    ]);
    const failed = { fault: 'The disk is full.' };
    expect(backups(failed)).toEqual([
      'warning',
      'The last good backup is 5 hours old: The disk is full.',
    ]);
    expect(backups({ ...failed, late: true })[0]).toBe('fault');
    // Backups that do not verify are none.
    const unverified = { last_verified: null, late: true };
    expect(backups(unverified)).toEqual(['fault', 'There is no good backup yet.']);
    expect(backups({ ...unverified, verify: false, late: false })[0]).toBe('ok');
    expect(backupStates(undefined, 'sqlite', clock)).toMatchObject({
      state: 'warning',
      remedy: expect.stringContaining('EXITWARD_BACKUP_DIR='),
    });
    expect(backupStates(undefined, 'postgres', clock).state).toBe('ok');
  });

  test('a certificate by ACME: a fault until there is one, a warning when the next does not come', () => {
    const state = (source: 'file' | 'acme' | 'self_signed', last_error: string | null) =>
      certificateRenewal({
        source,
        last_error,
        names: ['control.example.net'],
        not_after: 2_000_000,
        renewal_due: 1_000_000,
        last_error_code: null,
        rejection: null,
        next_try: null,
      });
    expect(certificateRenewal(null).state).toBe('ok');
    expect(state('file', 'It cannot be read.').state).toBe('ok');
    expect(state('acme', null).state).toBe('ok');
    expect(state('self_signed', null).state).toBe('warning');
    expect(state('acme', 'There is no such name.')).toMatchObject({
      state: 'warning',
      sentence: 'There is no such name.',
    });
    expect(state('self_signed', 'There is no such name.').state).toBe('fault');
  });
});

eachDatabase((database) => {
  describe('GET /admin/doctor', () => {
    let t: TestApp;
    beforeAll(async () => {
      const folder = mkdtempSync(join(tmpdir(), 'exitward-doctor-'));
      cleaners.push(() => rmSync(folder, { recursive: true, force: true }));
      const backed = database.name === 'SQLite' ? { EXITWARD_BACKUP_DIR: folder } : {};
      t = await startTestApp(await database.url(), backed);
      await t.server('fra1');
      putPackage(version);
      await t.running.ctx.backups?.look();
    });
    const cleaners: Array<() => void> = [];
    afterAll(async () => {
      await t.stop();
      for (const clean of cleaners) clean();
    });
    const putPackage = (of: string) => {
      const { packages_dir } = t.running.ctx.config;
      mkdirSync(packages_dir, { recursive: true });
      writeFileSync(join(packages_dir, `exitward-agent_${of}_amd64.deb`), '');
    };
    const runDoctor = async () => {
      const { status, body } = await t.operator.get('/doctor');
      expect([status, body.version]).toEqual([200, version]);
      return body.findings as Finding[];
    };

    test('finds no fault in a good server, describes its database, and changes nothing', async () => {
      const before = (await t.operator.get('/status')).body.database.revision;
      const findings = await runDoctor();
      expect(findings.filter(({ state }) => state !== 'ok')).toEqual([]);
      expect(
        named(findings, 'database')
          .map(({ sentence }) => sentence)
          .join(),
      ).toMatch(
        database.name === 'SQLite'
          ? /^SQLite has [\d.]+ [kM]?B and/
          : /is the primary, its lock excludes/,
      );
      expect((await t.operator.get('/status')).body.database.revision).toBe(before);
    });

    test('an exit IP from which nothing leaves is listed, and shown with the reason', async () => {
      expect(named(await runDoctor(), 'exits')).toMatchObject([{ state: 'ok' }]);
      for (const [at, ip] of ['127.0.0.9', 'FE80::9', '192.168.0.9'].entries()) {
        const added = await t.operator.put(`/servers/fra1/exits/${ip}`, { port_base: 90 + at });
        expect(added.status).toBe(201);
      }
      const { exit_ips } = (await t.operator.get('/servers/fra1')).body;
      const confined = exit_ips.map((exit: Record<string, string>) => [exit.ip, exit.confined]);
      expect(confined.slice(-3)).toEqual([
        ['127.0.0.9', expect.stringMatching(/^127.0.0.9 is a loopback address: .+\. Use .+\.$/)],
        ['fe80::9', expect.stringMatching(/^fe80::9 is a link-local address: /)],
        ['192.168.0.9', null],
      ]);
      expect(named(await runDoctor(), 'exits')).toMatchObject([
        {
          state: 'warning',
          sentence: expect.stringContaining('127.0.0.9 of fra1, fe80::9 of fra1.'),
          remedy: expect.stringContaining('exitward exit remove fra1 127.0.0.9'),
        },
      ]);
      for (const [ip] of confined.slice(-3)) await t.operator.delete(`/servers/fra1/exits/${ip}`);
    });

    test('keys that are lost or replaced while it runs are a fault before the next start', async () => {
      const { keys_file } = t.running.ctx.config;
      const away = `${keys_file}.away`;
      renameSync(keys_file, away);
      expect(named(await runDoctor(), 'keys_in_use')).toMatchObject([
        { state: 'fault', sentence: expect.stringContaining('is gone') },
      ]);
      writeFileSync(keys_file, JSON.stringify(newKeys()), { mode: 0o600 });
      expect(named(await runDoctor(), 'keys_in_use')).toMatchObject([
        { state: 'fault', sentence: expect.stringContaining('has other keys') },
      ]);
      renameSync(away, keys_file);
      expect(named(await runDoctor(), 'keys_in_use')).toMatchObject([{ state: 'ok' }]);
    });

    test('a package of another version than the server for new nodes, or none, is a warning', async () => {
      rmSync(t.running.ctx.config.packages_dir, { recursive: true });
      expect(named(await runDoctor(), 'node_packages')).toMatchObject([{ state: 'warning' }]);
      putPackage('0.0.1');
      expect(named(await runDoctor(), 'node_packages')).toMatchObject([{ state: 'warning' }]);
      putPackage(version);
      expect(named(await runDoctor(), 'node_packages')).toMatchObject([{ state: 'ok' }]);
    });

    test('a node of another version, and one that is away, are reported', async () => {
      await t.node('fra1', 'old');
      const findings = await runDoctor();
      expect(named(findings, 'node_versions')).toMatchObject([
        { state: 'warning', sentence: expect.stringContaining('behind this server') },
      ]);
      expect(named(findings, 'nodes')).toMatchObject([
        { state: 'warning', sentence: expect.stringContaining('fra1/old') },
      ]);
    });
  });
});

eachDatabase((database) => {
  test('old spellings of exits and hostnames are listed, each with the command that ends it', async () => {
    const t = await startTestApp(await database.url());
    const spellings = async () =>
      named((await t.operator.get('/doctor')).body.findings, 'spellings').map(
        ({ state, sentence, remedy }) => [state, sentence, remedy],
      );
    await t.server('fra1', { exit_ips: ['2001:db8::1', '198.51.100.10'] });
    await t.server('ams1', { exit_ips: ['198.51.100.11', '198.51.100.12', '198.51.100.13'] });
    expect(await spellings()).toEqual([['ok', expect.any(String), null]]);
    const { hostname } = (await t.operator.get('/servers/fra1')).body;
    await t.write(async (tx) => {
      const respell = 'update exit_ips set ip = $1 where ip = $2';
      await tx.run(respell, ['2001:DB8:0::1', '198.51.100.11']);
      await tx.run(respell, ['::ffff:198.51.100.99', '198.51.100.12']);
      await tx.run(respell, ['127.0.0.300', '198.51.100.13']);
      const name = String(hostname).toUpperCase();
      await tx.run("update servers set hostname = $1 where name = 'ams1'", [name]);
    });
    const upper = String(hostname).toUpperCase();
    expect(await spellings()).toEqual([
      [
        'warning',
        'Exit "2001:DB8:0::1" of ams1 is 2001:db8::1, which fra1 has in another spelling.',
        'exitward exit remove ams1 2001:DB8:0::1',
      ],
      [
        'warning',
        'Exit "::ffff:198.51.100.99" of ams1 is 198.51.100.99 in an old spelling.',
        'exitward exit remove ams1 ::ffff:198.51.100.99; then exitward exit add ams1 198.51.100.99, at its port base',
      ],
      [
        'warning',
        'Exit "127.0.0.300" of ams1 is no IP address: nodes cannot use it.',
        'exitward exit remove ams1 127.0.0.300',
      ],
      [
        'warning',
        `Hostname "${upper}" of ams1 is ${hostname}, which fra1 has in another spelling.`,
        'exitward server change ams1 --hostname HOSTNAME',
      ],
    ]);
    for (const ip of ['2001:DB8:0::1', '::ffff:198.51.100.99', '127.0.0.300']) {
      const path = `/servers/ams1/exits/${encodeURIComponent(ip)}`;
      expect((await t.operator.delete(path)).status).toBe(204);
    }
    expect(await spellings()).toHaveLength(1);
    await t.stop();
  });
});

describe('nodes', () => {
  const find = async (name: string, ...nodes: Array<Partial<SeenNode>>) => {
    const all = nodes.map((node, at) => ({
      ...{ name: `n${at}`, server: 'fra1', version, live: true, faults: [] },
      ...node,
    }));
    const check = runningChecks({} as never, {
      nodes: all,
      spellings: [],
      confined: [],
    }).find((check) => check.name === name);
    return [await check?.run()].flat().map((finding) => `${finding?.state}: ${finding?.sentence}`);
  };

  test('newer ones ask for an upgrade of the server first', async () => {
    expect(await find('node_versions', { version: '99.0.0' }, { version: '0.0.1' })).toEqual([
      expect.stringMatching(/^warning: .*newer .* fra1\/n0 \(99\.0\.0\)\.$/),
    ]);
  });

  test('when most find the clocks apart, the clock of the server is wrong; when one does, its own', async () => {
    const wrong = { faults: ['clock'] };
    expect(await find('node_clocks', wrong, wrong, {})).toEqual([expect.stringMatching(/^fault/)]);
    expect(await find('node_clocks', wrong, {}, {})).toEqual([expect.stringMatching(/^warning/)]);
    expect(await find('node_clocks', {}, {})).toEqual([expect.stringMatching(/^ok/)]);
  });
});

describe('exitward doctor', () => {
  let cli: CommandLine;
  beforeEach(() => {
    cli = new CommandLine();
  });
  afterEach(() => cli.clean());
  const doctor = async () => {
    const { code, stdout, stderr } = await cli.run('doctor', '--json');
    expect(stderr).toBe('');
    const { findings, state } = JSON.parse(stdout) as { findings: Finding[]; state: string };
    const states = (name: string) => named(findings, name).map((finding) => finding.state);
    return { code, state, findings, states };
  };

  test('before the first start there is no fault, and no file is made', async () => {
    cli.env = {
      ...cli.env,
      EXITWARD_ADMIN_URL: 'http://127.0.0.1:9',
      EXITWARD_ADMIN_TOKEN: 'ewo_x',
    };
    const { code, states, findings } = await doctor();
    expect(named(findings, 'server')[0]?.sentence).toContain(
      'http://127.0.0.1:9 (by EXITWARD_ADMIN_URL): the connection was refused',
    );
    expect([code, states('server'), states('keys'), states('database')]).toEqual([
      0,
      ['warning'],
      ['ok'],
      ['ok'],
    ]);
    expect(readdirSync(cli.data_dir)).toEqual([]);
  });

  deepTest('while a server runs it has the findings of both, and leaves no file', async () => {
    await cli.serve();
    const before = readdirSync(cli.data_dir).sort();
    const { code, findings } = await doctor();
    expect(code).toBe(0);
    const names = new Set(findings.map(({ name }) => name));
    for (const name of [
      'server',
      'database',
      'listeners',
      'nodes',
      'keys',
      'disk_speed',
      'clock',
    ]) {
      expect(names).toContain(name);
    }
    for (const { state, sentence, remedy } of findings) {
      expect(sentence).toMatch(/\.$/);
      expect(remedy === null).toBe(state === 'ok');
    }
    expect(readdirSync(cli.data_dir).sort()).toEqual(before);
    const { stdout } = await cli.run('doctor');
    expect(stdout).toContain(`ok\tserver\tExitward ${version} runs.\t\n`);
  });

  test('a data folder that was moved away under the server is reported, with the way back', async () => {
    await cli.serve();
    const away = `${cli.data_dir}.away`;
    renameSync(cli.data_dir, away);
    const { code, stderr } = await cli.run('account', 'list');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /runs, but .*admin-token is gone\..*, move the data folder back; .*restore/,
      ),
    ]);
    const seen = await doctor();
    expect([seen.code, seen.states('server'), seen.states('data_folder')]).toEqual([
      1,
      ['fault'],
      ['fault'],
    ]);
    expect(named(seen.findings, 'server')[0]?.sentence).toContain('is gone');
    renameSync(away, cli.data_dir);
    expect((await doctor()).states('server')).toEqual(['ok']);
  });

  deepTest(
    'next to a running server it goes by the settings of that server, whatever its own environment has',
    async () => {
      const plain = cli.env;
      const folder = join(cli.data_dir, 'secrets');
      mkdirSync(folder);
      cli.env = {
        ...plain,
        EXITWARD_PUBLIC_URL: 'https://proxies.invalid',
        EXITWARD_NODE_URL: 'https://nodes.invalid',
        EXITWARD_KEYS_FILE: join(folder, 'keys.json'),
      };
      await cli.serve();
      const { EXITWARD_ADMIN_URL = '' } = cli.env;
      cli.env = { ...plain, EXITWARD_ADMIN_URL, EXITWARD_PUBLIC_URL: 'https://another.invalid' };
      const { findings, states } = await doctor();
      const sentences = (name: string) => named(findings, name).map(({ sentence }) => sentence);
      expect(sentences('public_url')).toEqual([
        'The name proxies.invalid of the public URL has no address.',
      ]);
      expect(sentences('node_url')).toEqual(['Nodes connect to https://nodes.invalid.']);
      expect(states('keys')).toEqual(['ok']);
    },
  );

  deepTest(
    'a server of another network at the default address does not count as its own',
    async () => {
      await cli.serve();
      const { host } = new URL(cli.env.EXITWARD_ADMIN_URL ?? '');
      const folder = join(cli.data_dir, 'another');
      mkdirSync(folder, { mode: 0o700 });
      const { EXITWARD_ADMIN_URL: _, ...env } = cli.env;
      cli.env = { ...env, EXITWARD_DATA_DIR: folder, EXITWARD_ADMIN_LISTEN: host };
      const { code, findings, states } = await doctor();
      expect([code, states('server'), states('keys')]).toEqual([0, ['warning'], ['ok']]);
      expect(named(findings, 'server')[0]).toMatchObject({
        sentence: expect.stringContaining(`No server of ${folder} runs`),
        remedy: 'exitward serve; for a server elsewhere, set EXITWARD_ADMIN_URL',
      });
    },
  );

  test('of a server that was stopped it reports the schema, and leaves the files as they are', async () => {
    await cli.serve();
    await cli.stop();
    const bytes = () => readFileSync(join(cli.data_dir, 'exitward.db'));
    const before = [readdirSync(cli.data_dir).sort(), bytes()];
    const { code, findings } = await doctor();
    expect(code).toBe(0);
    expect(named(findings, 'database')).toMatchObject([
      { state: 'ok', sentence: expect.stringMatching(/is closed and has schema \d+\.$/) },
    ]);
    expect([readdirSync(cli.data_dir).sort(), bytes()]).toEqual(before);
  });

  test('a keys file that others may read, a lost one, and a database that is none are faults', async () => {
    await cli.serve();
    await cli.stop();
    const keys = join(cli.data_dir, 'keys.json');
    chmodSync(keys, 0o644);
    const open = await doctor();
    expect([open.code, named(open.findings, 'keys')]).toMatchObject([
      1,
      [{ state: 'fault', remedy: `chmod 600 ${keys}` }],
    ]);
    renameSync(keys, `${keys}.away`);
    expect((await doctor()).states('keys')).toEqual(['fault']);
    writeFileSync(join(cli.data_dir, 'exitward.db'), 'no database');
    expect((await doctor()).states('database')).toEqual(['fault']);
  });

  test('settings that are wrong are reported as faults', async () => {
    cli.env = { ...cli.env, EXITWARD_VARIANTS: 'new', EXITWARD_CACHE_BYTES: '1k' };
    const { code, states } = await doctor();
    expect([code, states('settings')]).toEqual([1, ['fault', 'fault']]);
  });

  deepTest('a setting that is misspelt is a warning', async () => {
    cli.env = { ...cli.env, EXITWARD_VARIANT: 'current' };
    const { findings } = await doctor();
    expect(named(findings, 'settings')).toMatchObject([
      { state: 'warning', sentence: expect.stringContaining('Did you mean EXITWARD_VARIANTS?') },
    ]);
  });

  deepTest(
    'a certificate of another name than the public URL, or with a key of another, is a fault; one that clients reject is a warning',
    async () => {
      const [cert_file, key_file] = [join(cli.data_dir, 'cert'), join(cli.data_dir, 'key')];
      const { cert, key } = newCertificate('localhost');
      writeFileSync(cert_file, cert);
      writeFileSync(key_file, key, { mode: 0o600 });
      cli.env = {
        ...cli.env,
        EXITWARD_TLS_CERT: cert_file,
        EXITWARD_TLS_KEY: key_file,
        EXITWARD_PUBLIC_URL: 'https://proxies.invalid',
      };
      const { code, findings, states } = await doctor();
      expect([code, states('certificate'), states('public_url')]).toEqual([
        1,
        ['fault'],
        ['fault'],
      ]);
      expect(named(findings, 'certificate')[0]?.sentence).toContain('proxies.invalid');
      cli.env = { ...cli.env, EXITWARD_PUBLIC_URL: 'https://localhost' };
      expect((await doctor()).states('certificate')).toEqual(['warning']);
      writeFileSync(key_file, newCertificate('localhost').key);
      expect((await doctor()).states('certificate')).toEqual(['fault']);
    },
  );

  test('PostgreSQL is looked at while no server runs; one that does not sync its commits is a fault', async () => {
    const administrator = inject('postgresUrl');
    const set = async (value: string) => {
      await runStatement(administrator, `alter system set full_page_writes = ${value}`);
      await runStatement(administrator, 'select pg_reload_conf()');
    };
    cli.env = {
      ...cli.env,
      EXITWARD_DATABASE_URL: administrator,
      EXITWARD_ADMIN_URL: 'http://127.0.0.1:9',
    };
    expect((await doctor()).states('database')).toEqual(['ok', 'ok']);
    await set('off');
    try {
      await expect.poll(async () => (await doctor()).states('database')[0]).toBe('fault');
    } finally {
      await set('on');
    }
    cli.env = { ...cli.env, EXITWARD_DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' };
    expect((await doctor()).states('database')).toEqual(['fault']);
  });

  deepTest(
    'a running server whose database does not answer has a fault, and the database is looked at',
    async () => {
      const server = createHttpServer((_, response) => {
        response.statusCode = 503;
        response.end(
          '{"message":"The database cannot take this request now.","code":"unavailable"}',
        );
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      cli.env = {
        ...cli.env,
        EXITWARD_ADMIN_URL: `http://127.0.0.1:${port}`,
        EXITWARD_ADMIN_TOKEN: `ewo_${'x'.repeat(36)}`,
        EXITWARD_DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none',
      };
      const { findings, states } = await doctor();
      expect(named(findings, 'server')).toMatchObject([
        { state: 'fault', remedy: "the server's log" },
      ]);
      expect(states('database')).toEqual(['fault']);
      await new Promise((resolve) => server.close(resolve));
    },
  );
});

test('a disk whose flushes take longer than changes should wait is reported, by how long they take', async () => {
  const state = async (seconds: number) => {
    let now = 0;
    const clock = { ...systemClock, steady: () => (now += seconds / 2) };
    const config = { data_dir: '/tmp', database_url: 'postgres://a/b' } as Config;
    const findings = await runChecks(diskChecks(config, clock));
    return findings.find(({ name }) => name === 'disk_speed')?.state;
  };
  expect(await Promise.all([0.01, 0.06, 1.5].map(state))).toEqual(['ok', 'warning', 'fault']);
});

test('the public URL is followed as a client would: to a server, and to a certificate that is valid', async () => {
  const server = createServer(newCertificate('localhost'), (_, response) => response.end('{}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  // On Linux this leads to the machine itself, and is no address of loopback.
  const config = { public_url: `https://0.0.0.0:${port}` } as Config;
  const look = async () => {
    const checks = outsideChecks(config, systemClock, true);
    return [await checks.find(({ name }) => name === 'public_url')?.run()].flat();
  };
  expect(await look()).toMatchObject([
    { state: 'fault', sentence: expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT') },
  ]);
  await new Promise((resolve) => server.close(resolve));
  expect(await look()).toMatchObject([
    { state: 'warning', sentence: expect.stringContaining('ECONNREFUSED') },
  ]);
});
