// A real browser behind a real proxy: it is asked for the token, and then sees what its customer
// has set up.
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { acceptingHead } from '../../agent/test/clients/websocket.ts';
import { newCertificate } from '../../server/test/certificate.ts';
import { until } from '../../server/test/waiting.ts';
import { launchBrowser, pagePatienceMs } from '../browser.ts';
import type { EngineName } from './agent_process.ts';
import { type Customer, inAnHour } from './control_plane.ts';
import { nextClientIp, otherOriginIp } from './places.ts';
import { type Node, through, World } from './world.ts';

const shop = 'shop.example.com';

interface Site {
  http_port: number;
  tls_port: number;
  stop(): Promise<void>;
}

/** Says in which name it was asked, and echoes the first message of a WebSocket. */
async function startSite(host: string): Promise<Site> {
  const answer = ({ headers, socket }: IncomingMessage) =>
    `<title>${host}</title><p>asked for ${headers.host} at ${socket.localAddress}`;
  const servers = [
    createServer((request, response) => response.end(answer(request))),
    createTlsServer(newCertificate(shop), (request, response) => response.end(answer(request))),
  ];
  for (const server of servers) {
    server.on('upgrade', greet);
    await once(server.listen(0, host), 'listening');
  }
  const [http_port = 0, tls_port = 0] = servers.map(
    (server) => (server.address() as AddressInfo).port,
  );
  return {
    http_port,
    tls_port,
    async stop() {
      for (const server of servers) {
        server.closeAllConnections();
        await new Promise((done) => server.close(done));
      }
    },
  };
}

/** The least of a WebSocket: its handshake, and a text. */
function greet({ headers }: IncomingMessage, socket: Socket): void {
  const text = `hello ${headers.host}`;
  socket.on('error', () => undefined);
  socket.once('end', () => socket.destroy()).resume();
  socket.write(acceptingHead(headers));
  socket.write(Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]));
}

export function browsingTests(engine: EngineName): void {
  describe(`a browser behind a proxy (${engine})`, { timeout: 360_000 }, () => {
    let world: World;
    let node: Node;
    let customer: Customer;
    let site: Site;
    let browser: Browser;
    let credentials: string;

    beforeAll(async () => {
      world = await World.start(engine);
      site = await startSite(otherOriginIp);
      node = await world.node();
      customer = await world.customer(node.server);
      const entry = { server: node.server, ip: otherOriginIp, expiry: inAnHour() };
      const added = await customer.api.post('/contract/overrides', { hostname: shop, ...entry });
      expect(added.status).toBe(201);
      credentials = await customer.credentials();
      await node.agent.follow();
      const own = through(node.place, nextClientIp(), { credentials });
      await until(async () => (await world.decisionFor(own)) === '200');
      browser = await launchBrowser();
    }, 360_000);
    afterAll(async () => {
      await browser?.close();
      await world?.stop();
      await site?.stop();
    });

    /** A page of a browser that has this for a proxy. */
    async function behind(options: { override: boolean; password?: string }): Promise<Page> {
      const { host, port } = through(node.place, '', options);
      const [username = '', password = ''] = credentials.split(':');
      const context = await browser.newContext({
        ignoreHTTPSErrors: true,
        proxy: {
          server: `http://${host}:${port}`,
          // It would go to addresses of its own machine by itself.
          bypass: '<-loopback>',
          username,
          password: options.password ?? password,
        },
      });
      const page = await context.newPage();
      page.setDefaultTimeout(pagePatienceMs);
      return page;
    }

    const text = (page: Page) => page.locator('p').textContent();

    test('sees the page that its address says, when it has given the token that it was asked for', async () => {
      const page = await behind({ override: false });
      const answer = await page.goto(`http://${otherOriginIp}:${site.http_port}/`);
      expect(answer?.status()).toBe(200);
      expect(await text(page)).toContain(`at ${otherOriginIp}`);
    });

    test('sees the overridden origin under the original name on the override port, with and without TLS', async () => {
      const page = await behind({ override: true });
      for (const [scheme, port] of [
        ['http', site.http_port],
        ['https', site.tls_port],
      ] as const) {
        const url = `${scheme}://${shop}:${port}/`;
        const answer = await page.goto(url);
        expect(answer?.status()).toBe(200);
        expect(page.url()).toBe(url);
        expect(await text(page)).toBe(`asked for ${shop}:${port} at ${otherOriginIp}`);
      }
    });

    test('does not see it on the usual port', async () => {
      const page = await behind({ override: false });
      const plain = await page.goto(`http://${shop}:${site.http_port}/`);
      expect(plain?.status()).toBeGreaterThanOrEqual(500);
      await expect(page.goto(`https://${shop}:${site.tls_port}/`)).rejects.toThrow(
        'ERR_TUNNEL_CONNECTION_FAILED',
      );
    });

    test('speaks through a WebSocket, with and without TLS', async () => {
      const page = await behind({ override: true });
      await page.goto(`http://${shop}:${site.http_port}/`);
      for (const url of [`ws://${shop}:${site.http_port}/`, `wss://${shop}:${site.tls_port}/`]) {
        const said = await page.evaluate(
          `new Promise((resolve, reject) => {
            const socket = new WebSocket(${JSON.stringify(url)});
            socket.onmessage = ({ data }) => resolve(data);
            socket.onerror = () => reject(new Error('no WebSocket'));
          })`,
        );
        expect(said).toBe(`hello ${new URL(url).host}`);
      }
    });

    test('shows that a token is wrong', async () => {
      const page = await behind({ override: true, password: 'ewt_wrong' });
      const answer = await page.goto(`http://${shop}:${site.http_port}/`);
      expect(answer?.status()).toBe(407);
      expect(await page.locator('body').textContent()).toContain('(bad_token)');
      await expect(page.goto(`https://${shop}:${site.tls_port}/`)).rejects.toThrow('ERR_');
    });
  });
}
