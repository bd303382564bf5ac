// Exitward for a measurement: fills a fresh database when asked, serves it, and prints where and with which tokens.
//   node bench/server.ts ACCOUNTS ENTRIES   (0 0: serves what is there)
import { writeFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serve } from '../server/src/main.ts';
import { fillNetwork } from './network.ts';

const [accounts = 0, entries = 0] = process.argv.slice(2).map(Number);
const running = await serve(process.env);
const file = join(running.ctx.config.data_dir, 'bench-tokens.json');
if (accounts > 0) writeFileSync(file, JSON.stringify(await fillNetwork(running.ctx, accounts, entries)));
const tokens = (JSON.parse(readFileSync(file, 'utf8')) as string[]).slice(0, 100);
console.log(JSON.stringify({ base_url: running.base_url, node_url: running.node_url, tokens }));
process.on('SIGTERM', () => void running.stop().then(() => process.exit(0)));
