// Apt as a foreign client: it updates its lists from a repository with one package, and downloads
// the package.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Deed, Outcome } from './clients.ts';
import { run } from './programs.ts';
import { digestOf } from './site.ts';

export async function runApt({ site, proxy, authorities, home }: Deed): Promise<Outcome> {
  for (const folder of ['state/lists/partial', 'cache/archives/partial']) {
    mkdirSync(join(home, folder), { recursive: true });
  }
  writeFileSync(join(home, 'status'), '');
  writeFileSync(join(home, 'sources.list'), `deb [trusted=yes] ${site}/debian ./\n`);
  // Replaces the machine's own settings, which are then empty.
  const settings = {
    'Dir::State': join(home, 'state'),
    'Dir::State::status': join(home, 'status'),
    'Dir::Cache': join(home, 'cache'),
    'Dir::Etc::sourcelist': join(home, 'sources.list'),
    'Dir::Etc::sourceparts': join(home, 'none'),
    'Dir::Etc::main': join(home, 'none'),
    'Dir::Etc::parts': join(home, 'none'),
    'APT::Sandbox::User': 'root',
    'APT::Update::Error-Mode': 'any',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '0',
    // A machine may have addresses of the other family only, except the loopback's.
    'Acquire::Connect::AddrConfig': 'false',
    'Acquire::http::Proxy': proxy,
    'Acquire::https::Proxy': proxy,
    'Acquire::https::CaInfo': authorities,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} "${value}";\n`);
  const conf = join(home, 'apt.conf');
  writeFileSync(conf, lines.join(''));
  const environment = { APT_CONFIG: conf };
  const updated = await run('apt-get', ['update'], home, environment);
  if (updated.code !== 0) return { digest: undefined, output: updated.output };
  const { code, output } = await run('apt-get', ['download', 'blob'], home, environment);
  if (code !== 0) return { digest: undefined, output };
  await run('dpkg-deb', ['--extract', 'blob_1_all.deb', 'tree'], home);
  return { digest: digestOf(readFileSync(join(home, 'tree', 'blob'))), output };
}
