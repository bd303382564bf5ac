// The settings: pure, whole without any, every fault at once, and never a secret in a message.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Environment } from '../../kit/src/settings.ts';
import { tries } from '../../test/effort.ts';
import { isLoopback, readConfig } from '../src/config.ts';
import { eachDatabase } from './databases.ts';
import { keptLog, startTestApp } from './harness.ts';

/** Every name that config.ts knows, as it stands there. */
const names = Array.from(
  new Set(
    readFileSync(new URL('../src/config.ts', import.meta.url), 'utf8').match(
      /EXITWARD_[A-Z0-9_]*[A-Z0-9]/g,
    ),
  ),
);

/** The names in the tables of docs/configuration.md, except the agent's and the demo's. */
const documented = Array.from(
  readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8').matchAll(
    /^\| `(EXITWARD_(?!AGENT_|DEMO_)\w+)`/gm,
  ),
  ([, name = '']) => name,
);

/** The lines of the error, or none. */
function faultsOf(env: Environment): string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    return (error as Error).message.split('\n');
  }
}

describe('readConfig', () => {
  test('needs no settings', () => {
    expect(readConfig({})).toMatchObject({
      listen: { host: '127.0.0.1', port: 8080 },
      admin_listen: { host: '127.0.0.1', port: 8081 },
      metrics_listen: { host: '127.0.0.1', port: 9464 },
      tls: undefined,
      variants: 'both',
      addresses: 'any',
      api_tokens: 'viewable',
      rate_limit_per_minute: 0,
      unknown_settings: [],
    });
  });

  test('takes an empty setting as one that is not set', () => {
    expect(readConfig(Object.fromEntries(names.map((name) => [name, ''])))).toEqual(readConfig({}));
  });

  test('ignores the spaces and the CR around a value', () => {
    const env = { EXITWARD_LISTEN: '[::1]:1', EXITWARD_DATA_DIR: '/data' };
    const padded = Object.entries(env).map(([name, value]) => [name, ` ${value} \r`]);
    expect(readConfig(Object.fromEntries(padded))).toEqual(readConfig(env));
    expect(faultsOf({ EXITWARD_ADMIN_LISTEN: '*:8081\r' })).toEqual([
      'EXITWARD_ADMIN_LISTEN: "*:8081" is not valid; expected an address and a port such as 127.0.0.1:8081; for all addresses of this machine, [::]:8081.',
    ]);
  });

  test('knows where people reach the console: at the listener, unless a setting names it', () => {
    const at = (env: Environment) => readConfig(env).public_url;
    expect(at({})).toBe('http://127.0.0.1:8080');
    expect(at({ EXITWARD_LISTEN: '[::1]:1' })).toBe('http://[::1]:1');
    expect(at({ EXITWARD_TLS_TERMINATED: 'yes' })).toBe('https://127.0.0.1:8080');
    const reading = (EXITWARD_PUBLIC_URL: string) => at({ EXITWARD_PUBLIC_URL });
    expect(reading('https://Proxies.example/')).toBe('https://proxies.example');
    expect(reading('https://proxies.example:8443')).toBe('https://proxies.example:8443');
    expect(reading('http://[::1]:8080')).toBe('http://[::1]:8080');
    for (const value of [
      'proxies.example',
      'http://proxies.example',
      'https://proxies.example/console',
      'https://proxies.example/?a',
      'https://alice@proxies.example',
      'ftp://127.0.0.1',
    ]) {
      expect(faultsOf({ EXITWARD_PUBLIC_URL: value })).toEqual([
        expect.stringMatching(/^EXITWARD_PUBLIC_URL: .*expected https and a host/),
      ]);
    }
  });

  test('is pure: it changes nothing and answers the same again', () => {
    const env = Object.freeze({
      EXITWARD_LISTEN: '[::1]:1',
      EXITWARD_TRUSTED_PROXIES: '10.0.0.0/8',
    });
    expect(readConfig(env)).toEqual(readConfig(env));
    expect(readConfig(env).listen).toEqual({ host: '::1', port: 1 });
  });

  test('has one listener for customers and nodes until nodes are given their own', () => {
    const shared = readConfig({ EXITWARD_LISTEN: '127.0.0.1:1' });
    expect(shared.node_listen).toBe(shared.listen);
    const apart = readConfig({ EXITWARD_NODE_LISTEN: '127.0.0.1:2' });
    expect(apart.node_listen).toEqual({ host: '127.0.0.1', port: 2 });
  });

  test('takes geo-IP files by provider, several of one too, from the folder that it runs in', () => {
    const EXITWARD_GEOIP = 'dbip=/geo/v4.mmdb, dbip=/geo/v6.mmdb,my-own.2=a=b.mmdb,';
    expect(readConfig({ EXITWARD_GEOIP }).geoip).toEqual([
      { provider: 'dbip', file: '/geo/v4.mmdb' },
      { provider: 'dbip', file: '/geo/v6.mmdb' },
      { provider: 'my-own.2', file: resolve('a=b.mmdb') },
    ]);
    for (const bad of ['dbip', 'dbip=', '=/geo/v4.mmdb', 'db ip=x', '__proto__=x', 'a=b,c']) {
      expect(faultsOf({ EXITWARD_GEOIP: bad })).toEqual([
        `EXITWARD_GEOIP: ${JSON.stringify(bad)} is not valid; expected PROVIDER=FILE, or several separated by commas.`,
      ]);
    }
  });

  test('names the accounts that have metrics, not too many', () => {
    const named = (text: string) =>
      readConfig({ EXITWARD_METRICS_ACCOUNTS: text }).metrics_accounts;
    expect(readConfig({}).metrics_accounts).toEqual([]);
    expect(named('acme, initech,,acme')).toEqual(['acme', 'initech']);
    const many = Array.from({ length: 201 }, (_, at) => `a${at}`).join();
    expect(faultsOf({ EXITWARD_METRICS_ACCOUNTS: many })).toEqual([
      expect.stringMatching(
        /^EXITWARD_METRICS_ACCOUNTS: .* expected at most 200 names of accounts\.$/,
      ),
    ]);
  });

  test('serves no metrics when they are off', () => {
    expect(readConfig({ EXITWARD_METRICS_LISTEN: 'off' }).metrics_listen).toBe(undefined);
  });

  test('reports all faults at once, a line each that begins with the setting and says what was expected', () => {
    const faulty = {
      EXITWARD_LISTEN: 'nowhere',
      EXITWARD_ADMIN_LISTEN: '127.0.0.1:65536',
      EXITWARD_METRICS_LISTEN: '8080',
      EXITWARD_DATABASE_URL: 'mysql://x',
      EXITWARD_TLS_KEY: 'key.pem',
      EXITWARD_TLS_TERMINATED: 'true',
      EXITWARD_TRUSTED_PROXIES: '10.0.0.0/33',
      EXITWARD_VARIANTS: 'newest',
      EXITWARD_ADDRESSES: 'all',
      EXITWARD_API_TOKENS: 'never',
      EXITWARD_MAX_OVERRIDES: '0',
      EXITWARD_NODE_LOST_SECONDS: '1e3',
      EXITWARD_GEOIP: 'dbip=/geo/city.mmdb,/geo/asn.mmdb',
      EXITWARD_GEOFEED: 'yes',
      EXITWARD_CACHE_BYTES: '-1',
      EXITWARD_STOP_SECONDS: '9999999',
      EXITWARD_LOG_LEVEL: 'INFO',
      EXITWARD_LOG_REQUESTS: 'some',
    };
    const faults = faultsOf(faulty);
    for (const name of Object.keys(faulty)) {
      expect(
        faults.filter(
          (line) => line.startsWith(name) || (name === 'EXITWARD_TLS_KEY' && line.includes(name)),
        ),
      ).toHaveLength(1);
    }
    expect(faults).toHaveLength(Object.keys(faulty).length);
    for (const line of faults) expect(line).toMatch(/expected|set both|not a network|network/i);
  });

  test.each(['0.0.0.0:8080', '[::]:8080', '192.0.2.1:8080', 'example.com:8080'])(
    'listens on %s only with TLS, or behind a proxy that terminates it',
    (at) => {
      for (const name of ['EXITWARD_LISTEN', 'EXITWARD_ADMIN_LISTEN', 'EXITWARD_NODE_LISTEN']) {
        expect(faultsOf({ [name]: at })).toEqual([
          expect.stringMatching(`^${name}: .*in the clear`),
        ]);
        expect(faultsOf({ [name]: at })[0]).toContain(`${name}: ${at} is reachable`);
        expect(faultsOf({ [name]: at, EXITWARD_TLS_TERMINATED: 'yes' })).toEqual([]);
        expect(faultsOf({ [name]: at, EXITWARD_TLS_CERT: 'c', EXITWARD_TLS_KEY: 'k' })).toEqual([]);
      }
    },
  );

  describe('ACME', () => {
    const acme = {
      EXITWARD_LISTEN: '0.0.0.0:443',
      EXITWARD_PUBLIC_URL: 'https://Control.Example.net',
      EXITWARD_ACME: 'you@example.net',
      EXITWARD_DATA_DIR: '/data',
    };

    test('is on by one setting, for the name of the public URL', () => {
      const config = readConfig(acme);
      expect(config.acme).toEqual({
        contact: 'you@example.net',
        directory_url: 'https://acme-v02.api.letsencrypt.org/directory',
        challenge: 'tls-alpn-01',
        listen: undefined,
        names: ['control.example.net'],
      });
      const file = '/data/tls/certificate.pem';
      expect(config.tls).toEqual({ cert_file: file, key_file: file });
      expect(config.public_url).toBe('https://control.example.net');
      expect(readConfig({}).acme).toBeUndefined();
    });

    test('answers http-01 on port 80 of the same address, or where a setting says', () => {
      const http = { ...acme, EXITWARD_ACME_CHALLENGE: 'http-01' };
      expect(readConfig(http).acme?.listen).toEqual({ host: '0.0.0.0', port: 80 });
      const at = { ...http, EXITWARD_ACME_LISTEN: '[::1]:8000' };
      expect(readConfig(at).acme?.listen).toEqual({ host: '::1', port: 8000 });
    });

    test('needs a name that a certificate authority can know', () => {
      for (const url of ['https://192.0.2.1', 'https://[::1]', 'https://localhost', '']) {
        expect(faultsOf({ ...acme, EXITWARD_PUBLIC_URL: url })).toEqual([
          expect.stringMatching('^EXITWARD_PUBLIC_URL: ACME needs the DNS name'),
        ]);
        const named = { EXITWARD_PUBLIC_URL: url, EXITWARD_ACME_NAMES: 'A.example , b.example' };
        expect(readConfig({ ...acme, ...named }).acme?.names).toEqual(['a.example', 'b.example']);
      }
    });

    test.each([
      ['EXITWARD_ACME', 'yes'],
      ['EXITWARD_ACME', 'you@example.net,me@example.net'],
      ['EXITWARD_ACME_NAMES', '*.example.net'],
      ['EXITWARD_ACME_NAMES', '192.0.2.1'],
      ['EXITWARD_ACME_NAMES', ','],
      ['EXITWARD_ACME_DIRECTORY', 'http://ca.example/directory'],
      ['EXITWARD_ACME_DIRECTORY', 'letsencrypt'],
      ['EXITWARD_ACME_CHALLENGE', 'dns-01'],
      ['EXITWARD_ACME_LISTEN', '80'],
      ['EXITWARD_ACME_LISTEN', '0.0.0.0:0'],
      ['EXITWARD_ACME_LISTEN', '*:80'],
    ])('reports that %s cannot be %j', (name, value) => {
      expect(faultsOf({ ...acme, [name]: value })).toEqual([
        expect.stringMatching(`^${name}: .* is not valid; expected `),
      ]);
    });

    test('is one of the three ways to a certificate', () => {
      const files = { EXITWARD_TLS_CERT: 'c', EXITWARD_TLS_KEY: 'k' };
      for (const other of [files, { EXITWARD_TLS_TERMINATED: 'yes' }]) {
        expect(faultsOf({ ...acme, ...other })).toEqual([
          expect.stringMatching('^EXITWARD_ACME: .*set one of the three'),
        ]);
      }
    });
  });

  describe('a variable that no setting is called', () => {
    const unknown = (...variables: string[]) =>
      readConfig(Object.fromEntries(variables.map((name) => [name, 's3cret']))).unknown_settings;

    test('is named, with the setting that was likely meant and never its value', () => {
      expect(unknown('EXITWARD_BACKUP_DRI', 'exitward_listen', 'EXITWARD_AGNET_GUARD')).toEqual([
        'EXITWARD_BACKUP_DRI: no setting has this name, so it is ignored. Did you mean EXITWARD_BACKUP_DIR?',
        'exitward_listen: no setting has this name, so it is ignored. Did you mean EXITWARD_LISTEN?',
        'EXITWARD_AGNET_GUARD: no setting has this name, so it is ignored.',
      ]);
    });

    test('is none of the agent and of the demo', () => {
      expect(unknown('EXITWARD_AGENT_LISTEN_HOST', 'EXITWARD_DEMO_PORT_BASE')).toEqual([]);
    });

    test('is named with the faults that it may be the cause of', () => {
      const env = { EXITWARD_LISTEN: '0.0.0.0:80', EXITWARD_TLS_TERMINTED: 'yes' };
      expect(faultsOf(env)).toEqual([
        expect.stringMatching('^EXITWARD_LISTEN: .*in the clear'),
        expect.stringMatching('^EXITWARD_TLS_TERMINTED: .*mean EXITWARD_TLS_TERMINATED'),
      ]);
    });

    test('is none of those that are documented, that other programs read, or that are empty', () => {
      const env = Object.fromEntries(documented.map((name) => [name, 'x']));
      expect(faultsOf(env).filter((line) => line.includes('no setting has'))).toEqual([]);
      expect(unknown('EXITWARD_AGENT_X', 'EXITWARD_TEST_X', 'PATH', 'EXITWARDX')).toEqual([]);
      expect(readConfig({ EXITWARD_X: '' }).unknown_settings).toEqual([]);
    });

    test('is no variable that Kubernetes or Docker makes for a service called exitward', () => {
      const injected = {
        EXITWARD_SERVICE_HOST: '10.0.0.1',
        EXITWARD_SERVICE_PORT_HTTP: '80',
        EXITWARD_PORT: 'tcp://10.0.0.1:80',
        EXITWARD_PORT_80_TCP_ADDR: '10.0.0.1',
      };
      expect(readConfig(injected).unknown_settings).toEqual([]);
      expect(readConfig({ EXITWARD_PORT: '80' }).unknown_settings).toHaveLength(1);
    });
  });

  test('knows what only this machine reaches', () => {
    for (const host of ['127.0.0.1', '127.9.9.9', '::1', 'localhost'])
      expect(isLoopback(host)).toBe(true);
    for (const host of ['0.0.0.0', '::', '10.0.0.1', '1127.0.0.1', 'localhost.example']) {
      expect(isLoopback(host)).toBe(false);
    }
  });

  test('whatever the environment says: a configuration, or one Error with a line for each faulty setting', () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        'yes',
        'no',
        'off',
        '0',
        '1',
        '127.0.0.1:0',
        '0.0.0.0:1',
        'sqlite:x',
        '10.0.0.0/8',
        '\n',
        ' ',
      ),
    );
    const environment = fc.dictionary(fc.constantFrom(...names, 'HOME', 'PATH'), value, {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(environment, (env) => {
        for (const line of faultsOf(env)) expect(line).toMatch(/^EXITWARD_[A-Z_]+[ :]/);
      }),
      { numRuns: tries(2000) },
    );
  });

  test.each(['p@s/s', 'p/ss', 'p#ss', 'p?s@s', 'p%ss/@'])(
    'a database URL with the password %s as it is gets a sentence on how to write it',
    (password) => {
      expect(faultsOf({ EXITWARD_DATABASE_URL: `postgres://u:${password}@host/db` })).toEqual([
        expect.stringMatching(/^EXITWARD_DATABASE_URL: cannot be read; expected special/),
      ]);
      const escaped = `postgres://u:${encodeURIComponent(password)}@host/db`;
      expect(faultsOf({ EXITWARD_DATABASE_URL: escaped })).toEqual([]);
    },
  );

  test('never repeats the database URL, which may hold a password', () => {
    const secret = fc.string({
      minLength: 8,
      unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789'),
    });
    fc.assert(
      fc.property(
        secret,
        fc.constantFrom('mysql://u:%s@h/d', '%s', 'postgres:%s', 'sqlite:\n%s'),
        (text, form) => {
          const EXITWARD_DATABASE_URL = form.replace('%s', text);
          const faults = faultsOf({ EXITWARD_DATABASE_URL, EXITWARD_LISTEN: 'x' });
          expect(faults).toHaveLength(2);
          expect(faults.join('\n')).not.toContain(text);
        },
      ),
    );
  });
});

eachDatabase((database) => {
  test('a variable that no setting is called is a warning in the log at the start', async () => {
    const { log, lines } = keptLog();
    const t = await startTestApp(await database.url(), { EXITWARD_GEOIPS: 's3cret' }, log);
    await t.stop();
    expect(lines.filter(({ level }) => level === 40)).toMatchObject([
      { msg: expect.stringMatching(/^EXITWARD_GEOIPS: .*mean EXITWARD_GEOIP\?$/) },
    ]);
    expect(JSON.stringify(lines)).not.toContain('s3cret');
  });
});
