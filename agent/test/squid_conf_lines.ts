// The configuration of a Squid as the agent writes it; by default for a node with two listeners.
import type { Listener } from '../src/policy/policy.ts';
import { type ConfOptions, squidConf, squidPaths } from '../src/squid/conf/squid_conf.ts';

export const listener = (port: number, exit_ip: string, tls = false): Listener => ({
  port,
  exit_ip,
  tls,
  scheme: 'default',
  override: false,
});

/** The lines of the configuration of a Squid with these settings. */
export const confOf = (
  change: Partial<ConfOptions['config']> = {},
  listeners?: Listener[],
  name_servers = ['9.9.9.9'],
) =>
  squidConf({
    listeners: listeners ?? [listener(10_001, '198.51.100.1'), listener(10_501, '198.51.100.1')],
    config: {
      listen_host: undefined,
      port_shift: 0,
      tls: { cert_file: '/etc/crt', key_file: '/etc/key' },
      allowed: [],
      dns_servers: [],
      idle_seconds: 7440,
      caps: {},
      connection_log: { mode: 'off', days: 30, max_bytes: 2 ** 31 },
      ...change,
    },
    paths: squidPaths('/var/lib/x/squid/0'),
    user: 'proxy',
    decider: ['/usr/bin/node', '/opt/decider.js'],
    certificate: undefined,
    own_addresses: new Set(['9.9.9.10', '10.0.0.1', '2600::44']),
    name_servers,
  }).split('\n');
