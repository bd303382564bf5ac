// The packages exitward and exitward-agent: the control files for dpkg, and where everything lies
// in them.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { programs as commandTables, type Program } from './commands.ts';
import { manualPage } from './manual.ts';
import type { Bundled, Programs } from './programs.ts';
import { settingsFile } from './settings.ts';
import { packDeb, Tree } from './tree.ts';

const root = join(import.meta.dirname, '..');

interface Package {
  summary: string;
  description: string;
  /** Beside the libraries of Node. */
  depends: string;
  /** For a part that not everybody wants. */
  suggests?: string;
  /** The workspace whose version it has. */
  workspace: string;
  commands: readonly string[];
  settings: { file: string; text: () => string };
}

const packages: Record<string, Package> = {
  exitward: {
    summary: 'control plane for proxy networks',
    description: `The accounts, users, proxy access tokens, IP authlists, custom DNS entries
 and usage of a network of proxies, for their holders by an API, a console in
 the browser and the command line exw, for operators by the command line
 exitward. Nodes run exitward-agent.`,
    depends: 'systemd | systemd-sysusers',
    workspace: 'server',
    commands: ['exitward', 'exw'],
    settings: { file: 'exitward.env', text: () => settingsFile('server') },
  },
  'exitward-agent': {
    summary: 'node agent for proxy networks of Exitward',
    description: `Makes a proxy do what the control plane of the network says, and reports
 usage, health and faults. The proxy is Squid, which the agent runs itself, or
 one inside of the agent.`,
    // systemd first: else Squid's logrotate brings cron, and that a mail server.
    depends: 'systemd-sysv | cron | cron-daemon, iproute2, nftables, squid-openssl',
    // No more than that: charon and xl2tpd start services of their own, which take the ports of IKE
    // and L2TP.
    suggests:
      'charon-systemd, libcharon-extra-plugins, libstrongswan-standard-plugins, xl2tpd, ppp',
    workspace: 'agent',
    commands: ['exitward-agent'],
    settings: { file: 'agent.env', text: () => settingsFile('agent') },
  },
};

export interface Build {
  programs: Record<string, Programs>;
  /** The folder of the Node that goes in. */
  node: string;
  /** Debian's name of it. */
  architecture: string;
  /** The time that all files bear. */
  epoch: number;
  out: string;
}

/** Makes both packages, and returns their files. */
export function buildPackages(build: Build): string[] {
  const tables = commandTables();
  return Object.keys(packages).map((name) => buildPackage(name, build, tables));
}

function buildPackage(name: string, build: Build, tables: Program[]): string {
  const { programs, node, architecture, epoch, out } = build;
  const { workspace, commands, settings } = packages[name] as Package;
  const { folder, bundled } = programs[name] as Programs;
  const { version } = JSON.parse(readFileSync(join(root, workspace, 'package.json'), 'utf8'));
  const tree = new Tree(join(folder, `../deb-${architecture}-${name}`));
  const home = `usr/lib/${name}`;
  tree.copyFolder(home, folder);
  tree.copy(`${home}/bin/node`, join(node, 'bin/node'), { executable: true });
  for (const command of commands) {
    tree.write(`usr/bin/${command}`, launcher(join(import.meta.dirname, name, `${command}.sh`)), {
      executable: true,
    });
    const table = tables.find((table) => table.name === command) as Program;
    const page = manualPage(table, version, epoch);
    tree.write(`usr/share/man/man${table.section}/${command}.${table.section}.gz`, packed(page));
    layCompletions(tree, table.name);
  }
  tree.write(`etc/exitward/${settings.file}`, settings.text());
  layOwnFiles(tree, name);
  layDocuments(tree, name, version, { node, bundled, epoch });
  const files = tree.finish(epoch).filter((path) => !path.startsWith('DEBIAN/'));
  tree.write('DEBIAN/control', control(name, version, architecture, sizeOf(tree, files)));
  tree.write('DEBIAN/conffiles', `/etc/exitward/${settings.file}\n`);
  tree.write('DEBIAN/md5sums', sums(tree, files));
  tree.finish(epoch);
  const file = join(out, `${name}_${version}_${architecture}.deb`);
  packDeb(tree, file, epoch);
  return file;
}

/** A command of /usr/bin, with the lines that both packages' have in common. */
function launcher(path: string): string {
  const settings = readFileSync(join(import.meta.dirname, 'settings.sh'), 'utf8').trimEnd();
  return readFileSync(path, 'utf8').replace('#include settings.sh', () => settings);
}

