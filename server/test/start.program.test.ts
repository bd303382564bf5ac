// The process: what it says when it cannot start, and what it finishes before it stops.
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, describe, expect, test } from 'vitest';
import type { Environment } from '../../kit/src/settings.ts';
import { deepTest } from '../../test/deep_test.ts';
import { systemClock } from '../src/clock.ts';
import { openDatabase } from '../src/db/open.ts';
import { newKeys } from '../src/keys/keys_file.ts';
import { serve } from '../src/main.ts';
import { eachDatabase } from './databases.ts';
import { prepareSubject } from './durability.ts';
import { basic, TestClient } from './harness.ts';
import { ServerProcess } from './server_process.ts';
import { until } from './waiting.ts';

const servers: ServerProcess[] = [];
const folders: string[] = [];
afterAll(async () => {
  for (const server of servers) await server.remove();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

async function start(settings = ServerProcess.settings()): Promise<ServerProcess> {
  const server = await ServerProcess.start(settings);
  servers.push(server);
  return server;
}

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;

describe('a server that cannot start says why in one sentence and exits with 1', () => {
  /**
   * The sentence with which it refuses to start with these settings. The process prints the same:
   * see the first test.
   */
  async function refusal(more: Environment): Promise<string> {
    const settings = ServerProcess.settings(more);
    folders.push(settings.EXITWARD_DATA_DIR as string);
    const fault = await serve(settings, { log: pino({ level: 'silent' }) }).then(
      (running) => running.stop(),
      (error: Error) => error,
    );
    const said = `${fault?.message}\n`;
    expect(said).toMatch(/^[A-Z][^\n]+\.\n$/);
    expect(said).not.toMatch(/\bat .*:\d+:\d+|node:internal|undefined/);
    return said;
  }

  test('ports in use: all of them, with a line that sets free ones', async () => {
    const others = [createServer().listen(0, '::1'), createServer().listen(0, '127.0.0.1')];
    await Promise.all(others.map((server) => once(server, 'listening')));
    const [account, operators] = others.map((server) => {
      const { address, family, port } = server.address() as AddressInfo;
      return family === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`;
    });
    const server = ServerProcess.spawn(
      ServerProcess.settings({ EXITWARD_LISTEN: account, EXITWARD_ADMIN_LISTEN: operators }),
    );
    servers.push(server);
    const { code, stderr, stdout } = await server.ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    const [first, second, line, ...rest] = stderr.split('\n');
    expect(first).toBe(
      `Can't listen on ${account} (account API and console): the port is in use. Set EXITWARD_LISTEN to another address.`,
    );
    expect(second).toBe(
      `Can't listen on ${operators} (operators): the port is in use. Set EXITWARD_ADMIN_LISTEN to another address.`,
    );
    const free = /^For free ports: export EXITWARD_LISTEN=(\S+) EXITWARD_ADMIN_LISTEN=(\S+)$/;
    const [, freeAccount, freeOperators] = free.exec(line ?? '') ?? [];
    expect(rest).toEqual(['']);
    const running = await serve(
      ServerProcess.settings({
        EXITWARD_LISTEN: freeAccount,
        EXITWARD_ADMIN_LISTEN: freeOperators,
      }),
      { log: pino({ level: 'silent' }) },
    );
    expect(running.base_url).toBe(`http://${freeAccount}`);
    await running.stop();
    for (const other of others) other.close();
  });

  deepTest(
    'ports of the server that runs on the same folder: that it does, and no other ports',
    async () => {
      const settings = ServerProcess.settings();
      const running = await serve(settings, { log: pino({ level: 'silent' }) });
      const again = { ...settings, EXITWARD_LISTEN: running.base_url.slice('http://'.length) };
      const error = await serve(again, { log: pino({ level: 'silent' }) }).catch((e: Error) => e);
      expect((error as Error).message).toMatch(
        new RegExp(
          `^Can't listen on .*\\nThe server of .* runs already, for operators on ${running.admin_url}\\. To restart it: .*exitward serve$`,
        ),
      );
      await running.stop();
    },
  );

  deepTest('but not for want of a port for metrics, which the log says', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const at = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
    const running = await serve(ServerProcess.settings({ EXITWARD_METRICS_LISTEN: at }), { log });
    expect(running.metrics_url).toBe(undefined);
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
      `Can't listen on ${at} (metrics): the port is in use. Set EXITWARD_METRICS_LISTEN to another address, or off.`,
    ]);
    await running.stop();
    other.close();
  });

  deepTest('a data folder that cannot be written', async () => {
    const settings = ServerProcess.settings();
    // A file in the folder's place stops root, too.
    const file = join(settings.EXITWARD_DATA_DIR as string, 'file');
    writeFileSync(file, '');
    expect(await refusal({ EXITWARD_DATA_DIR: file })).toContain('data folder');
    expect(await refusal({ EXITWARD_DATA_DIR: join(file, 'below') })).toContain('data folder');
  });

  test('a database that refuses, that never answers, or that is none', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as { port: number };
    const password = 'hunter2-is-secret';
    const at = (host: string) => `postgres://exitward:${password}@${host}/exitward`;
    const said = [
      await refusal({ EXITWARD_DATABASE_URL: at('127.0.0.1:1') }),
      await refusal({ EXITWARD_DATABASE_URL: `${at(`127.0.0.1:${port}`)}?connect_timeout=1` }),
      await refusal({ EXITWARD_DATABASE_URL: at('name.invalid') }),
    ];
    for (const argument of said) {
      expect(argument).toContain('Cannot connect to the PostgreSQL server');
      expect(argument).not.toContain(password);
    }
    silent.close();

    const settings = ServerProcess.settings();
    const file = join(settings.EXITWARD_DATA_DIR as string, 'exitward.db');
    writeFileSync(file, 'this is no database, however long it goes on '.repeat(100));
    expect(await refusal(settings)).toContain(`The database file ${file} cannot be opened`);
    const folder = join(settings.EXITWARD_DATA_DIR as string, 'folder');
    mkdirSync(folder);
    expect(await refusal({ EXITWARD_DATABASE_URL: `sqlite:${folder}` })).toContain(folder);
  });

  deepTest(
    'keys that are damaged, that are gone, or that are those of another database',
    async () => {
      const settings = ServerProcess.settings();
      const server = await start(settings);
      await server.end();
      const keys = join(server.data_dir, 'elsewhere.json');
      const secret = 'c2VjcmV0LXNlY3JldC1zZWNyZXQ';
      writeFileSync(keys, `{ "seal": "${secret}" }`, { mode: 0o600 });
      const damaged = await refusal({ ...settings, EXITWARD_KEYS_FILE: keys });
      expect(damaged).toContain(`The keys file ${keys} is damaged`);
      expect(damaged).not.toContain(secret);
      const fresh = join(server.data_dir, 'fresh.json');
      expect(await refusal({ ...settings, EXITWARD_KEYS_FILE: fresh })).toContain(
        `There is no keys file ${fresh}, and this database was used with one; restore it`,
      );
      expect(existsSync(fresh)).toBe(false);
      writeFileSync(fresh, JSON.stringify(newKeys()), { mode: 0o600 });
      expect(await refusal({ ...settings, EXITWARD_KEYS_FILE: fresh })).toContain(
        `The keys file ${fresh} is not the one that this database was used with`,
      );
      // The right ones still fit.
      await (await start(settings)).end();
    },
  );

  eachDatabase((database) => {
    test('a schema of a newer program', async () => {
      const settings = ServerProcess.settings({ EXITWARD_DATABASE_URL: await database.emptyUrl() });
      const server = await start(settings);
      await server.end();
      const db = await openDatabase(settings.EXITWARD_DATABASE_URL as string, {
        clock: systemClock,
      });
      await db.script(["insert into migrations (id, name) values (999, 'of the future')"]);
      const before = await db.all('select * from network');
      expect(await refusal(settings)).toMatch(
        /The database has schema 999.*Start the newer Exitward\./,
      );
      expect(await db.all('select * from network')).toEqual(before);
      await db.close();
    });
  });

  deepTest('a certificate that cannot be read, or is none', async () => {
    const settings = ServerProcess.settings();
    const file = join(settings.EXITWARD_DATA_DIR as string, 'none.pem');
    const files = { EXITWARD_TLS_CERT: file, EXITWARD_TLS_KEY: file };
    expect(await refusal(files)).toBe(`The TLS file ${file} cannot be read (ENOENT).\n`);
    writeFileSync(file, 'no certificate');
    expect(await refusal(files)).toContain('are no pair');
  });

  deepTest('a listener that others reach, without TLS', async () => {
    for (const name of ['EXITWARD_LISTEN', 'EXITWARD_ADMIN_LISTEN', 'EXITWARD_NODE_LISTEN']) {
      expect(await refusal({ [name]: '0.0.0.0:0' })).toContain('EXITWARD_TLS_TERMINATED=yes');
    }
    const server = await start(
      ServerProcess.settings({ EXITWARD_LISTEN: '0.0.0.0:0', EXITWARD_TLS_TERMINATED: 'yes' }),
    );
    expect((await fetch(`${server.base_url.replace('0.0.0.0', '127.0.0.1')}/healthz`)).status).toBe(
      200,
    );
    await server.end();
  });

  test('settings with faults: all of them at once, a line each, and no secret in them', async () => {
    const password = 'hunter2-is-secret';
    const server = ServerProcess.spawn(
      ServerProcess.settings({
        EXITWARD_LISTEN: 'everywhere',
        EXITWARD_DATABASE_URL: `mysql://root:${password}@db/exitward`,
        EXITWARD_STOP_SECONDS: '-1',
        EXITWARD_LOG_LEVEL: 'loud',
        EXITWARD_TLS_CERT: 'cert.pem',
      }),
    );
    servers.push(server);
    const { code, stderr, stdout } = await server.ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    const lines = stderr.trim().split('\n');
    expect(lines.map((line) => line.split(/[: ]/)[0]).sort()).toEqual([
      'EXITWARD_DATABASE_URL',
      'EXITWARD_LISTEN',
      'EXITWARD_LOG_LEVEL',
      'EXITWARD_STOP_SECONDS',
      'EXITWARD_TLS_CERT',
    ]);
    expect(stderr).not.toContain(password);
  });
});

