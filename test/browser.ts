// Vitest's global setup: the browser of the tests, one Chromium for all files, kept from talking to
// anybody by itself.
import { existsSync } from 'node:fs';
import { type Browser, chromium, firefox, type LaunchOptions } from 'playwright-core';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The address at which Playwright reaches the browser. */
    chromiumUrl: string;
  }
}

/** How long a page of the tests has for one step, on a machine with much else to do. */
export const pagePatienceMs = 100_000;

const options: LaunchOptions = {
  executablePath: process.env.EXITWARD_TEST_CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    // Names of sites that tests put on this machine.
    '--host-resolver-rules=MAP page.example 127.0.0.1, MAP other.example 127.0.0.1',
  ],
};

/**
 * Chromium without windows, where it is installed: pages take two thirds of the time. It asks for a
 * proxy's password without end.
 */
const shell = '/usr/bin/chromium-headless-shell';
const isShell = process.env.EXITWARD_TEST_CHROMIUM === undefined && existsSync(shell);

const withoutWindows = { ...options, ...(isShell && { executablePath: shell }) };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await chromium.launchServer(withoutWindows);
  project.provide('chromiumUrl', server.wsEndpoint());
  return () => server.close();
}

/**
 * Connects to the browser of the run; closing the connection closes the pages that were opened by
 * it.
 */
export function connectBrowser(): Promise<Browser> {
  return chromium.connect(inject('chromiumUrl'));
}

/**
 * Starts a browser for one file: for thousands of steps its messages, which go no other way, cost
 * less than its start.
 */
export function ownBrowser(args: string[] = []): Promise<Browser> {
  return chromium.launch({ ...withoutWindows, args: [...(options.args ?? []), ...args] });
}

/**
 * Starts a whole Chromium of its own, with more arguments: for a program that is no test, or for a
 * client of a proxy.
 */
export function launchBrowser(args: string[] = []): Promise<Browser> {
  return chromium.launch({ ...options, args: [...(options.args ?? []), ...args] });
}

/**
 * Starts Debian's Firefox, which speaks WebDriver BiDi: Playwright drives it by its channel, as it
 * is installed (docs/decisions/0078). Downloads are in the folder.
 */
export function launchFirefox(downloadsPath: string): Promise<Browser> {
  return firefox.launch({
    channel: 'moz-firefox',
    executablePath: process.env.EXITWARD_TEST_FIREFOX ?? '/usr/bin/firefox-esr',
    downloadsPath,
    firefoxUserPrefs: {
      // It talks to nobody by itself.
      'network.captive-portal-service.enabled': false,
      'network.connectivity-service.enabled': false,
      'browser.safebrowsing.malware.enabled': false,
      'app.normandy.enabled': false,
    },
  });
}
