// Settings to copy: the programs that read them use what was selected.
import { execFileSync } from 'node:child_process';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { shell, type Through } from '../src/servers/curl.ts';
import {
  type Program,
  powershell,
  programs,
  proxyUrlWithCredentials,
  tokenPlace,
} from '../src/servers/settings.ts';

const page = 'https://www.example.com/?a=1&b=2';
const plain: Through = { host: 'fra1.example.net', port: 11_004, service: 'proxy' };
const overTls: Through = { ...plain, port: 12_004, service: 'proxy-https' };
const withToken: Through = { ...plain, credentials: { user: 'ann', token: tokenPlace } };
const odd: Through = {
  ...plain,
  credentials: { user: `o'brien "x" $(id) \`id\`\\@work`, token: `a:b/c?d#e%f!(g)*'` },
};
const textOf = (program: Program, way: Through) => programs[program].write(way, page).text;
/** The words that a POSIX shell makes of the text. */
const wordsOf = (text: string) =>
  execFileSync('/bin/sh', ['-c', `printf '%s\\0' ${text}`])
    .toString()
    .split('\0')
    .slice(0, -1);

describe('quoting', () => {
  test('a shell reads back any text as one word', () => {
    const oddText = fc
      .string({ unit: 'binary', minLength: 1 })
      .filter((text) => !text.includes('\0'));
    const texts = fc.sample(oddText, 50);
    expect(wordsOf(texts.map(shell).join(' '))).toEqual(
      texts.map((text) => Buffer.from(text).toString()),
    );
  });

  test('plain words stay as they are', () => {
    expect(shell('ann@example.com:token-1')).toBe('ann@example.com:token-1');
    expect(shell('')).toBe("''");
  });

  test('PowerShell doubles each quote, the curly ones too', () => {
    expect(powershell("o'br’ien")).toBe("'o''br’’ien'");
    expect(powershell('$env:x `n')).toBe("'$env:x `n'");
  });

  test('credentials in a URL are read back by a URL parser, whatever they are', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 1 }),
        fc.string({ unit: 'grapheme', minLength: 1 }),
        (user, token) => {
          const url = new URL(proxyUrlWithCredentials({ ...plain, credentials: { user, token } }));
          expect(decodeURIComponent(url.username)).toBe(user);
          expect(decodeURIComponent(url.password)).toBe(token);
          expect(url.host).toBe('fra1.example.net:11004');
        },
      ),
    );
  });
});

describe('curl', () => {
  test('by address it names the proxy alone', () => {
    expect(textOf('curl', plain)).toBe(
      `curl 'https://www.example.com/?a=1&b=2' -x http://fra1.example.net:11004`,
    );
  });

  test('by token user and token go beside the URL, as they are', () => {
    expect(wordsOf(textOf('curl', odd))).toEqual([
      'curl',
      page,
      '-x',
      'http://fra1.example.net:11004',
      '-U',
      `${odd.credentials?.user}:${odd.credentials?.token}`,
    ]);
  });

  test('a proxy over TLS has the scheme https', () => {
    expect(textOf('curl', overTls)).toContain('-x https://fra1.example.net:12004');
    expect(textOf('playwright', overTls)).toContain('"https://fra1.example.net:12004"');
  });
});

describe('environment variables', () => {
  test('a shell exports both variables with encoded credentials, and what goes direct', () => {
    const script = `${textOf('posix', odd)}\nprintf '%s\\n' "$http_proxy" "$https_proxy" "$no_proxy"`;
    const [http, https, none] = execFileSync('/bin/sh', ['-c', script]).toString().split('\n');
    expect(http).toBe(proxyUrlWithCredentials(odd));
    expect(https).toBe(http);
    expect(none).toBe('localhost,127.0.0.1,::1');
    expect(http).toContain('o%27brien%20%22x%22%20%24%28id%29%20%60id%60%5C%40work:');
  });

  test('PowerShell gets the same URL in quotes', () => {
    expect(textOf('powershell', withToken)).toContain(
      `$env:https_proxy = 'http://ann:${tokenPlace}@fra1.example.net:11004'`,
    );
  });
});

