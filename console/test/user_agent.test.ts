// Sessions are listed by the browser that holds them: what is made of its User-Agent header.
import { expect, test } from 'vitest';
import { browserInWords } from '../src/account/sign_in/user_agent.ts';

const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)';

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', 'Firefox on Linux'],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/142.0.0.0 Safari/537.36`,
    'Chrome on Windows',
  ],
  [
    `Mozilla/5.0 (X11; Linux x86_64) ${webkit} HeadlessChrome/142.0.0.0 Safari/537.36`,
    'Chrome on Linux',
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15',
    'Safari on macOS',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1',
    'Safari on iPhone',
  ],
  [
    'Mozilla/5.0 (iPad; CPU OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/142.0 Mobile/15E148 Safari/604.1',
    'Chrome on iPad',
  ],
  [
    `Mozilla/5.0 (Linux; Android 10; K) ${webkit} Chrome/142.0.0.0 Mobile Safari/537.36`,
    'Chrome on Android',
  ],
  [
    `Mozilla/5.0 (Linux; Android 10; K) ${webkit} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36`,
    'Samsung Internet on Android',
  ],
  [
    `Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${webkit} Chrome/142.0.0.0 Safari/537.36`,
    'Chrome on ChromeOS',
  ],
])('%s is named in words: %s', (user_agent, words) => {
  expect(browserInWords(user_agent)).toBe(words);
});

test('a browser is distinguished from those that it descends from', () => {
  const chrome = `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/142.0.0.0 Safari/537.36`;
  expect(browserInWords(`${chrome} Edg/142.0.0.0`)).toBe('Edge on Windows');
  expect(browserInWords(`${chrome} OPR/124.0.0.0`)).toBe('Opera on Windows');
  expect(browserInWords(`${chrome} Vivaldi/7.6`)).toBe('Vivaldi on Windows');
});

test('a program that is no browser is shown by its own name', () => {
  expect(browserInWords('curl/8.5.0')).toBe('curl');
  expect(browserInWords('python-requests/2.32')).toBe('python-requests');
});

test('nothing is made up of what says nothing', () => {
  expect(browserInWords('')).toBe('An unknown browser');
  expect(browserInWords('Mozilla/5.0')).toBe('An unknown browser');
  expect(browserInWords('Mozilla/5.0 (X11; Linux x86_64)')).toBe('A browser on Linux');
  expect(browserInWords('<b>hello</b>')).toBe('An unknown browser');
});
