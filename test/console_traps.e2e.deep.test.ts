// Pages of other sites against somebody who is signed in to the console, in the browser that they
// use for it.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pagePatienceMs } from './browser.ts';
import { account, Console, everything } from './console/console.ts';
import type { Visit } from './console/visit.ts';

/** Nodes report these: they change by themselves, like the times of last use. */
const reported = ['ips', 'nodes', 'over_limit', 'status', 'usage'];

/** A page of another site, with nothing on it. */
async function startSite(): Promise<Server> {
  const site = createServer((_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><title>Another site</title><p>harmless');
  });
  await once(site.listen(0, '127.0.0.1'), 'listening');
  return site;
}

describe('a page of another site', { timeout: 360_000 }, () => {
  let t: Console;
  let site: Server;
  let victim: Visit;
  beforeAll(async () => {
    t = await Console.start();
    site = await startSite();
    victim = await t.visitAs(everything);
    // The browser's own prompt, answered and remembered: from now on it sends these credentials by
    // itself.
    await rememberBasic();
  });
  afterAll(async () => {
    await victim?.end();
    site?.close();
    await t?.stop();
  });

  async function rememberBasic(): Promise<void> {
    const token = t.facts.accounts.find(({ name }) => name === account)?.api_token;
    const { host } = new URL(t.facts.base_url);
    const page = await victim.context.newPage();
    const answer = await page.goto(`http://:${token}@${host}/v0/contract`);
    expect(answer?.status()).toBe(200);
    await page.close();
  }

  const port = () => (site.address() as AddressInfo).port;
  /** By another port it is another origin of the same site: the cookie goes with it. */
  const sites: Array<[string, () => string]> = [
    ['on another port of this machine', () => `http://127.0.0.1:${port()}`],
    ['on another host', () => `http://other.example:${port()}`],
  ];

  /** The targets of an attacker: anything that the account or the server records. */
  async function state(): Promise<string> {
    const { operator } = t;
    const parts = await Promise.all(
      ['authlist', 'overrides', 'users', 'tokens', 'servers'].map((part) =>
        operator.get(`/accounts/${account}/${part}`),
      ),
    );
    const audit = await operator.get('/audit?limit=1');
    const isRecorded = (name: string) => !name.endsWith('_at') && !reported.includes(name);
    return [...parts, audit]
      .map(({ body }) =>
        JSON.stringify(body, (name, value) => (isRecorded(name) ? value : undefined)),
      )
      .join('\n');
  }

  async function lure(origin: string): Promise<Page> {
    const page = await victim.context.newPage();
    page.setDefaultTimeout(pagePatienceMs);
    await page.goto(`${origin}/`);
    return page;
  }

  /** Runs it in the page; `BASE` is the console's origin. */
  const run = (page: Page, script: string): Promise<unknown> =>
    page.evaluate(`(async () => {
      const BASE = ${JSON.stringify(t.facts.base_url)};
      ${script}
    })()`);

  const entry = () =>
    JSON.stringify({
      ip: '198.51.100.66',
      user: 'proxy',
      expiry: Math.floor(Date.now() / 1000) + 900,
    });

  test('the control: the console’s own page, and credentials that the browser remembers, do reach the server', async () => {
    const own = await victim.page.evaluate(
      "fetch('/console/session', { method: 'GET' }).then((answer) => answer.status)",
    );
    expect(own).toBe(200);
    const page = await victim.context.newPage();
    expect((await page.goto(`${t.facts.base_url}/v0/contract`))?.status()).toBe(200);
    await page.close();
  });

  describe.each(sites)('%s', (_, origin) => {
    test('reads nothing: neither with fetch, nor with an event stream, an image or a script', async () => {
      const page = await lure(origin());
      const readable = await run(
        page,
        `const read = [];
        for (const path of ['/console/session', '/console/users', '/console/tokens', '/console', '/v0/contract', '/v0/contract/overrides', '/']) {
          for (const options of [{ credentials: 'include' }, {}, { headers: { authorization: 'Basic eDp5' } }]) {
            await fetch(BASE + path, options).then(async (answer) => read.push(path + await answer.text()), () => undefined);
          }
          const opaque = await fetch(BASE + path, { credentials: 'include', mode: 'no-cors' }).catch(() => undefined);
          if (opaque && (opaque.status !== 0 || (await opaque.text()) !== '')) read.push('no-cors ' + path);
        }
        for (const path of ['/console/events', '/admin/events']) {
          await new Promise((done) => {
            const source = new EventSource(BASE + path, { withCredentials: true });
            source.onopen = () => { read.push('stream ' + path); source.close(); done(); };
            source.onerror = () => { source.close(); done(); };
          });
        }
        await new Promise((done) => {
          const socket = new WebSocket(BASE.replace('http', 'ws') + '/console/events');
          socket.onopen = () => { read.push('socket'); done(); };
          socket.onerror = () => done();
        });
        for (const path of ['/icon.svg', '/console/session', '/v0/contract']) {
          for (const name of ['img', 'script']) {
            await new Promise((done) => {
              const element = document.createElement(name);
              element.onload = () => { read.push(name + ' ' + path); done(); };
              element.onerror = done;
              element.src = BASE + path;
              document.body.append(element);
            });
          }
        }
        return read;`,
      );
      expect(readable).toEqual([]);
      await page.close();
    });

    test('changes nothing: neither with forms of any kind, nor with fetch of any kind', async () => {
      const before = await state();
      const page = await lure(origin());
      await run(
        page,
        `const body = ${JSON.stringify(entry())};
        const attempts = [
          ['POST', '/console/authlist'], ['POST', '/v0/contract/ip-authlist'],
          ['DELETE', '/console/authlist'], ['DELETE', '/v0/contract/overrides'],
          ['DELETE', '/console/session'], ['POST', '/console/tokens'],
          ['PATCH', '/console/users/proxy'], ['PUT', '/console/password'],
          ['POST', '/console/users/proxy/token_version'], 
        ];
        const types = ['application/json', 'text/plain', 'application/x-www-form-urlencoded'];
        for (const [method, path] of attempts) {
          for (const mode of ['cors', 'no-cors', 'same-origin']) {
            const options = { method, mode, credentials: 'include' };
            // Some changes need no body at all.
            await fetch(BASE + path, options).catch(() => undefined);
            for (const type of types) {
              const headers = { 'content-type': type };
              await fetch(BASE + path, { ...options, headers, body }).catch(() => undefined);
            }
          }
        }
        navigator.sendBeacon(BASE + '/console/authlist', body);
        navigator.sendBeacon(BASE + '/v0/contract/ip-authlist', new Blob([body], { type: 'text/plain' }));`,
      );
      for (const path of [
        '/console/authlist',
        '/console/authlist/restore',
        '/v0/contract/ip-authlist',
      ]) {
        for (const enctype of [
          'text/plain',
          'application/x-www-form-urlencoded',
          'multipart/form-data',
        ]) {
          // A body of text that reads as JSON: the name is its first half.
          const answered = page.waitForResponse((response) => response.url().endsWith(path));
          await run(
            page,
            `const form = document.createElement('form');
            Object.assign(form, { method: 'post', action: BASE + ${JSON.stringify(path)}, enctype: ${JSON.stringify(enctype)} });
            const field = document.createElement('input');
            field.name = ${JSON.stringify(entry().slice(0, -1))} + ',"x":"';
            field.value = '"}';
            form.append(field);
            document.body.append(form);
            form.submit();`,
          );
          expect((await answered).status(), `${path} ${enctype}`).toBeGreaterThanOrEqual(400);
          await page.waitForURL(`${t.facts.base_url}${path}`);
          await page.goto(`${origin()}/`);
        }
      }
      expect(await state()).toBe(before);
      await page.close();
    });

    test('frames nothing, and holds no handle on a window of the console that it opens', async () => {
      const page = await lure(origin());
      const framed: string[] = [];
      page.on('console', (message) => framed.push(message.text()));
      for (const path of ['/', '/docs', '/console/session']) {
        await run(
          page,
          `const frame = document.createElement('iframe');
          frame.src = BASE + ${JSON.stringify(path)};
          await new Promise((done) => { frame.onload = done; document.body.append(frame); });`,
        );
      }
      for (const frame of page.frames().slice(1)) {
        expect(frame.url()).toMatch(/^chrome-error:|\/console\/session$/);
      }
      expect(framed.join()).toMatch(/frame-ancestors|X-Frame-Options/);
      const opened = victim.context.waitForEvent('page');
      await run(page, "window.opened = window.open(BASE + '/');");
      const other = await opened;
      await other.getByRole('heading', { level: 1 }).waitFor();
      expect(await run(page, 'return window.opened.closed;')).toBe(true);
      expect(await other.evaluate('window.opener')).toBeNull();
      await other.close();
      await page.close();
    });

    test('that links to the console lets nobody do by following it what takes a press there', async () => {
      const before = await state();
      const page = await lure(origin());
      for (const path of ['/console/session', '/console/authlist', '/v0/contract/ip-authlist']) {
        await page.goto(`${origin()}/`);
        await run(page, `location.href = BASE + ${JSON.stringify(path)};`);
        await page.waitForURL(`${t.facts.base_url}${path}`);
      }
      expect(await state()).toBe(before);
      await page.close();
    });
  });

  test('of another host never sent the session’s cookie; one on another port of this machine is refused with it', async () => {
    /** The request that really goes out for a change by a page of this origin, and its response. */
    const attempt = async (origin: string) => {
      const page = await lure(origin);
      const wire = await victim.context.newCDPSession(page);
      const seen: Record<string, unknown> = {};
      wire.on('Network.requestWillBeSentExtraInfo', ({ headers }) => Object.assign(seen, headers));
      wire.on('Network.responseReceivedExtraInfo', ({ statusCode }) => {
        seen.status = statusCode;
      });
      await wire.send('Network.enable');
      const script = `await fetch(BASE + '/console/authlist', {
        method: 'POST', credentials: 'include', mode: 'no-cors', body: ${JSON.stringify(entry())},
      }).catch(() => undefined);`;
      await run(page, script);
      await expect.poll(() => seen, { timeout: 40_000 }).toHaveProperty('status');
      await page.close();
      return Object.fromEntries(
        Object.entries(seen).map(([name, value]) => [name.toLowerCase(), value]),
      );
    };
    const foreign = await attempt(`http://other.example:${port()}`);
    expect(foreign).toMatchObject({ 'sec-fetch-site': 'cross-site', status: 401 });
    expect(foreign).not.toHaveProperty('cookie');
    expect(await attempt(`http://127.0.0.1:${port()}`)).toMatchObject({
      'sec-fetch-site': 'same-site',
      cookie: expect.stringMatching(/exitward-\d+=/),
      status: 403,
    });
  });

  test('gets no cookie from a script: the session’s is for the server alone', async () => {
    expect(await victim.page.evaluate('document.cookie')).toBe('');
    const cookies = (await victim.context.cookies()).filter(({ name }) =>
      /^exitward-\d+$/.test(name),
    );
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Strict', path: '/' }]);
  });

  test('and none of it: a session of the console opens neither /v0 nor /admin nor /node', async () => {
    const other = await t.visitAs(everything);
    // They carry the cookie, as the browser would.
    const { request } = other.context;
    expect((await request.get(`${t.facts.base_url}/console/session`)).status()).toBe(200);
    for (const path of ['/v0/contract', '/v0/contract/ip-authlist', '/node/snapshot']) {
      expect((await request.get(t.facts.base_url + path)).status(), path).toBe(401);
    }
    for (const listener of [t.facts.base_url, t.facts.admin_url]) {
      const answer = await request.get(`${listener}/admin/status`);
      expect(answer.status()).toBe(listener === t.facts.admin_url ? 401 : 404);
    }
    // Nor does a token of another audience open the console.
    const token = t.facts.accounts[0]?.api_token;
    for (const authorization of [`Bearer ${t.facts.admin_token}`, `Basic ${btoa(`:${token}`)}`]) {
      const answer = await fetch(`${t.facts.base_url}/console/users`, {
        headers: { authorization },
      });
      expect(answer.status).toBe(401);
    }
    await other.end();
  });
});
