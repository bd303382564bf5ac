// Settings: all are optional, and all faults are reported together, with the name of the setting.
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Network, parseNetworks } from '../../kit/src/address.ts';
import { type Config, readConfig } from '../src/config.ts';

const usual: Config = {
  state_dir:
    process.getuid?.() === 0
      ? '/var/lib/exitward-agent'
      : resolve(homedir(), '.local/state/exitward-agent'),
  engine: 'squid',
  listen_host: undefined,
  port_shift: 0,
  tls: undefined,
  acme: undefined,
  connect_ports: [80, 443, 8080, 8443].map((port) => ({ first: port, last: port })),
  http_ports: [
    { first: 80, last: 80 },
    { first: 1024, last: 65_535 },
  ],
  allowed: [],
  dns_servers: [],
  staleness_seconds: 86_400,
  on_revoke: 'close',
  poll_seconds: 1,
  report_seconds: 3,
  health_seconds: 60,
  echo_url: undefined,
  guard: 'off',
  squid: '/usr/sbin/squid',
  vpn: {
    mode: 'on',
    charon: '/usr/sbin/charon-systemd',
    xl2tpd: '/usr/sbin/xl2tpd',
    ipsec: 'kernel',
    pool: parseNetworks('100.80.0.0/12')[0] as Network,
    pool6: 'fd65:7877:6172:64::/97',
    dns: ['9.9.9.9', '149.112.112.112'],
  },
  listeners_per_squid: 126,
  caps: {},
  connection_log: { mode: 'off', days: 30, max_bytes: 2 ** 31 },
  idle_seconds: 7440,
  metrics_listen: { host: '127.0.0.1', port: 9465 },
  log_level: 'info',
  journal_stream: undefined,
  unknown_settings: [],
};

const networks = (config: Config) => config.allowed.map(([ip, bits]) => `${ip}/${bits}`);

test('an empty environment is valid, and so are empty settings', () => {
  expect(readConfig({})).toMatchObject(usual);
  const empty = Object.fromEntries(faulty.map(([name]) => [name, '']));
  expect(readConfig(empty)).toMatchObject(usual);
  expect(readConfig({ EXITWARD_AGENT_ENGINE: undefined, PATH: '/bin' })).toMatchObject(usual);
});

