// Secrets: what opens a door appears nowhere but in the answer that hands it out, and in the files
// meant for it.
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Environment } from '../../kit/src/settings.ts';
import { systemClock } from '../src/clock.ts';
import { openDatabase } from '../src/db/open.ts';
import { Browser } from './client.ts';
import { eachDatabase } from './databases.ts';
import { prepareSubject } from './durability.ts';
import { type Answer, basic, startTestApp, TestClient } from './harness.ts';
import { ServerProcess } from './server_process.ts';
import { until } from './waiting.ts';

/** The ways in which a secret could be written down. */
function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const raw = /^[\w-]{40,}$/.test(secret) ? Buffer.from(secret, 'base64url') : bytes;
  return [
    secret,
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('hex'),
    raw.toString('hex'),
    raw.toString('base64').replace(/=+$/, ''),
    raw.toString('latin1'),
    basic(secret).slice('Basic '.length).replace(/=+$/, ''),
    basic(secret, 'earlier').slice('Basic '.length).replace(/=+$/, ''),
  ];
}

/** Which of the secrets a text holds, in any spelling. */
function foundIn(text: string, secrets: Map<string, string>): string[] {
  return Array.from(secrets)
    .filter(([, secret]) => spellings(secret).some((spelling) => text.includes(spelling)))
    .map(([name]) => name);
}

const expiry = () => Math.floor(Date.now() / 1000) + 86_400;

