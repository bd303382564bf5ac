// Somebody at the console: one browser profile with one page, which notes everything that should
// not happen.
import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  Locator,
  Page,
} from 'playwright-core';
import { pagePatienceMs } from '../browser.ts';

/** Breaches of the content policy become errors on the console, those of Trusted Types too. */
const tellBreaches = `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
  console.error('content policy: ' + [violatedDirective, blockedURI, sample].join(' ')));`;

/** Chromium says so of each answer of 400 to 499, which tests look at themselves. */
const isRefusal = (text: string) =>
  /^Failed to load resource: the server responded with a status of 4\d\d /.test(text);

export class Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly origin: string;
  /** The things that should not have happened, in words. */
  readonly problems: string[] = [];
  /** The server is away, or fails: its browser may say so. */
  mayBeUnreachable = false;

  private constructor(context: BrowserContext, page: Page, origin: string) {
    this.context = context;
    this.page = page;
    this.origin = origin;
    page.setDefaultTimeout(pagePatienceMs);
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol === 'blob:') return;
      if (url.origin !== origin) this.problems.push(`request to ${url.href}`);
    });
    page.on('response', (response) => {
      if (response.status() >= 500 && !this.mayBeUnreachable)
        this.problems.push(`${response.status()} of ${response.url()}`);
    });
    page.on('pageerror', (error) => this.problems.push(`error: ${error.stack ?? error.message}`));
    page.on('console', (message) => {
      const text = message.text();
      if (!['error', 'warning'].includes(message.type()) || isRefusal(text)) return;
      if (this.mayBeUnreachable && text.startsWith('Failed to load resource: ')) return;
      this.problems.push(`${message.type()}: ${text}`);
    });
  }

  static async begin(
    browser: Browser,
    origin: string,
    options: BrowserContextOptions,
  ): Promise<Visit> {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      reducedMotion: 'reduce',
      locale: 'en-GB',
      ...options,
    });
    await context.addInitScript(tellBreaches);
    return new Visit(context, await context.newPage(), origin);
  }

  /** Types an address: the page is loaded again. */
  async open(path: string): Promise<void> {
    await this.page.goto('about:blank');
    await this.page.goto(this.origin + path);
  }

  /** Opens a sign-in link and signs in by it. */
  async enter(path: string): Promise<void> {
    await this.open(path);
    await this.button('Sign in').click();
  }

  /** Follows a link within the page, as `/authlist`, and waits until something of it is there. */
  async go(path: string): Promise<void> {
    await this.page.goto(`${this.origin}/#${path}`);
    await this.page.getByRole('heading', { level: 1 }).waitFor();
    await this.settled();
  }

  /** Waits until nothing says that it is being read. */
  async settled(): Promise<void> {
    await this.page.locator('.loading, .spinner').first().waitFor({ state: 'hidden' });
  }

  /** Names are whole where they are strings. */
  heading(name: string | RegExp): Locator {
    return this.page.getByRole('heading', { name, exact: true });
  }
  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name, exact: true });
  }
  link(name: string | RegExp): Locator {
    return this.page.getByRole('link', { name, exact: true });
  }
  field(label: string | RegExp): Locator {
    return this.page.getByLabel(label, { exact: true });
  }
  dialog(name: string | RegExp): Locator {
    return this.page.getByRole('dialog', { name, exact: true });
  }
  /** The row of a table whose cells hold this. */
  row(text: string | RegExp): Locator {
    return this.page.getByRole('row').filter({ hasText: text });
  }
  /** A message of what was done. */
  toast(text: string | RegExp): Locator {
    return this.page.locator('.toast').filter({ hasText: text });
  }

  /**
   * Copies by a button: the text that is in the clipboard then, which may be another test's, as all
   * pages of a browser share it.
   */
  async copied(button: Locator): Promise<string> {
    await this.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await button.click();
    return await this.page.evaluate('navigator.clipboard.readText()');
  }

  /** Presses one of a few that look like buttons. */
  async select(name: string | RegExp): Promise<void> {
    const radio = this.page.getByRole('radio', { name, exact: true });
    await this.page.locator('label').filter({ has: radio }).click();
  }

  /** Exports the list as it is shown. */
  async exportAs(format: string): Promise<void> {
    await this.button('Export').click();
    await this.page.getByRole('menuitem', { name: format }).click();
  }

  /** Waits until the page says this. */
  async sees(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).first().waitFor();
  }

  /** The fault that stands beside the field. */
  async faultOf(label: string): Promise<string> {
    const field = this.field(label);
    await this.page.locator('[aria-invalid="true"]').first().waitFor();
    const described = await field.getAttribute('aria-describedby');
    const id = described?.split(' ').find((part) => part.endsWith('-fault'));
    return (await this.page.locator(`[id="${id}"]`).textContent()) ?? '';
  }

  /** The names in the menu, from the top. */
  menu(): Promise<string[]> {
    return this.page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts();
  }

  async end(): Promise<void> {
    await this.context.close();
  }
}
