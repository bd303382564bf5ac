// The measurements of this folder, in the order in which they run.

export interface Measurement {
  file: string;
  /** Arguments with which it ends in seconds. */
  smoke: string[];
  /** It is also run on PostgreSQL, by postgres.ts. */
  onPostgres?: true;
}

const sizes = (text: string) => text.split(' ');

export const measurements: Measurement[] = [
  { file: 'requests.ts', smoke: sizes('--rounds 1 --seconds 1'), onPostgres: true },
  {
    file: 'writes.ts',
    smoke: sizes('--rounds 1 --seconds 1 --warm 1 --connections 8 --entries 20000'),
    onPostgres: true,
  },
  { file: 'demo.ts', smoke: sizes('--rounds 1 --seconds 1 --rest 1') },
  {
    file: 'growth.ts',
    smoke: sizes('--entries 2000 --accounts 20 --rounds 1 --seconds 1'),
  },
  { file: 'slow_disk.ts', smoke: sizes('--fsync-ms 50 --seconds 1') },
  { file: 'policy.ts', smoke: sizes('--entries 2000 --accounts 20 --rounds 1') },
  { file: 'decide.ts', smoke: sizes('--entries 2000 --rounds 1') },
  { file: 'follow.ts', smoke: sizes('--nodes 5 --servers 2 --per-second 20 --seconds 1') },
  {
    file: 'looks.ts',
    smoke: sizes('--nodes 3 --groups 100 --connections 1000 --rounds 2 --seconds 1'),
  },
  { file: 'crowd.ts', smoke: sizes('--tunnels 100 --groups 10 --seconds 1') },
  { file: 'sockets.ts', smoke: sizes('--connections 500 --closed 100') },
  { file: 'effect.ts', smoke: sizes('--entries 1000 --changes 4') },
  { file: 'limit.ts', smoke: sizes('--rate 50 --limit 25 --times 1') },
  { file: 'vpn.ts', smoke: sizes('--sessions 20 --logins 20') },
  { file: 'fair.ts', smoke: sizes('--entries 500 --changes 200 --seconds 1'), onPostgres: true },
  {
    file: 'proxy.ts',
    smoke: sizes('--entries 1000 --rounds 1 --seconds 0.5 --tunnels 100'),
  },
  {
    file: 'peers.ts',
    smoke: sizes('--entries 1000 --rounds 1 --requests 50 --megabytes 8 --warm 0'),
  },
  { file: 'lists.ts', smoke: sizes('--entries 1500 --people 200 --rounds 1'), onPostgres: true },
  { file: 'servers.ts', smoke: sizes('--servers 50 --changes 100'), onPostgres: true },
  { file: 'refusals.ts', smoke: sizes('--nodes 4 --rows 500 --rounds 1'), onPostgres: true },
  { file: 'audit_purge.ts', smoke: sizes('--records 2000'), onPostgres: true },
  { file: 'audit_search.ts', smoke: sizes('--records 2000'), onPostgres: true },
  {
    file: 'usage_over_time.ts',
    smoke: sizes('--accounts 200 --days 3 --rounds 2 --sums 2000'),
    onPostgres: true,
  },
  { file: 'record_sizes.ts', smoke: sizes('--records 2000'), onPostgres: true },
  { file: 'commands.ts', smoke: sizes('--rounds 1') },
  { file: 'console.ts', smoke: ['--smoke'] },
];