/** Whether it listens no more. */
async function refusesConnections({ base_url }: ServerProcess): Promise<boolean> {
  const socket = connect(Number(new URL(base_url).port), '127.0.0.1');
  const outcome = await new Promise<string | undefined>((resolve) => {
    socket.on('connect', () => resolve(undefined));
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
  socket.destroy();
  return outcome === 'ECONNREFUSED';
}

describe('a server that gets the signal to stop', () => {
  /** A server with accounts, and a POST whose body has arrived in part. */
  async function startWithHalfARequest(more: Environment = {}) {
    const settings = ServerProcess.settings(more);
    const server = await start(settings);
    const { tokens, node_token } = await prepareSubject(server);
    const authorization = basic(tokens[0] as string);
    const account = new TestClient(`${server.base_url}/v0`, { authorization });
    const body = JSON.stringify({ ip: '192.0.2.77', user: 'alice', expiry: inSeconds(1000) });
    const socket = connect(Number(new URL(server.base_url).port), '127.0.0.1');
    let heard = '';
    socket.setEncoding('utf8').on('data', (text) => {
      heard += text;
    });
    socket.on('error', () => {});
    const closed = once(socket, 'close').then(() => heard);
    socket.write(
      `POST /v0/contract/ip-authlist HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n` +
        `Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
    );
    // So it says that the request has begun.
    await until(() => heard === 'HTTP/1.1 100 Continue\r\n\r\n');
    heard = '';
    const sendRest = () => socket.write(body.slice(10));
    return { settings, server, account, node_token, authorization, sendRest, closed };
  }

  test('finishes the requests in flight, takes no new ones, ends the streams, exits with 0, and has kept everything', async () => {
    const { settings, server, account, node_token, authorization, sendRest, closed } =
      await startWithHalfARequest();
    const node = new TestClient(server.node_url, { authorization: `Bearer ${node_token}` });
    const { epoch, revision } = JSON.parse(
      (await node.get('/node/snapshot')).text.split('\n')[0] as string,
    );
    const stream = await fetch(`${server.node_url}/node/changes`, {
      headers: { authorization: `Bearer ${node_token}`, 'last-event-id': `${epoch}:${revision}` },
    });
    expect(stream.status).toBe(200);
    const streamEnded = stream.text().then(() => performance.now());
    // The node is live and will not acknowledge: this answer waits.
    const waiting = account.post(
      '/contract/overrides',
      { server: 'fra1', hostname: 'wait.example', ip: '192.0.2.1', expiry: inSeconds(1000) },
      { prefer: 'wait=25' },
    );
    // It is made, so that its answer alone is waited for.
    await until(async () => (await account.get('/contract/overrides')).body.length === 1);

    const signalled = performance.now();
    server.child.kill('SIGTERM');
    await until(() => refusesConnections(server));
    const answer = await waiting;
    expect([answer.status, answer.body.status]).toEqual([201, 'pending']);
    sendRest();
    expect(await closed).toMatch(/^HTTP\/1\.1 201 /);
    const { code, signal, stderr } = await server.ended;
    expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
    expect(await streamEnded).toBeGreaterThan(signalled);
    // The answer that waits for the node would have waited for 25 seconds.
    expect(performance.now() - signalled).toBeLessThan(20_000);

    const again = await start(settings);
    const same = new TestClient(`${again.base_url}/v0`, { authorization });
    expect((await same.get('/contract/ip-authlist')).body).toMatchObject([{ ip: '192.0.2.77' }]);
    expect((await same.get('/contract/overrides')).body).toMatchObject([
      { hostname: 'wait.example' },
    ]);
    await again.end();
  });

  deepTest('cuts what is not finished when the time for that is over', async () => {
    const { server, closed } = await startWithHalfARequest({ EXITWARD_STOP_SECONDS: '1' });
    const signalled = performance.now();
    server.child.kill('SIGINT');
    const { code } = await server.ended;
    expect(code).toBe(0);
    expect(performance.now() - signalled).toBeGreaterThan(900);
    // By the setting: without it, ten seconds.
    expect(performance.now() - signalled).toBeLessThan(9000);
    expect(await closed).toBe('');
  });

  deepTest('ends at once at a second signal', async () => {
    const { server } = await startWithHalfARequest({ EXITWARD_STOP_SECONDS: '30' });
    server.child.kill('SIGTERM');
    await until(() => refusesConnections(server));
    expect(server.child.exitCode).toBe(null);
    const signalled = performance.now();
    server.child.kill('SIGTERM');
    expect((await server.ended).code).toBe(1);
    // The requests in flight had thirty seconds.
    expect(performance.now() - signalled).toBeLessThan(20_000);
  });
});
