// The ports through which a custom DNS entry can be tried.
import { expect, test } from 'vitest';
import { waysThrough } from '../src/dns/ways.ts';
import type { OwnServer } from '../src/servers/rows.ts';

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

test('only ports of services that the server offers are ways to try an entry', () => {
  expect(waysThrough(server(['proxy'])).map(({ text }) => text)).toEqual(['192.0.2.1, port 11501']);
  expect(waysThrough(server(['proxy', 'proxy-https'])).map(({ text }) => text)).toEqual([
    '192.0.2.1, port 11501',
    '192.0.2.1, port 12501 over TLS',
  ]);
  expect(waysThrough(server([]))).toEqual([]);
});
