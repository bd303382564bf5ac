// Makes what the client's package holds beside its README: JavaScript with declarations.
//
//   node scripts/client_package.mjs [FOLDER]      client/ when nothing is said
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = argv[2] ?? join(root, 'client');
const dist = join(folder, 'dist');

const tsc = join(root, 'node_modules', '.bin', 'tsc');
execFileSync(tsc, ['--project', 'client/tsconfig.pack.json', '--outDir', dist], {
  cwd: root,
  stdio: 'inherit',
});

// tsc turns `./x.ts` into `./x.js` in the code, but leaves it in declarations, which not every tool
// follows.
for (const file of readdirSync(dist, { recursive: true })) {
  if (!file.endsWith('.d.ts')) continue;
  const declarations = readFileSync(join(dist, file), 'utf8');
  writeFileSync(
    join(dist, file),
    declarations.replace(/((?:from|import\()\s*['"]\.{1,2}\/[^'"]+)\.ts(['"])/g, '$1.js$2'),
  );
}
