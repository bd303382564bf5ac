// The browser of the tests: Debian's Chromium, kept from talking to anybody by itself.
import { type Browser, chromium } from 'playwright-core';

/** .ci/run installs it. */
const executablePath = process.env.EXITWARD_TEST_CHROMIUM ?? '/usr/bin/chromium';

const quiet = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts one, with further arguments of its command line. */
export function startBrowser(...args: string[]): Promise<Browser> {
  return chromium.launch({ executablePath, args: [...quiet, ...args] });
}
