// Lays the licence and the notice into a workspace while npm packs it: npm takes both from the
// package's own folder alone.
//
//   node scripts/papers.mjs FOLDER              lays them
//   node scripts/papers.mjs FOLDER --remove
//       takes them and what else was made for the package away again
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const papers = ['LICENSE', 'NOTICE'];
const [folder, option] = argv.slice(2);
if (option === '--remove') {
  for (const made of [...papers, 'dist', 'openapi.json']) {
    rmSync(join(root, folder, made), { recursive: true, force: true });
  }
} else {
  for (const paper of papers) copyFileSync(join(root, paper), join(root, folder, paper));
}
