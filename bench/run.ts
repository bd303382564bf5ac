// `npm run bench`: every measurement, one after another. Needs wrk, taskset and cc (Debian: wrk,
// util-linux, gcc), and for proxy.ts, effect.ts and limit.ts root and Squid.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

for (const [file, ...args] of [
  ['requests.ts'],
  ['demo.ts'],
  ['growth.ts'],
  ['slow_disk.ts'],
  ['postgres.ts', 'requests.ts'],
  ['policy.ts'],
  ['decide.ts'],
  ['follow.ts'],
  ['effect.ts'],
  ['limit.ts'],
  ['vpn.ts'],
  ['fair.ts'],
  ['postgres.ts', 'fair.ts'],
  ['proxy.ts'],
] as const) {
  console.log(`\n# bench/${file}`);
  const path = fileURLToPath(new URL(file, import.meta.url));
  const { status } = spawnSync(process.execPath, [path, ...args], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
