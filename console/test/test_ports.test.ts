// The ports of a server that a connection can be tested at.
import { expect, test } from 'vitest';
import { portsOfSchemes } from '../src/operator/test_ports.ts';
import type { OwnServer } from '../src/servers/rows.ts';
import { testPorts } from '../src/servers/test_ports.ts';

const ports = [
  { port: 11_001, override_port: 11_501, service: 'proxy' },
  { port: 12_001, override_port: 12_501, service: 'proxy-https' },
];

function server(services: string[]): OwnServer {
  return {
    server: 'acc1',
    hostname: 'acc1.example',
    title: 'acc1',
    services,
    location: { city: 'Riga', country: 'LV', latitude: 57, longitude: 24 },
    usage: { limit: 100, current: 0, last_30_days: 0 },
    nodes: { all: 1, live: 1 },
    limit_bytes: null,
    over_limit: false,
    added_at: 1,
    ips: [
      {
        ip: '192.0.2.1',
        port_base: 1,
        status: 'ok',
        status_time: 1,
        geostatus: {},
        ports,
        vpn: [],
      },
    ],
  };
}

const portsWith = (services: string[]) => testPorts(server(services)).map(({ port }) => port);

test('only ports of services that the server offers are tested, each also with custom DNS', () => {
  expect(portsWith(['proxy'])).toEqual([11_001, 11_501]);
  expect(portsWith(['proxy', 'proxy-https'])).toEqual([11_001, 11_501, 12_001, 12_501]);
  expect(portsWith([])).toEqual([]);
});

test('a port with custom DNS knows the one without', () => {
  expect(testPorts(server(['proxy'])).map(({ plain }) => plain)).toEqual([undefined, 11_001]);
});

test('operators are offered the ports of each scheme and exit of the server, and no others', () => {
  const server = {
    services: ['proxy' as const],
    port_schemes: ['default', 'old'],
    exit_ips: [{ ip: '192.0.2.1', port_base: 4 }],
  };
  const schemes = [
    {
      name: 'default',
      bases: [
        { base: 10_000, service: 'proxy' as const },
        { base: 12_000, service: 'proxy-https' as const },
      ],
    },
    { name: 'old', bases: [{ base: 20_000, service: 'proxy' as const }] },
    { name: 'others', bases: [{ base: 30_000, service: 'proxy' as const }] },
  ];
  expect(portsOfSchemes(server, schemes).map(({ text }) => text)).toEqual([
    '10004: HTTP proxy, exit 192.0.2.1',
    '10504: the same with custom DNS',
    '20004: HTTP proxy, exit 192.0.2.1',
    '20504: the same with custom DNS',
  ]);
});