eachDatabase((database) => {
  describe('after everything was done once, right and wrong', () => {
    const secrets = new Map<string, string>();
    const errors: string[] = [];
    let settings: Environment;
    let server: ServerProcess;
    let url: string;

    beforeAll(async () => {
      url = await database.emptyUrl();
      settings = ServerProcess.settings({
        EXITWARD_DATABASE_URL: url,
        EXITWARD_LOG_LEVEL: 'trace',
        EXITWARD_LOG_REQUESTS: 'all',
      });
      server = await ServerProcess.start(settings);
      const { password } = new URL(url.replace(/^sqlite:/, 'file:'));
      if (password) secrets.set('database password', password);
      await everything();
      // A real server hashes passwords at their real cost.
    });
    afterAll(() => server.remove());

    function keep(name: string, secret: unknown): string {
      expect(typeof secret).toBe('string');
      secrets.set(name, secret as string);
      return secret as string;
    }

    async function failing(answer: Promise<Answer>, status: number): Promise<void> {
      const { status: actual, text, headers } = await answer;
      expect([actual, text]).toEqual([status, expect.any(String)]);
      errors.push(text, JSON.stringify([...headers]));
    }

    async function everything(): Promise<void> {
      const { operator, data_dir, base_url, node_url, admin_url } = server;
      keep('operator token', readFileSync(join(data_dir, 'admin-token'), 'utf8').trim());
      const keys = JSON.parse(readFileSync(join(data_dir, 'keys.json'), 'utf8'));
      keep('sealing key', keys.seal);
      keep('hashing key', keys.hash);
      keep('signing key', keys.signing[0].private_key);

      const { tokens, node_token } = await prepareSubject(server);
      const api_token = keep('API token', tokens[0]);
      keep('API token of another account', tokens[1]);
      keep('node token', node_token);
      const readOnly = await operator.post('/accounts/acme/tokens', {
        name: 'ro',
        read_only: true,
      });
      const read_only = keep('read-only API token', readOnly.body.api_token);
      const viewed = await operator.post('/accounts/acme/tokens/1/view', {});
      expect(viewed.body.api_token).toBe(api_token);
      const second = await operator.post('/tokens', { name: 'second' });
      const second_token = keep('second operator token', second.body.admin_token);
      await operator.delete(`/tokens/${second.body.id}`);
      const code = keep(
        'unused invitation',
        (await operator.post('/invites', { server: 'ams1' })).body.code,
      );
      const used = keep(
        'used invitation',
        (await operator.post('/invites', { server: 'ams1' })).body.code,
      );
      const join_body = { code: used, name: 'ams1-node', version: 'test' };
      const node = new TestClient(node_url, {});
      keep('second node token', (await node.post('/node/join', join_body)).body.token);

      for (const variant of ['current', 'earlier'] as const) {
        const account = new TestClient(`${base_url}/v0`, {
          authorization: basic(api_token, variant),
        });
        const list = `/contract/${variant === 'current' ? 'ip-authlist' : 'whitelist'}`;
        const ip = variant === 'current' ? '192.0.2.1' : '192.0.2.2';
        const body = { ip, user: 'alice', expiry: expiry() };
        expect((await account.post(list, body, { 'idempotency-key': `k-${variant}` })).status).toBe(
          201,
        );
        await failing(account.post(list, body), 409);
        await failing(account.post(list, '{"ip": '), 400);
        await failing(account.post(list, { ...body, [api_token]: 1 }), 400);
        await failing(account.get('/nothing'), 404);
        await failing(account.put(list, {}), 405);
        // Kept answers, too.
        for (const path of ['', '/contract', list, list])
          expect((await account.get(path)).status).toBe(200);
      }
      const account = new TestClient(`${base_url}/v0`, { authorization: basic(api_token) });
      const keyed = { 'idempotency-key': 'proxy-token' };
      const proxy = await account.post('/users/token', { user: 'alice' }, keyed);
      keep('proxy token', proxy.body.token);
      const again = await account.post('/users/token', { user: 'alice' }, keyed);
      expect(again.body.token).toBe(proxy.body.token);
      await explain(new TestClient(`${node_url}/node`, { authorization: `Bearer ${node_token}` }));
      await signIn();
      await failing(account.post('/users/token', { user: 'nobody' }), 409);
      const reader = new TestClient(`${base_url}/v0`, { authorization: basic(read_only) });
      await failing(reader.post('/users/token', { user: 'alice' }), 403);

      // In the wrong place, and almost right.
      const wrong = keep(
        'mistyped API token',
        `${api_token.slice(0, -1)}${api_token.endsWith('a') ? 'b' : 'a'}`,
      );
      for (const authorization of [
        basic(wrong),
        basic(second_token),
        `Bearer ${api_token}`,
        api_token,
      ]) {
        await failing(new TestClient(base_url, { authorization }).get('/v0/contract'), 401);
        await failing(new TestClient(admin_url, { authorization }).get('/admin/status'), 401);
        await failing(new TestClient(node_url, { authorization }).get('/node/snapshot'), 401);
      }
      await failing(node.post('/node/join', join_body), 401);
      await failing(new TestClient(base_url, {}).get('/v0/%zz'), 401);
      await account.get(`/contract?token=${api_token}`);
      await account.get(`/${api_token}`);
      await operator.get(`/accounts/${api_token}`);
      await node.get(`/node/join?code=${code}`);
    }

    /** People use the console, rightly and wrongly, and send what they have to the wrong places. */
    async function signIn(): Promise<void> {
      const { operator, base_url } = server;
      const user = '/accounts/acme/users/alice';
      const code = keep('invitation', (await operator.send('POST', `${user}/invite`)).body.code);
      const password = keep('password', 'a password like no other');
      const alice = new Browser(base_url);
      await failing(alice.post('/invite/accept', { code, password: 'too short' }), 400);
      expect((await alice.post('/invite/accept', { code, password })).status).toBe(201);
      keep('session', alice.token);
      await failing(alice.post('/invite/accept', { code, password }), 401);
      const begun = await alice.post('/second-factor', { password });
      const secret = keep('TOTP secret', begun.body.secret);
      const totp = new TOTP({ secret: Secret.fromBase32(secret) });
      await failing(alice.put('/second-factor', { code: secret }), 400);
      const confirmed = await alice.put('/second-factor', { code: totp.generate() });
      const recovery = keep('recovery code', confirmed.body.recovery_codes[0]);
      keep('unused recovery code', confirmed.body.recovery_codes[1]);
      const other = new Browser(base_url);
      const given = { account: 'acme', user: 'alice', password };
      expect((await other.post('/session', given)).status).toBe(200);
      await failing(other.post('/session', { ...given, code: secret }), 401);
      expect((await other.post('/session', { ...given, code: recovery })).status).toBe(201);
      keep('second session', other.token);
      await failing(other.post('/session', { ...given, account: password, user: password }), 401);
      await failing(other.put('/password', { current_password: code, password }), 403);
      const changed = keep('second password', 'another one like no other');
      const change = { current_password: password, password: changed };
      expect((await other.put('/password', change)).status).toBe(204);
      const link = (await operator.post(`${user}/sign-in-link`, {})).body.code;
      await failing(other.post('/session/link', { code }), 401);
      keep('sign-in link', link);
      expect((await new Browser(base_url).post('/session/link', { code: link })).status).toBe(201);
      keep('open invitation', (await operator.send('POST', `${user}/invite`)).body.code);
      const token = alice.token as string;
      await failing(
        new Browser(base_url).get('/session', { authorization: `Bearer ${token}` }),
        401,
      );
      await failing(new Browser(base_url).get(`/session?code=${code}`), 401);
      await failing(other.get(`/session?a=${token}`), 400);
      await other.delete(`/users/${token}/sessions`);
    }

    /**
     * An operator asks about a connection that shows the proxy token, rightly and wrongly; a node
     * answers.
     */
    async function explain(node: TestClient): Promise<void> {
      const head = (await node.get('/snapshot')).text.split('\n')[0] as string;
      const { epoch, revision } = JSON.parse(head);
      expect((await node.post('/acks', { epoch, revision })).status).toBe(204);
      const path = '/servers/fra1/explain';
      const token = secrets.get('proxy token');
      const connection = { from: '192.0.2.1', port: 10_001, host: 'a.example', token };
      await failing(server.operator.post(path, connection), 400);
      const asking = server.operator.post(path, { ...connection, user: 'alice' });
      const allowed = { verdict: 'allow', status: 200, reason: 'token', message: 'ok', revision };
      const answer = () => node.post('/answers', { id: 1, answer: allowed });
      await until(async () => (await answer()).status !== 404);
      expect((await asking).body).toMatchObject({ verdict: 'allow', node: 'fra1-node' });
    }

    test('control: a secret is found in whatever way it is written', () => {
      expect(secrets.size).toBeGreaterThanOrEqual(12);
      for (const [name, secret] of secrets) {
        expect(secret.length).toBeGreaterThan(8);
        for (const spelling of spellings(secret)) {
          expect(foundIn(`before ${spelling} behind`, secrets)).toContain(name);
        }
      }
    });

    test('none is in the log, though it records every request, nor in an error', () => {
      expect(server.log.filter(({ msg }) => msg === 'request').length).toBeGreaterThan(40);
      expect(foundIn(server.stdout + server.stderr, secrets)).toEqual([]);
      expect(errors.length).toBeGreaterThan(20);
      // A refusal names the unknown field, which the client itself made of its token; nothing else
      // does.
      const own = errors.filter((text) => foundIn(text, secrets).length > 0);
      expect(own).toHaveLength(2);
      for (const text of own) expect(text).toContain(`${secrets.get('API token')}: `);
    });

    test('none is in the metrics, the audit log, or the arguments of the process', async () => {
      const metrics = await (await fetch(server.metrics_url)).text();
      expect(metrics).toContain('exitward_http_requests_total');
      expect(foundIn(metrics, secrets)).toEqual([]);
      const audit = await server.operator.get('/audit?limit=1000');
      expect(audit.body.length).toBeGreaterThan(10);
      expect(foundIn(audit.text, secrets)).toEqual([]);
      expect(foundIn(server.child.spawnargs.join(' '), secrets)).toEqual([]);
      if (process.platform === 'linux') {
        expect(foundIn(readFileSync(`/proc/${server.child.pid}/cmdline`, 'utf8'), secrets)).toEqual(
          [],
        );
      }
    });

    test('none is in the database, nor in a backup of it', async () => {
      const db = await openDatabase(url, { clock: systemClock });
      const tables = await db.all<{ name: string }>(
        db.engine === 'sqlite'
          ? "select name from sqlite_master where type = 'table'"
          : "select table_name as name from information_schema.tables where table_schema = 'public'",
      );
      expect(tables.length).toBeGreaterThan(15);
      for (const { name } of tables) {
        const rows = JSON.stringify(await db.all(`select * from ${name}`), (_, value) =>
          typeof value === 'bigint' ? String(value) : value,
        );
        expect([name, foundIn(rows, secrets)]).toEqual([name, []]);
      }
      if (db.engine === 'sqlite') {
        const file = url.slice('sqlite:'.length);
        await db.backup(`${file}.backup`);
        // Raw bytes: also what was deleted and not yet written over.
        for (const part of ['', '-wal', '.backup']) {
          const bytes = readFileSync(file + part).toString('latin1');
          expect(bytes.length).toBeGreaterThan(1000);
          expect([part, foundIn(bytes, secrets)]).toEqual([part, []]);
        }
        expect(statSync(`${file}.backup`).mode & 0o777).toBe(0o600);
      }
      await db.close();
    });

    test('the files are for their owner alone, also under a generous umask', () => {
      expect(statSync(join(server.data_dir, 'keys.json')).mode & 0o777).toBe(0o600);
      expect(statSync(join(server.data_dir, 'admin-token')).mode & 0o777).toBe(0o600);
      if (database.name !== 'SQLite') return;
      for (const part of ['', '-wal', '-shm']) {
        expect(statSync(url.slice('sqlite:'.length) + part).mode & 0o777).toBe(0o600);
      }
    });
  });
});

