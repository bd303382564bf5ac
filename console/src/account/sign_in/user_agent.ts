// The name of a browser, in words: "Firefox on Linux".

/** The first match counts: most browsers also name those that they descend from. */
const browsers: Array<[RegExp, string]> = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|HeadlessChrome|CriOS)\//, 'Chrome'],
  [/\bChromium\//, 'Chromium'],
  [/\bVersion\/[\d.]+ .*\bSafari\//, 'Safari'],
];

const systems: Array<[RegExp, string]> = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMacintosh\b|\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

const nameIn = (list: Array<[RegExp, string]>, text: string) =>
  list.find(([pattern]) => pattern.test(text))?.[1];

/**
 * The browser and its system, as far as a User-Agent header names them, or another program's name.
 */
export function browserInWords(user_agent: string): string {
  const browser = nameIn(browsers, user_agent);
  const system = nameIn(systems, user_agent);
  if (browser) return system ? `${browser} on ${system}` : browser;
  // curl/8.5.0, python-requests/2.32
  const [program] = /^[\w.-]+(?=\/|$)/.exec(user_agent) ?? [];
  if (program && program !== 'Mozilla') return program;
  return system ? `A browser on ${system}` : 'An unknown browser';
}