test.each<[string, string, Partial<Config>]>([
  ['STATE_DIR', 'state', { state_dir: resolve('state') }],
  ['ENGINE', 'embedded', { engine: 'embedded' }],
  ['LISTEN_HOST', '*', { listen_host: undefined }],
  ['LISTEN_HOST', '192.0.2.1', { listen_host: '192.0.2.1' }],
  ['LISTEN_HOST', '::1', { listen_host: '::1' }],
  ['PORT_SHIFT', '-1000', { port_shift: -1000 }],
  ['PORT_SHIFT', '65000', { port_shift: 65_000 }],
  ['CONNECT_PORTS', '443', { connect_ports: [{ first: 443, last: 443 }] }],
  [
    'CONNECT_PORTS',
    ' 1 , 8000-8999 ',
    {
      connect_ports: [
        { first: 1, last: 1 },
        { first: 8000, last: 8999 },
      ],
    },
  ],
  ['HTTP_PORTS', '1-65535', { http_ports: [{ first: 1, last: 65_535 }] }],
  ['DNS_SERVERS', '9.9.9.9', { dns_servers: ['9.9.9.9'] }],
  [
    'DNS_SERVERS',
    '9.9.9.9:5353, 2620:fe::fe ,[2620:fe::fe]:53',
    { dns_servers: ['9.9.9.9:5353', '2620:fe::fe', '[2620:fe::fe]:53'] },
  ],
  ['STALENESS_SECONDS', '20', { staleness_seconds: 20 }],
  ['STALENESS_SECONDS', '1000000000', { staleness_seconds: 1_000_000_000 }],
  ['ON_REVOKE', 'leave', { on_revoke: 'leave' }],
  ['POLL_SECONDS', '60', { poll_seconds: 60 }],
  ['REPORT_SECONDS', '60', { report_seconds: 60 }],
  ['HEALTH_SECONDS', '600', { health_seconds: 600 }],
  ['ECHO_URL', 'https://echo.example/ip', { echo_url: 'https://echo.example/ip' }],
  ['GUARD', 'nftables', { guard: 'nftables' }],
  ['SQUID', '/opt/squid', { squid: '/opt/squid' }],
  ['VPN', 'off', { vpn: { ...usual.vpn, mode: 'off' } }],
  ['CHARON', '/opt/charon', { vpn: { ...usual.vpn, charon: '/opt/charon' } }],
  ['VPN_IPSEC', 'userspace', { vpn: { ...usual.vpn, ipsec: 'userspace' } }],
  ['VPN_DNS', '9.9.9.9, 1.1.1.1', { vpn: { ...usual.vpn, dns: ['9.9.9.9', '1.1.1.1'] } }],
  ['LISTENERS_PER_SQUID', '128', { listeners_per_squid: 128 }],
  ['MAX_CONNECTIONS', '40', { caps: { all: 40 } }],
  ['MAX_CONNECTIONS_PER_ACCOUNT', '20', { caps: { account: 20 } }],
  ['MAX_CONNECTIONS_PER_USER', '12', { caps: { user: 12 } }],
  ['MAX_CONNECTIONS_PER_ADDRESS', '1', { caps: { address: 1 } }],
  ['IDLE_SECONDS', '60', { idle_seconds: 60 }],
  ['METRICS_LISTEN', 'off', { metrics_listen: undefined }],
  ['METRICS_LISTEN', '[::1]:0', { metrics_listen: { host: '::1', port: 0 } }],
  ['LOG_LEVEL', 'debug', { log_level: 'debug' }],
])('EXITWARD_AGENT_%s may be %j', (name, value, expected) => {
  const config = readConfig({ [`EXITWARD_AGENT_${name}`]: value });
  expect(config).toMatchObject({ ...usual, ...expected });
});

test('networks that may be dialled are a list', () => {
  const env = { EXITWARD_AGENT_ALLOW_DESTINATIONS: '10.0.0.0/8, 127.0.0.1,fd00::/8' };
  expect(networks(readConfig(env))).toEqual(['10.0.0.0/8', '127.0.0.1/32', 'fd00::/8']);
});

test('a certificate comes with its key', () => {
  const env = { EXITWARD_AGENT_TLS_CERT: 'cert.pem', EXITWARD_AGENT_TLS_KEY: '/etc/key.pem' };
  const tls = { cert_file: resolve('cert.pem'), key_file: '/etc/key.pem' };
  expect(readConfig(env).tls).toEqual(tls);
  const both = 'EXITWARD_AGENT_TLS_CERT and EXITWARD_AGENT_TLS_KEY: set both or neither.';
  expect(() => readConfig({ EXITWARD_AGENT_TLS_CERT: 'cert.pem' })).toThrow(both);
  expect(() => readConfig({ EXITWARD_AGENT_TLS_KEY: 'key.pem' })).toThrow(both);
});

