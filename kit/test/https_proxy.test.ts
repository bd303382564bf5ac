// The proxies of HTTPS_PROXY that let nothing through, and how a command line says so.
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type HttpsProxy, triedFirst } from '../src/cli/https_proxy.ts';

/** A proxy that does this with each connection, and how requests through it fail. */
async function failThrough(
  serve: (socket: Socket) => void,
  settings: Partial<HttpsProxy> = {},
  patienceSeconds = 30,
) {
  const server = createServer((socket) => void serve(socket.on('error', () => {})));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const url = new URL(`http://me:secret@127.0.0.1:${port}`);
  const proxy = { url, variable: 'HTTPS_PROXY', except: [], ...settings };
  const error = await triedFirst(
    fetch,
    proxy,
    patienceSeconds,
  )('https://api.example/v0').catch(({ cause }: Error) => cause as Error & { code: string });
  const { message, code } = error as Error & { code: string };
  return { code, message: message.replaceAll(String(proxy.url.port), 'PORT') };
}

const answering = (head: string) => (socket: Socket) =>
  void socket.once('data', () => socket.end(`HTTP/1.1 ${head}\r\ncontent-length: 0\r\n\r\n`));
const name = 'the proxy 127.0.0.1:PORT (HTTPS_PROXY)';
const around = 'set NO_PROXY=api.example to do without it';

test.each<[string, (socket: Socket) => void, string]>([
  [
    'refuses the password',
    answering('407 Proxy Authentication Required'),
    `${name} does not accept the name and password in HTTPS_PROXY (407)`,
  ],
  [
    'forbids the host',
    answering('403 Forbidden'),
    `${name} does not allow connections to api.example:443 (403); ask its operator, or ${around}`,
  ],
  [
    'does not reach the host',
    answering('502 Bad Gateway'),
    `${name} could not connect to api.example:443 (502); check the address, or ${around}`,
  ],
  [
    'is a web server',
    answering('404 Not Found'),
    `${name} answered 404, not as an HTTP proxy does; correct HTTPS_PROXY, or ${around}`,
  ],
  [
    'speaks another protocol',
    (socket) => void socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.9\r\n')),
    `${name} can't be used: it does not speak HTTP there (HPE_INVALID_CONSTANT); correct HTTPS_PROXY, or ${around}`,
  ],
  [
    'closes the connection',
    (socket) => void socket.once('data', () => socket.end()),
    `${name} can't be used: the connection was closed without an answer (ECONNRESET); correct HTTPS_PROXY, or ${around}`,
  ],
])('a proxy that %s is named with its variable, without its password', async (_, serve, says) => {
  expect(await failThrough(serve)).toEqual({ code: 'ERR_PROXY', message: says });
});

test('a proxy that is silent is given up, and the error says after how long', async () => {
  const { message } = await failThrough(() => {}, {}, 0.1);
  expect(message).toContain(`${name} can't be used: there was no answer within 0.1 seconds`);
});

test('a proxy where nothing listens is named with the variable that is set', async () => {
  const url = new URL('http://127.0.0.1:9');
  const { message } = await failThrough(() => {}, { url, variable: 'https_proxy' });
  expect(message).toBe(
    `the proxy 127.0.0.1:PORT (https_proxy) can't be used: the connection was refused (ECONNREFUSED); correct https_proxy, or ${around}`,
  );
});

test('a host of NO_PROXY is not asked of the proxy', async () => {
  const error = await failThrough(answering('403 Forbidden'), { except: ['.example:443'] });
  expect(error.code).not.toBe('ERR_PROXY');
});
