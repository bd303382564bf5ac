// Node's own clients: fetch|request|websocket|http2 URL PROXY FILE [UPLOAD]. All but the last take
// the proxy from the environment.
import { readFileSync, writeFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { request as requestHttps } from 'node:https';
import { connect as connectTls } from 'node:tls';

const [way, url, proxy, file, upload] = process.argv.slice(2);
const method = upload === undefined ? 'GET' : 'PUT';
const body = upload === undefined ? undefined : readFileSync(upload);

async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const ways = {
  async fetch() {
    const response = await fetch(url, { method, body });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  },

  request: () =>
    new Promise((resolve, reject) => {
      const request = url.startsWith('https:') ? requestHttps : requestHttp;
      request(url, { method }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
        else collect(response).then(resolve, reject);
      })
        .on('error', reject)
        .end(body);
    }),

  websocket: () =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(url.replace('http', 'ws'));
      socket.onopen = () => socket.send('hello');
      socket.onerror = ({ error }) => reject(error);
      socket.onmessage = ({ data }) => {
        socket.close();
        resolve(data);
      };
    }),

  /** In a tunnel: several requests at once, all of which must have the same response. */
  async http2() {
    const { hostname, port, username, password } = new URL(proxy);
    const { hostname: servername, host, pathname } = new URL(url);
    const credentials = Buffer.from(`${username}:${password}`).toString('base64');
    const tunnel = requestHttp({
      ...{ hostname, port, method: 'CONNECT', path: host, agent: false },
      headers: username === '' ? {} : { 'proxy-authorization': `Basic ${credentials}` },
    });
    const socket = await new Promise((resolve, reject) => {
      tunnel.on('error', reject).on('connect', ({ statusCode }, socket) => {
        if (statusCode === 200) resolve(socket);
        else reject(new Error(`status ${statusCode} for the tunnel`));
      });
      tunnel.end();
    });
    const session = connectHttp2(url, {
      createConnection: () => connectTls({ socket, servername, ALPNProtocols: ['h2'] }),
    });
    const streams = Array.from({ length: 5 }, () =>
      session.request({ ':method': method, ':path': pathname }).end(body),
    );
    const [first, ...others] = await Promise.all(streams.map(collect));
    if (others.some((other) => !other.equals(first))) throw new Error('the streams differ');
    session.close();
    return first;
  },
};

writeFileSync(file, await ways[way]());
