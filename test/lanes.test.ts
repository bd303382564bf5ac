// The lanes of a submission: which of them a change touches, and what they need.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { kindOf, kinds, lanes, lanesOf, packagesOf, partsOf, touches } from './lanes.mjs';

const root = join(import.meta.dirname, '..');

test.each([
  ['docs/vpn.md', ['docs']],
  ['agent/README.md', ['docs']],
  ['README.md', ['docs', 'engine']],
  ['docs/images/console-dns-dark.png', ['docs']],
  ['docs/configuration.md', ['docs', 'packages']],
  ['test/tidy.docs.test.ts', ['docs', 'test']],
  ['console/src/paths.ts', ['docs', 'test', 'browser']],
  ['agent/src/squid/engine.ts', ['docs', 'test', 'attacks', 'programs', 'deaths', 'engine', 'vpn']],
  ['agent/package.json', ['docs', 'test', 'packages']],
  ['server/src/db/group.ts', ['docs', 'test', 'attacks', 'programs', 'deaths', 'browser']],
  [
    'server/src/vpn_profiles/vpn_profiles.ts',
    ['docs', 'test', 'programs', 'deaths', 'browser', 'vpn'],
  ],
  ['kit/src/owner.ts', lanes],
  ['server/test/json.test.ts', ['docs', 'test']],
  ['test/console_forms.e2e.test.ts', ['docs', 'test', 'browser']],
  ['test/squid.network.deep.test.ts', ['docs', 'test', 'deaths']],
])('%s touches the lanes %j', (path, touched) => {
  expect(lanesOf([path])).toEqual(touched);
});

test.each(['.ci/run', 'package-lock.json', 'test/lanes.mjs', 'vitest.config.ts', 'new/file.ts'])(
  '%s touches all lanes',
  (path) => {
    expect(lanesOf([path])).toEqual(lanes);
  },
);

test('a change touches the lanes of all its files', () => {
  expect(lanesOf(['docs/vpn.md', 'ops/rules.yaml', 'console/src/app.tsx'])).toEqual([
    'docs',
    'test',
    'browser',
    'packages',
  ]);
});

test('the packages of a lane are those of its kinds, each once', () => {
  expect(packagesOf(['docs', 'test'])).toEqual([]);
  expect(packagesOf(['browser'])).toEqual(['chromium', 'chromium-headless-shell', 'tmux']);
});

test('each kind of the lanes is in one part, and the first part is npm test', () => {
  const [first, ...others] = partsOf(lanes);
  const projects = [first, ...others].flatMap((part) => part?.projects);
  const all = Object.entries(kinds).filter(([, { lane }]) => lanes.includes(lane));
  expect(projects.sort()).toEqual(all.map(([kind, { lane }]) => `${lane}/${kind}`).sort());
  expect(packagesOf(lanes)).not.toEqual([]);
  expect(first?.name).toBe('node');
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const given = [...scripts.test.matchAll(/--project "(\w+)\/\*"/g)].map(([, lane]) => lane);
  expect([...new Set(first?.projects.map((project) => project.split('/')[0]))]).toEqual(given);
  expect(others[0]).toEqual({ name: 'attack', projects: ['attacks/attack', 'programs/program'] });
});

describe('the tables', () => {
  test.each(Object.keys(touches))('name a path that there is: %s', (beginning) => {
    const folder = beginning.slice(0, beginning.lastIndexOf('/') + 1);
    expect(existsSync(join(root, folder))).toBe(true);
  });

  test('give each kind a lane', () => {
    const all = [...lanes, 'deep'];
    expect(Object.values(kinds).filter(({ lane }) => !all.includes(lane))).toEqual([]);
    expect(
      Object.values(touches)
        .flat()
        .filter((lane) => !lanes.includes(lane)),
    ).toEqual([]);
  });

  test.each(Object.entries(kinds))('stand in the document: %s', (kind, { lane }) => {
    const document = readFileSync(join(root, 'docs/how-it-is-tested.md'), 'utf8');
    expect(document).toMatch(new RegExp(`^\\| \`${kind}\` +\\| ${lane} +\\| \\w`, 'm'));
  });

  test.each([
    ['server/test/json.test.ts', 'unit'],
    ['test/upgrade.deep.test.ts', 'unit'],
    ['agent/test/tunnels.vpn.test.ts', 'vpn'],
    ['test/journal.package.deep.test.ts', 'package'],
    ['test/seed.ts', undefined],
  ])('read the kind from the name: %s', (path, kind) => {
    expect(kindOf(path)).toBe(kind);
  });
});
