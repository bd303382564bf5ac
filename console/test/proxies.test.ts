// The proxy list: a line for each port of an exit that fits, as the programs that take it read it.
import { expect, test } from 'vitest';
import { type Format, listOfProxies, proxiesOf, type Wanted } from '../src/servers/proxies.ts';
import type { OwnServer } from '../src/servers/rows.ts';

type Exit = OwnServer['ips'][number];
const exit = (ip: string, port_base: number, status: Exit['status'] = 'ok') => ({
  ...{ ip, port_base, status, vpn: [] },
  ports: [
    { port: 10_000 + port_base, override_port: 10_500 + port_base, service: 'proxy' },
    { port: 12_000 + port_base, override_port: 12_500 + port_base, service: 'proxy-https' },
  ],
});
const server = (name: string, country: string, ips: object[], more: object = {}) =>
  ({
    ...{ server: name, hostname: `${name}.example.net`, services: ['proxy', 'proxy-https'], ips },
    ...{ location: { city: `City, ${name}`, country }, nodes: { all: 1, live: 1 }, ...more },
  }) as unknown as OwnServer;
const servers = [
  server('fra1', 'DE', [exit('198.51.100.1', 1), exit('198.51.100.2', 2, 'crit')]),
  server('tyo1', 'JP', [exit('2001:db8::1', 1)], { services: ['proxy'] }),
  server('par1', 'FR', [exit('203.0.113.1', 1)], { nodes: { all: 1, live: 0 } }),
];
const usual: Wanted = {
  ...{ country: '', service: 'proxy', override: false, all: false, credentials: undefined },
};
const list = (wanted: Partial<Wanted> = {}, format: Format = 'place') =>
  listOfProxies(proxiesOf(servers, { ...usual, ...wanted }), format);
const credentials = { user: 'al ice', token: 'ewt_a.b' };

test.each<[string, Partial<Wanted>, string[]]>([
  ['those that work', {}, ['fra1.example.net:10001', 'tyo1.example.net:10001']],
  ['those of a country', { country: 'JP' }, ['tyo1.example.net:10001']],
  [
    'those of a service that the server offers',
    { service: 'proxy-https' },
    ['fra1.example.net:12001'],
  ],
  ['the ports of custom DNS', { override: true, country: 'DE' }, ['fra1.example.net:10501']],
  [
    'all, also those that do not work now',
    { all: true },
    [
      'fra1.example.net:10001',
      'fra1.example.net:10002',
      'tyo1.example.net:10001',
      'par1.example.net:10001',
    ],
  ],
  ['none', { country: 'US' }, []],
])('lists %s', (_, wanted, lines) => {
  expect(list(wanted).split('\n').filter(Boolean)).toEqual(lines);
});

test.each<[Format, string]>([
  ['place', 'fra1.example.net:10001\n'],
  ['parts', 'fra1.example.net:10001:al ice:ewt_a.b\n'],
  ['url', 'http://al%20ice:ewt_a.b@fra1.example.net:10001\n'],
  [
    'csv',
    'host,port,service,user,token,exit_ip,server,city,country\r\nfra1.example.net,10001,proxy,al ice,ewt_a.b,198.51.100.1,fra1,"City, fra1",DE\r\n',
  ],
])('with credentials, in the format %s', (format, text) => {
  expect(list({ country: 'DE', credentials }, format)).toBe(text);
});

test('over TLS the URL says so', () => {
  expect(list({ country: 'DE', service: 'proxy-https' }, 'url')).toBe(
    'https://fra1.example.net:12001\n',
  );
});
