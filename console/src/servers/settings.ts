// Settings for programs that use a proxy; pure text, nothing is sent.

import { curlThrough, placeOf, proxyUrl, shell, type Through } from './curl.ts';

export interface Settings {
  text: string;
  /** A note to read before using it. */
  note?: string;
}

/** The placeholder until there is a token. */
export const tokenPlace = 'PROXY_ACCESS_TOKEN';

const direct = ['localhost', '127.0.0.1', '::1'];

/** Whether the page is on this machine: by default browsers open such pages without a proxy. */
function isOfThisMachine(page: string): boolean {
  const host = URL.canParse(page) ? new URL(page).hostname.replace(/^\[|\]$/g, '') : '';
  return /^127\.|(^|\.)localhost$/.test(host) || host === '::1';
}

/** Makes Chrome use the proxy for everything. */
const bypassNothing = '--proxy-bypass-list=<-loopback>';

// ---- Quoting ------------------------------------------------------------------------------

/** Quotes for PowerShell, which doubles a quote, and also treats curly quotes as quotes. */
export function powershell(text: string): string {
  return `'${text.replace(/['\u2018-\u201b]/g, '$&$&')}'`;
}

/** Quotes for JavaScript, TypeScript and Python. */
export function literal(text: string): string {
  return JSON.stringify(text);
}

/** Encodes a part of a URL's credentials: everything except letters, digits and `-._~`. */
export function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The proxy as a URL, with encoded credentials if there are any. */
export function proxyUrlWithCredentials(way: Through): string {
  const { credentials } = way;
  if (!credentials) return proxyUrl(way);
  const who = `${encode(credentials.user)}:${encode(credentials.token)}@`;
  return proxyUrl(way).replace('://', `://${who}`);
}

// ---- Programs -----------------------------------------------------------------------------

function curl(way: Through, page: string): Settings {
  return { text: curlThrough(way, page) };
}

function posix(way: Through): Settings {
  const url = shell(proxyUrlWithCredentials(way));
  return {
    text: [
      `export http_proxy=${url}`,
      `export https_proxy=${url}`,
      `export no_proxy=${shell(direct.join(','))}`,
    ].join('\n'),
    note: 'Both variables name the same proxy: http_proxy is for pages at http://, https_proxy for those at https://.',
  };
}

function powershellVariables(way: Through): Settings {
  const url = powershell(proxyUrlWithCredentials(way));
  return {
    text: [
      `$env:http_proxy = ${url}`,
      `$env:https_proxy = ${url}`,
      `$env:no_proxy = ${powershell(direct.join(','))}`,
    ].join('\n'),
    note: 'For this window, and the programs started from it.',
  };
}

function playwright(way: Through, page: string): Settings {
  const { credentials } = way;
  const proxy = [
    `server: ${literal(proxyUrl(way))}`,
    ...(credentials
      ? [`username: ${literal(credentials.user)}`, `password: ${literal(credentials.token)}`]
      : []),
  ];
  return {
    text: `import { chromium } from 'playwright';

const browser = await chromium.launch({
  proxy: {
${proxy.map((line) => `    ${line},`).join('\n')}
  },
});
const page = await browser.newPage();
await page.goto(${literal(page)});
console.log(await page.title());
await browser.close();`,
  };
}

function selenium(way: Through, page: string): Settings {
  const { credentials } = way;
  const lines = [
    'from selenium import webdriver',
    '',
    'options = webdriver.ChromeOptions()',
    `options.add_argument(${literal(`--proxy-server=${proxyUrl(way)}`)})`,
    ...(isOfThisMachine(page) ? [`options.add_argument(${literal(bypassNothing)})`] : []),
    ...(credentials ? ['options.enable_bidi = True'] : []),
    'driver = webdriver.Chrome(options=options)',
    ...(credentials
      ? [
          `driver.network.add_auth_handler(${literal(credentials.user)}, ${literal(credentials.token)})`,
        ]
      : []),
    `driver.get(${literal(page)})`,
    'print(driver.title)',
    'driver.quit()',
  ];
  return {
    text: lines.join('\n'),
    ...(credentials
      ? {
          note: 'Chrome can’t take a password as an option, so Selenium answers when the proxy asks. Needs selenium 4.30 or newer.',
        }
      : {}),
  };
}

const promptNote = (way: Through) =>
  way.credentials ? ' It asks for the user name and the token when it first connects.' : '';

function chrome(way: Through, page: string): Settings {
  const bypass = isOfThisMachine(page) ? ` ${shell(bypassNothing)}` : '';
  return {
    text: `google-chrome --user-data-dir="$(mktemp -d)" --proxy-server=${shell(proxyUrl(way))}${bypass} ${shell(page)}`,
    note: `Opens Chrome with a separate profile.${promptNote(way)}`,
  };
}

function firefox(way: Through, page: string): Settings {
  const { host, port } = way;
  const secure = way.service === 'proxy-https';
  const prefs: Array<[string, string | number | boolean]> = secure
    ? [
        ['network.proxy.type', 2],
        ['network.proxy.autoconfig_url', `data:text/javascript,${encode(pacText(way, page))}`],
      ]
    : [
        ['network.proxy.type', 1],
        ['network.proxy.http', host],
        ['network.proxy.http_port', port],
        ['network.proxy.ssl', host],
        ['network.proxy.ssl_port', port],
      ];
  if (isOfThisMachine(page)) prefs.push(['network.proxy.allow_hijacking_localhost', true]);
  const where = 'The file user.js in the folder of a Firefox profile.';
  const how = secure
    ? ' Firefox accepts a proxy over TLS only from a PAC file, so this contains one.'
    : ` By hand: Settings, Network Settings, Manual proxy configuration: ${host}, port ${port}, also for HTTPS.`;
  return {
    text: prefs
      .map(([name, value]) => `user_pref(${literal(name)}, ${JSON.stringify(value)});`)
      .join('\n'),
    note: `${where}${how}${promptNote(way)}`,
  };
}

function pac(way: Through, page: string): Settings {
  return {
    text: pacText(way, page),
    note: `For browsers and systems that take a proxy auto-configuration file.${isOfThisMachine(page) ? ' Some bypass every proxy for pages of this machine: Chrome then also needs --proxy-bypass-list.' : ''}${promptNote(way)}`,
  };
}

function pacText(way: Through, page: string): string {
  const proxy = `${way.service === 'proxy-https' ? 'HTTPS' : 'PROXY'} ${placeOf(way)}`;
  const bypass = isOfThisMachine(page)
    ? ''
    : `  if (isPlainHostName(host) || host === '127.0.0.1' || host === '::1') return 'DIRECT';\n`;
  return `function FindProxyForURL(url, host) {
${bypass}  return ${literal(proxy)};
}`;
}

export const programs = {
  curl: { name: 'curl', write: curl },
  posix: { name: 'Shell', write: posix },
  powershell: { name: 'PowerShell', write: powershellVariables },
  playwright: { name: 'Playwright', write: playwright },
  selenium: { name: 'Selenium', write: selenium },
  chrome: { name: 'Chrome', write: chrome },
  firefox: { name: 'Firefox', write: firefox },
  pac: { name: 'PAC file', write: pac },
} as const satisfies Record<
  string,
  { name: string; write: (way: Through, page: string) => Settings }
>;

export type Program = keyof typeof programs;