/**
 * Each program asks its own table at each Tab: what it prints for a shell is all that a shell
 * needs.
 */
function layCompletions(tree: Tree, name: string): void {
  tree.write(
    `usr/share/bash-completion/completions/${name}`,
    `source <(${name} completion bash)\n`,
  );
  tree.write(
    `usr/share/zsh/vendor-completions/_${name}`,
    `#compdef ${name}\nsource <(${name} completion zsh)\n`,
  );
  tree.write(
    `usr/share/fish/vendor_completions.d/${name}.fish`,
    `${name} completion fish | source\n`,
  );
}

/** The files of packaging/NAME, where Debian has them. */
function layOwnFiles(tree: Tree, name: string): void {
  const from = join(import.meta.dirname, name);
  for (const file of readdirSync(from)) {
    const path = join(from, file);
    if (file.endsWith('.service')) tree.copy(`usr/lib/systemd/system/${file}`, path);
    else if (file.endsWith('.sysusers')) tree.copy(`usr/lib/sysusers.d/${name}.conf`, path);
    else if (/^(pre|post)(inst|rm)$/.test(file)) {
      tree.copy(`DEBIAN/${file}`, path, { executable: true });
    }
  }
}

function layDocuments(
  tree: Tree,
  name: string,
  version: string,
  { node, bundled, epoch }: { node: string; bundled: Bundled[]; epoch: number },
): void {
  const documents = `usr/share/doc/${name}`;
  tree.write(`${documents}/copyright`, copyright(name, bundled));
  tree.write(`${documents}/node.LICENSE.gz`, packed(readFileSync(join(node, 'LICENSE'), 'utf8')));
  for (const file of ['LICENSE', 'NOTICE', 'README.md', 'CHANGELOG.md']) {
    const text = readFileSync(join(root, file), 'utf8');
    if (!file.endsWith('.md')) tree.write(`${documents}/${file}`, text);
    else tree.write(`${documents}/${file}.gz`, packed(text));
  }
  // Rules and dashboards for the machine that watches, which need not be this one.
  if (name === 'exitward') tree.copyFolder(`${documents}/examples`, join(root, 'ops'));
  const day = new Date(epoch * 1000).toUTCString().replace('GMT', '+0000');
  const entry = `${name} (${version}) stable; urgency=medium\n\n  * Exitward ${version}: see CHANGELOG.md.gz.\n\n -- ${maintainer}  ${day}\n`;
  tree.write(`${documents}/changelog.gz`, packed(entry));
}

function copyright(name: string, bundled: readonly Bundled[]): string {
  const others = bundled.map(
    ({ path, manifest }) =>
      `\nFiles: usr/lib/${name}/${path}/*\nCopyright: the authors of ${manifest.name} ${manifest.version}\nLicense: ${manifest.license}\n It is in that folder.\n`,
  );
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Exitward

Files: *
Copyright: 2026 The Exitward authors
License: Apache-2.0
 On Debian systems the text of the Apache License, Version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.

Files: usr/lib/${name}/bin/node
Copyright: Node.js contributors, and others
License: Node.js
 Its text is in /usr/share/doc/${name}/node.LICENSE.gz.
${others.join('')}`;
}

/** Reports of faults go to the project's page: SECURITY.md. */
const maintainer = 'The Exitward authors <exitward@localhost>';

function control(name: string, version: string, architecture: string, bytes: number): string {
  const { summary, description, depends, suggests } = packages[name] as Package;
  return `Package: ${name}
Version: ${version}
Architecture: ${architecture}
Maintainer: ${maintainer}
Installed-Size: ${Math.ceil(bytes / 1024)}
Depends: libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 8), ${depends}
Recommends: ca-certificates
${suggests ? `Suggests: ${suggests}\n` : ''}Section: net
Priority: optional
Description: ${summary}
 ${description}
`;
}

function sizeOf(tree: Tree, files: readonly string[]): number {
  return files.reduce((sum, path) => sum + statSync(join(tree.folder, path)).size, 0);
}

function sums(tree: Tree, files: readonly string[]): string {
  const sum = (path: string) =>
    createHash('md5')
      .update(readFileSync(join(tree.folder, path)))
      .digest('hex');
  return files.map((path) => `${sum(path)}  ${path}\n`).join('');
}

/** As gzip -9n: without a name and a time. */
function packed(text: string): Uint8Array {
  return gzipSync(text, { level: 9 });
}
