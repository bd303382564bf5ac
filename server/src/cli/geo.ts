// exitward geo …: where geo-IP providers see the exit IPs, and the feed that tells them better.
import type { Noun } from './command.ts';
import { table } from './output.ts';

interface Status {
  server: string;
  ip: string;
  provider: string;
  [field: string]: unknown;
}

interface Outcome {
  exit_ips: number;
  written: number;
  providers: Array<Record<string, unknown>>;
}

export const geoNoun: Noun = {
  name: 'geo',
  summary: 'where geo-IP providers see the exit IPs',
  verbs: [
    {
      usage: 'list',
      summary: 'list what each provider says of each exit IP',
      options: [
        { flags: '--server <server>', description: 'only the exit IPs of this one' },
        { flags: '--status <ok|warn|crit>', description: 'only this status' },
      ],
      run: async (given, api) => {
        const query = new URLSearchParams(given.query('server', 'status'));
        query.set('limit', '1000');
        const all = await api.list<Status>(`/geo?${query}`);
        const byServer = Object.entries(Object.groupBy(all, ({ server }) => server)).sort();
        return table(
          byServer.flatMap(([, statuses = []]) => statuses),
          [
            ['server', 'server'],
            ['exit IP', 'ip'],
            ['provider', 'provider'],
            ['status', 'status'],
            ['country', 'country'],
            ['distance km', 'distance_km'],
            ['checked', 'status_time', 'time'],
          ],
        );
      },
    },
    {
      usage: 'check',
      summary: 'look all exit IPs up now, with changed files, and count what was found',
      run: async (_given, api) => {
        const value = await api.post<Outcome>('/geo/check');
        const shown = table(value.providers, [
          ['provider', 'provider'],
          ['ok', 'ok'],
          ['warn', 'warn'],
          ['crit', 'crit'],
          ['no record', 'no_record'],
          ['unreadable', 'unreadable'],
        ]);
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
  ],
};