test('ACME is on by one setting, and its certificate is in the state folder', () => {
  const env = { EXITWARD_AGENT_STATE_DIR: '/state', EXITWARD_AGENT_ACME: 'you@example.net' };
  const { acme, tls } = readConfig(env);
  expect(acme).toEqual({
    contact: 'you@example.net',
    directory_url: 'https://acme-v02.api.letsencrypt.org/directory',
    challenge: 'tls-alpn-01',
    listen: { host: undefined, port: 443 },
    names: undefined,
  });
  const file = '/state/tls/certificate.pem';
  expect(tls).toEqual({ cert_file: file, key_file: file });
  const more = {
    EXITWARD_AGENT_ACME_CHALLENGE: 'http-01',
    EXITWARD_AGENT_LISTEN_HOST: '192.0.2.1',
    EXITWARD_AGENT_ACME_NAMES: 'Node-A.example',
  };
  const named = { listen: { host: '192.0.2.1', port: 80 }, names: ['node-a.example'] };
  expect(readConfig({ ...env, ...more }).acme).toMatchObject(named);
  const both = { EXITWARD_AGENT_TLS_CERT: 'c', EXITWARD_AGENT_TLS_KEY: 'k' };
  expect(() => readConfig({ ...env, ...both })).toThrow(
    'EXITWARD_AGENT_ACME and EXITWARD_AGENT_TLS_CERT: set one of the two.',
  );
});

test('the state of an ordinary user is in the usual folder of that user', () => {
  const env = { XDG_STATE_HOME: '/home/ada/state' };
  const expected = process.getuid?.() === 0 ? usual.state_dir : '/home/ada/state/exitward-agent';
  expect(readConfig(env).state_dir).toBe(expected);
});

/** Every setting that can be wrong, with what is wrong. */
const faulty: Array<[string, string[]]> = [
  ['EXITWARD_AGENT_ACME', ['yes', 'you@example', 'a b@example.net']],
  ['EXITWARD_AGENT_ACME_NAMES', ['*.example.net', '192.0.2.1', ',', 'localhost']],
  ['EXITWARD_AGENT_ACME_DIRECTORY', ['http://ca.example/', 'letsencrypt']],
  ['EXITWARD_AGENT_ACME_CHALLENGE', ['dns-01', 'tls']],
  ['EXITWARD_AGENT_ACME_LISTEN', ['443', '0.0.0.0:0', '0.0.0.0:65536', '::443', '*:443']],
  ['EXITWARD_AGENT_ENGINE', ['Squid', 'nginx', 'toString']],
  ['EXITWARD_AGENT_VPN', ['yes', 'ON']],
  ['EXITWARD_AGENT_VPN_IPSEC', ['libipsec']],
  [
    'EXITWARD_AGENT_VPN_POOL',
    ['100.80.0.0', '100.80.0.0/30', 'fd00::/64', '10.0.0.0/8,11.0.0.0/8'],
  ],
  ['EXITWARD_AGENT_VPN_DNS', ['dns.example', '9.9.9.9,', '::1']],
  ['EXITWARD_AGENT_LISTEN_HOST', ['localhost', '192.0.2', '192.0.2.1:80', '0.0.0.0/0', '[::1]']],
  ['EXITWARD_AGENT_PORT_SHIFT', ['65001', '-65001', '1.5', '1e3', '0x10', 'ten', '--1']],
  ['EXITWARD_AGENT_CONNECT_PORTS', ['0', '65536', '443-80', '80,', ',', 'https', '80;443', '-80']],
  ['EXITWARD_AGENT_HTTP_PORTS', ['0-80', '1-65536', '80 443', '80--90', '1-2-3', '99999999']],
  ['EXITWARD_AGENT_ALLOW_DESTINATIONS', ['10.0.0.0/33', '10.0.0.0/8,', 'private', '10.0/8']],
  [
    'EXITWARD_AGENT_DNS_SERVERS',
    [
      ...['dns.example', '9.9.9', '9.9.9.9,', ',9.9.9.9', '9.9.9.9:', '9.9.9.9:0', '9.9.9.9:65536'],
      ...['[9.9.9.9]:53', '[2620:fe::fe]', '[2620:fe::fe]:0', '2620:fe::fe]:53', 'fe80::1%eth0'],
      ...['9.9.9.9 1.1.1.1', '[fe80::1%eth0]:53', '09.9.9.9'],
    ],
  ],
  ['EXITWARD_AGENT_STALENESS_SECONDS', ['19', '1000000001', '9999999999', '99999999999', '1h']],
  ['EXITWARD_AGENT_ON_REVOKE', ['keep', 'CLOSE']],
  ['EXITWARD_AGENT_POLL_SECONDS', ['0', '61', '0.5', '-1']],
  ['EXITWARD_AGENT_REPORT_SECONDS', ['0', '61', '2.5']],
  ['EXITWARD_AGENT_HEALTH_SECONDS', ['0', '601', 'never']],
  ['EXITWARD_AGENT_ECHO_URL', ['echo.example', 'ftp://echo.example', '//echo.example', 'http://']],
  ['EXITWARD_AGENT_GUARD', ['on', 'iptables']],
  ['EXITWARD_AGENT_LISTENERS_PER_SQUID', ['0', '129', '126.0']],
  ['EXITWARD_AGENT_MAX_CONNECTIONS', ['0', '1000001', 'many']],
  ['EXITWARD_AGENT_MAX_CONNECTIONS_PER_ACCOUNT', ['0', '-1']],
  ['EXITWARD_AGENT_MAX_CONNECTIONS_PER_USER', ['0', '1.5']],
  ['EXITWARD_AGENT_MAX_CONNECTIONS_PER_ADDRESS', ['0', 'ten']],
  ['EXITWARD_AGENT_IDLE_SECONDS', ['0', '31536001', '1h']],
  [
    'EXITWARD_AGENT_METRICS_LISTEN',
    ['9465', 'localhost:9465', '127.0.0.1:65536', '::1:9465', '127.0.0.1', 'on', '1.2.3:80'],
  ],
  ['EXITWARD_AGENT_LOG_LEVEL', ['verbose', 'INFO', 'length']],
];

