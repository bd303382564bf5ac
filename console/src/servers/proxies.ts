// The proxies of a contract as a list for other programs: one per exit IP, in a given format; pure.
import { csv } from '../csv.ts';
import { placeOf, type Through } from './curl.ts';
import { type OwnServer, portsOf, unserved } from './rows.ts';
import { proxyUrlWithCredentials } from './settings.ts';

export const formats = {
  place: 'host:port',
  parts: 'host:port:user:token',
  url: 'URL',
  csv: 'CSV',
} as const;
export type Format = keyof typeof formats;

export interface Wanted {
  /** A country code; empty: all. */
  country: string;
  service: string;
  /** Whether to list the override ports, on which custom DNS entries apply. */
  override: boolean;
  /** Whether to include proxies that do not work now. */
  all: boolean;
  credentials: Through['credentials'];
}

interface Proxy extends Through {
  server: OwnServer;
  exit: OwnServer['ips'][number];
}

/** One proxy for each matching exit IP: the first of its ports. */
export function proxiesOf(
  servers: readonly OwnServer[],
  { country, service, override, all, credentials }: Wanted,
): Proxy[] {
  return servers
    .filter(({ location, nodes }) => {
      return (!country || location?.country === country) && (all || !unserved(nodes));
    })
    .flatMap((server) =>
      server.ips
        .filter(({ status }) => all || status !== 'crit')
        .flatMap((exit) =>
          portsOf(server, exit)
            .filter((candidate) => candidate.service === service)
            .slice(0, 1)
            .map(({ port, override_port }) => ({
              ...{ server, exit, host: server.hostname, service },
              port: override ? override_port : port,
              ...(credentials ? { credentials } : {}),
            })),
        ),
    );
}

const header = ['host', 'port', 'service', 'user', 'token', 'exit_ip', 'server', 'city', 'country'];

/** The list as text, one per line. Without credentials, `parts` has only host and port. */
export function listOfProxies(proxies: readonly Proxy[], format: Format): string {
  if (format === 'csv') {
    const rows = proxies.map(({ host, port, service, credentials, server, exit }) => {
      const { city = '', country = '' } = server.location ?? {};
      const { user = '', token = '' } = credentials ?? {};
      return [host, port, service, user, token, exit.ip, server.server, city, country];
    });
    return csv(header, rows);
  }
  return proxies.map((proxy) => `${lineOf(proxy, format)}\n`).join('');
}

function lineOf(proxy: Proxy, format: Exclude<Format, 'csv'>): string {
  if (format === 'url') return proxyUrlWithCredentials(proxy);
  const { credentials } = proxy;
  if (format === 'place' || !credentials) return placeOf(proxy);
  return `${placeOf(proxy)}:${credentials.user}:${credentials.token}`;
}
