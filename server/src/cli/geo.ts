// exitward geo …: where geo-IP providers locate the exit IPs, and the feed that corrects them.

import { table } from '../../../kit/src/cli/output.ts';
import type { Row } from './columns.ts';
import { nounOf } from './command.ts';

interface Outcome {
  exit_ips: number;
  written: number;
  providers: Row[];
}

export const geoNoun = nounOf('geo', 'where geo-IP providers locate the exit IPs', [
  {
    usage: 'list',
    list: true,
    summary: 'list the location of each exit IP by provider',
    filters: [
      ['--server <server>', 'only exit IPs of this server', 'server'],
      ['--status <ok|warn|crit>', 'only exit IPs with this status', 'status'],
    ],
    run: async (given, api) => {
      const query = new URLSearchParams(given.query());
      query.set('limit', '1000');
      const all = await api.list<Row & { server: string }>(`/geo?${query}`);
      const byServer = Object.entries(Object.groupBy(all, ({ server }) => server)).sort();
      return table(
        byServer.flatMap(([, statuses = []]) => statuses),
        [
          'server',
          ['exit IP', 'ip'],
          'provider',
          ['status', 'status', 'state'],
          'country',
          'distance_km',
          ['checked', 'status_time', 'past'],
        ],
        {
          noun: 'looked up exit IPs',
          next: 'exitward geo check, with a file of a geo-IP provider in place',
        },
      );
    },
  },
  {
    usage: 'check',
    summary: 'look up all exit IPs now, in the newest provider files',
    run: async (_given, api) => {
      const value = await api.post<Outcome>('/geo/check');
      const columns = ['provider', 'ok', 'warn', 'crit', 'no_record', 'unreadable'];
      const shown = table(value.providers, columns, {
        noun: 'geo-IP providers',
        next: 'set EXITWARD_GEOIP to their files, and restart the server',
      });
      const sentence = `Looked up ${value.exit_ips} exit IPs; ${value.written} statuses were written.`;
      return { ...shown, value, sentence };
    },
  },
  {
    usage: 'feed',
    summary: 'print the geofeed of the network (RFC 8805), for providers to fetch',
    run: async (_given, api) => {
      const document = await api.getText('/geofeed.csv');
      return { value: { geofeed: document }, parts: [{ text: document }] };
    },
  },
]);