function faultsOf(env: Record<string, string>): string[] {
  try {
    readConfig(env);
  } catch (error) {
    return (error as Error).message.split('\n');
  }
  return [];
}

describe('a fault', () => {
  const each = faulty.flatMap(([name, values]) => values.map((value) => [name, value] as const));

  test.each(each)('of %s, such as %j, names the setting and what was expected', (name, value) => {
    const [line = '', ...more] = faultsOf({ [name]: value });
    expect(more).toEqual([]);
    expect(line.startsWith(`${name}: `), line).toBe(true);
    expect(line).toMatch(/; expected .+\.$|is not a network such as 10\.0\.0\.0\/8\.$/);
  });

  test('never hides another: all are reported at once, a line each', () => {
    const env = Object.fromEntries(faulty.map(([name, values]) => [name, values[0] as string]));
    const lines = faultsOf({ ...env, EXITWARD_AGENT_TLS_KEY: 'key.pem' });
    const named = lines.map((line) => line.replace(/[: ].*/, ''));
    const expected = [...faulty.map(([name]) => name), 'EXITWARD_AGENT_TLS_CERT'];
    expect(named.toSorted()).toEqual(expected.toSorted());
  });
});

test('a variable that no setting is called is named, without its value', () => {
  const unknown = (...variables: string[]) =>
    readConfig(Object.fromEntries(variables.map((name) => [name, 's3cret']))).unknown_settings;
  expect(unknown('EXITWARD_AGENT_ENGIN', 'EXITWARD_AGNET_GUARD', 'EXITWARD_LISTEN')).toEqual([
    'EXITWARD_AGENT_ENGIN: no setting has this name, so it is ignored. Did you mean EXITWARD_AGENT_ENGINE?',
    'EXITWARD_AGNET_GUARD: no setting has this name, so it is ignored. Did you mean EXITWARD_AGENT_GUARD?',
  ]);
  const env = { EXITWARD_AGENT_VPN: 'maybe', EXITWARD_AGENT_VPNS: 'off' };
  expect(faultsOf(env)).toEqual([
    expect.stringMatching('^EXITWARD_AGENT_VPN: '),
    expect.stringMatching('^EXITWARD_AGENT_VPNS: no setting'),
  ]);
});
