// Chromium as a foreign client: for each deed a profile that has its proxy.
import type { Browser, Page } from 'playwright-core';
import { launchBrowser, ownBrowser } from '../../../test/browser.ts';
import { effort } from '../../../test/effort.ts';
import type { Deed, ForeignClient, Outcome } from './clients.ts';
import { digestOf } from './site.ts';

/** Runs in a page of the site: returns the site's file as a data URL. */
const load = `fetch('blob').then((response) => response.blob()).then((blob) =>
  new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.readAsDataURL(blob);
  }))`;

/** Runs in a page, too: uploads the file, and returns the site's response. */
const send = `fetch('blob').then((response) => response.blob()).then((body) =>
  fetch('blob', { method: 'PUT', body })).then((response) => response.text())`;

const speak = `new Promise((resolve, reject) => {
  const socket = new WebSocket(location.href.replace('http', 'ws'));
  socket.onopen = () => socket.send('hello');
  socket.onmessage = ({ data }) => resolve(data);
  socket.onerror = () => reject(new Error('no WebSocket'));
})`;

const trusting = ['--ignore-certificate-errors'];

export class Chromium implements ForeignClient {
  readonly name = 'Chromium';
  readonly schemes: ForeignClient['schemes'] = ['http', 'https'];
  readonly tlsToProxy: ForeignClient['schemes'] = ['http', 'https'];
  readonly version = '2.0';
  readonly refusal =
    /ERR_(TUNNEL_CONNECTION_FAILED|INVALID_AUTH_CREDENTIALS|HTTP_RESPONSE_CODE_FAILURE)/;
  #whole: Promise<Browser> | undefined;
  #shell: Promise<Browser> | undefined;

  download(deed: Deed): Promise<Outcome> {
    return this.#visit(deed, async (page) => {
      const [, text = ''] = String(await page.evaluate(load)).split(',');
      return digestOf(Buffer.from(text, 'base64'));
    });
  }

  upload(deed: Deed): Promise<Outcome> {
    return this.#visit(deed, (page) => page.evaluate<string>(send));
  }

  speak(deed: Deed): Promise<Outcome> {
    return this.#visit(deed, (page) => page.evaluate<string>(speak));
  }

  async stop(): Promise<void> {
    for (const browser of [this.#whole, this.#shell]) await (await browser)?.close();
  }

  async #visit(deed: Deed, work: (page: Page) => Promise<string>): Promise<Outcome> {
    const { protocol, host, username, password } = new URL(deed.proxy);
    const browser = await this.#browserFor(username !== '');
    const context = await browser.newContext({
      // By default it connects to addresses of its own machine without the proxy.
      proxy: { server: `${protocol}//${host}`, bypass: '<-loopback>', username, password },
    });
    try {
      const page = await context.newPage();
      const response = await page.goto(`${deed.site}/page`, { timeout: 60_000 });
      if (response?.ok()) return { digest: await work(page), output: '' };
      return { digest: undefined, output: `${response?.status()} ${await page.content()}` };
    } catch (error) {
      return { digest: undefined, output: String(error) };
    } finally {
      await context.close();
    }
  }
  /**
   * With credentials: Chromium without windows, at a third of the cost. Without credentials, it
   * asks for them again and again.
   */
  #browserFor(hasCredentials: boolean): Promise<Browser> {
    if (!hasCredentials || effort === 'deep') {
      this.#whole ??= launchBrowser(trusting);
      return this.#whole;
    }
    this.#shell ??= ownBrowser(trusting);
    return this.#shell;
  }
}
