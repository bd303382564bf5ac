// A client that reads slowly while the server stops: each response that has begun comes whole.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { eachDatabase } from './databases.ts';
import { basic, TestClient } from './harness.ts';
import { ServerProcess } from './server_process.ts';

/** So many responses are more than the system keeps for a client that does not read. */
const maxResponses = 400;

/** The sizes of the bodies in a stream of responses, and what is left of one that is not whole. */
function bodiesIn(bytes: Buffer): { sizes: number[]; rest: number } {
  const sizes: number[] = [];
  let at = 0;
  while (at < bytes.length) {
    const head = bytes.indexOf('\r\n\r\n', at);
    const length = Number(/content-length: (\d+)/i.exec(bytes.toString('latin1', at, head))?.[1]);
    if (head < 0 || head + 4 + length > bytes.length) break;
    sizes.push(length);
    at = head + 4 + length;
  }
  return { sizes, rest: bytes.length - at };
}

eachDatabase((database) => {
  test('loses nothing of a response when the server gets the signal to stop', async () => {
    const url = await database.url();
    const server = await ServerProcess.start(
      ServerProcess.settings({ EXITWARD_DATABASE_URL: url, EXITWARD_STOP_SECONDS: '60' }),
    );
    const expiry = Math.floor(Date.now() / 1000) + 86_400;
    const newAccount = { name: 'acme', plan: 'Team', expiry, limit_bytes: 2 ** 40 };
    const { api_token } = (await server.operator.post('/accounts', newAccount)).body;
    const authorization = basic(api_token);
    const account = new TestClient(`${server.base_url}/v0`, { authorization });
    await server.operator.post('/accounts/acme/users', { name: 'bob', flags: { proxy: true } });
    const entries = Array.from({ length: 400 }, (_, at) => ({
      user: 'bob',
      ip: `10.0.${at >> 8}.${at & 255}`,
      expiry,
    }));
    await Promise.all(entries.map((body) => account.post('/contract/ip-authlist', body)));
    const list = await account.get('/contract/ip-authlist');
    expect(list.body).toHaveLength(400);

    const { hostname, port } = new URL(server.base_url);
    const client = connect(Number(port), hostname);
    client.pause();
    const idle = connect(Number(port), hostname).resume();
    idle.write(`GET /v0/contract HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`);
    await once(idle, 'data');
    const request = `GET /v0/contract/ip-authlist HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: ${authorization}\r\n\r\n`;
    client.write(request.repeat(maxResponses));
    // Until the one in work does not fit any more.
    await sleep(2000);
    server.child.kill('SIGTERM');
    // Beside it idle connections end: a request on one of them would be refused.
    await once(idle, 'close', { signal: AbortSignal.timeout(10_000) });
    await sleep(1000);
    const chunks: Buffer[] = [];
    client.on('data', (chunk: Buffer) => chunks.push(chunk)).resume();
    await once(client, 'close');
    const { sizes, rest } = bodiesIn(Buffer.concat(chunks));
    expect(rest).toBe(0);
    expect(new Set(sizes)).toEqual(new Set([Buffer.byteLength(list.text)]));
    expect(sizes.length).toBeGreaterThan(1);
    expect((await server.ended).code).toBe(0);
    await server.remove();
  });
});
