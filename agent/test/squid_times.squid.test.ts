// Squid's own time limits: the configuration sets each one that has an effect.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { confOf } from './squid_conf_lines.ts';

/** Squid's own text about its directives: the file that its package brings. */
const documented = '/etc/squid/squid.conf';

/** Those left at Squid's default, with the reason. */
const suitable: Record<string, string> = {
  authenticate_cache_garbage_interval: 'no authentication helper',
  authenticate_ip_ttl: 'no authentication helper',
  authenticate_ttl: 'no authentication helper',
  background_ping_rate: 'no peers',
  dead_peer_timeout: 'no peers',
  digest_rebuild_period: 'no digests',
  digest_rewrite_period: 'no digests',
  forward_timeout: 'connect_timeout is shorter',
  ftp_client_idle_timeout: 'no FTP',
  happy_eyeballs_connect_timeout: 'it ends nothing',
  hopeless_kid_revival_delay: 'no kids',
  icap_connect_timeout: 'no ICAP',
  icap_default_options_ttl: 'no ICAP',
  icap_io_timeout: 'no ICAP',
  icap_service_failure_limit: 'no ICAP',
  icp_query_timeout: 'no peers',
  ident_timeout: 'no ident',
  max_stale: 'nothing is kept',
  maximum_icp_query_timeout: 'no peers',
  mcast_icp_query_timeout: 'no peers',
  mcast_miss_ttl: 'no peers',
  minimum_expiry_time: 'nothing is kept',
  minimum_icp_query_timeout: 'no peers',
  negative_ttl: 'nothing is kept',
  netdb_ping_period: 'no peers',
  pconn_lifetime: 'endless',
  peer_connect_timeout: 'no peers',
  server_idle_pconn_timeout: 'no connection to an origin is kept',
  sleep_after_fork: 'it ends nothing',
  sslproxy_session_ttl: 'no TLS with origins',
  url_rewrite_timeout: 'no rewriting',
  write_timeout: 'one that takes no byte in 15 minutes is dead',
};

function timesOf(text: string): string[] {
  const parts = text.split(/^#\s+TAG: /m).slice(1);
  return parts.flatMap((part) => {
    const [name = ''] = /^\S+/.exec(part) ?? [];
    const [line = ''] = /(?<=^#Default:\n# ).*/m.exec(part) ?? [];
    const isTime =
      /_(timeout|lifetime|ttl)$/.test(name) || /time-units|second|minute|hour|day|week/;
    return isTime === true || isTime.test(`${part.split('\n')[0]} ${line}`) ? [name] : [];
  });
}

test('each time limit that Squid documents is set, or has no effect', () => {
  const times = timesOf(readFileSync(documented, 'utf8'));
  expect(times.length).toBeGreaterThan(25);
  const set = new Set(confOf().map((line) => line.split(' ')[0]));
  expect(times.filter((name) => !set.has(name)).sort()).toEqual(Object.keys(suitable).sort());
});

test('Squid closes no connection for its age within a year', () => {
  const [, days] = /^client_lifetime (\d+) days$/m.exec(confOf().join('\n')) ?? [];
  expect(Number(days)).toBeGreaterThanOrEqual(365);
});