describe('programs', () => {
  test('Playwright is given server, user name and password apart', () => {
    const [, proxy = ''] = /proxy: (\{[^}]*\})/.exec(textOf('playwright', odd)) ?? [];
    expect(runInNewContext(`(${proxy})`)).toEqual({
      server: 'http://fra1.example.net:11004',
      username: odd.credentials?.user,
      password: odd.credentials?.token,
    });
    expect(textOf('playwright', plain)).not.toContain('username');
  });

  test('Selenium answers the proxy where there is a token, and needs nothing for that by address', () => {
    expect(textOf('selenium', withToken)).toContain(
      `driver.network.add_auth_handler("ann", "${tokenPlace}")`,
    );
    expect(textOf('selenium', plain)).not.toMatch(/bidi|auth/);
    expect(textOf('selenium', plain)).toContain('"--proxy-server=http://fra1.example.net:11004"');
  });

  test.each<[Program]>([['chrome'], ['firefox'], ['pac']])(
    '%s never holds the token: it asks for it',
    (program) => {
      const way = { ...odd, credentials: { user: 'ann', token: 'ewt_secret' } };
      expect(textOf(program, way)).not.toContain('ewt_secret');
      expect(programs[program].write(way, page).note).toContain('asks for the user name');
      expect(programs[program].write(plain, page).note).not.toContain('asks for');
    },
  );

  test('Firefox is given host and port by name, and a PAC file for a proxy over TLS', () => {
    const settings = (way: Through) => {
      const prefs: Record<string, unknown> = {};
      runInNewContext(textOf('firefox', way), {
        user_pref: (name: string, value: unknown) => {
          prefs[name] = value;
        },
      });
      return prefs;
    };
    expect(settings(plain)).toEqual({
      'network.proxy.type': 1,
      'network.proxy.http': 'fra1.example.net',
      'network.proxy.http_port': 11_004,
      'network.proxy.ssl': 'fra1.example.net',
      'network.proxy.ssl_port': 11_004,
    });
    const secure = settings(overTls);
    expect(secure['network.proxy.type']).toBe(2);
    const [, script = ''] = String(secure['network.proxy.autoconfig_url']).split(',', 2);
    expect(decodeURIComponent(script)).toBe(textOf('pac', overTls));
  });

  test('a PAC file sends all but this machine through the proxy, and says how it is spoken to', () => {
    const find = (way: Through, host: string) =>
      runInNewContext(`${textOf('pac', way)}; FindProxyForURL('', host)`, {
        host,
        isPlainHostName: (name: string) => !name.includes('.'),
      });
    expect(find(plain, 'www.example.com')).toBe('PROXY fra1.example.net:11004');
    expect(find(overTls, 'www.example.com')).toBe('HTTPS fra1.example.net:12004');
    expect(find(plain, 'localhost')).toBe('DIRECT');
    expect(find(plain, '127.0.0.1')).toBe('DIRECT');
  });

  test.each(['http://127.0.0.1:11080/', 'http://localhost/', 'http://[::1]/x'])(
    'a page of this machine, %s, is fetched through the proxy too',
    (own) => {
      const write = (program: Program) => programs[program].write(plain, own).text;
      expect(wordsOf(write('chrome').replace('"$(mktemp -d)"', 'x'))).toContain(
        '--proxy-bypass-list=<-loopback>',
      );
      expect(write('selenium')).toContain('"--proxy-bypass-list=<-loopback>"');
      expect(write('firefox')).toContain('"network.proxy.allow_hijacking_localhost", true');
      expect(write('pac')).not.toContain('DIRECT');
      for (const program of ['chrome', 'selenium', 'firefox'] as const) {
        expect(textOf(program, plain)).not.toMatch(/loopback|hijacking/);
      }
    },
  );
});