test('a data folder that the server makes is for its owner alone', async () => {
  const settings = ServerProcess.settings();
  const folder = join(settings.EXITWARD_DATA_DIR as string, 'made', 'by', 'it');
  const server = await ServerProcess.start({ ...settings, EXITWARD_DATA_DIR: folder });
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  for (const file of readdirSync(folder)) {
    expect([file, statSync(join(folder, file)).mode & 0o777]).toEqual([file, 0o600]);
  }
  await server.end('SIGKILL');
  rmSync(settings.EXITWARD_DATA_DIR as string, { recursive: true });
});

eachDatabase((database) => {
  test('a sealed token that was moved to another record is not handed out', async () => {
    const t = await startTestApp(await database.url());
    await t.account('acme');
    await t.account('globex');
    const view = (account: string) => t.operator.post(`/accounts/${account}/tokens/1/view`, {});
    expect((await view('acme')).status).toBe(200);
    await t.write((tx) =>
      tx.run(
        `update api_tokens set sealed = (select sealed from api_tokens where account_id = 2)
         where account_id = 1`,
      ),
    );
    const moved = await view('acme');
    expect(moved.status).toBe(500);
    expect(moved.text).not.toContain('ewa_');
    expect((await view('globex')).status).toBe(200);
    await t.stop();
  });
});
