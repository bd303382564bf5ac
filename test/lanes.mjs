// The tests by kind, and the lanes that run them: one table for Vitest, CI and
// docs/how-it-is-tested.md.
//
//   node test/lanes.mjs touched BASE
//       the lanes that the changes since the commit BASE touch, a line each; all without one
//   node test/lanes.mjs packages LANE…  the Debian packages that these lanes need
//   node test/lanes.mjs parts LANE…
//       the parts in which these lanes run, a line each: its name and its projects
//
// Plain JavaScript: CI asks before anything is installed.
import { execFileSync } from 'node:child_process';
import { argv, stdout } from 'node:process';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {object} Kind
 * @property {string} lane the lane that runs it
 * @property {string} what for the documents
 * @property {string[]} [programs] it fails without these: by path, or on the PATH
 * @property {string[]} [packages] the Debian packages that bring them
 * @property {true} [isAlone] one file at a time: its tests share ports or the kernel's rules
 */

const squid = {
  programs: ['/usr/sbin/squid', 'ip', 'nft', 'openssl'],
  packages: ['iproute2', 'nftables', 'openssl', 'procps', 'squid-openssl'],
};
const strongSwan = {
  programs: ['/usr/sbin/charon-systemd', 'swanctl'],
  packages: [
    'charon-systemd',
    'libcharon-extauth-plugins',
    'libcharon-extra-plugins',
    'libstrongswan-standard-plugins',
    'strongswan-swanctl',
  ],
};
const chromium = {
  programs: ['/usr/bin/chromium'],
  packages: ['chromium', 'chromium-headless-shell'],
};

/**
 * Each kind of test by its name: `SUBJECT.KIND.test.ts`; `unit` has none. In the order in which CI
 * begins them: first what takes longest.
 * @type {Record<string, Kind>}
 */
export const kinds = {
  docs: { lane: 'docs', what: 'the house rules, and what the documents say' },
  unit: { lane: 'test', what: 'Node alone; the server on SQLite' },
  postgres: { lane: 'test', what: 'what depends on the database: on SQLite and on PostgreSQL' },
  alone: {
    lane: 'test',
    what: 'Node alone, one file after another: their nodes have the same ports',
    isAlone: true,
  },
  attack: { lane: 'attacks', what: 'hostile clients, nodes and origins' },
  program: { lane: 'programs', what: 'the programs as people start them, each a process' },
  vpn: {
    lane: 'vpn',
    what: 'strongSwan on both sides, in network namespaces',
    programs: [...squid.programs, ...strongSwan.programs, 'nmcli', 'pppd', 'python3', 'xl2tpd'],
    packages: [
      ...[...squid.packages, ...strongSwan.packages],
      ...['kmod', 'network-manager', 'ppp', 'python3', 'xl2tpd'],
    ],
    isAlone: true,
  },
  network: {
    lane: 'deaths',
    what: 'the whole system as processes and machines: killed, cut off, revoked, counted',
    isAlone: true,
    ...squid,
  },
  e2e: { lane: 'browser', what: 'Chromium', ...chromium },
  squid: { lane: 'engine', what: 'Squid, in network namespaces', isAlone: true, ...squid },
  death: {
    lane: 'deaths',
    what: 'a process or a disk that dies, is full or loses power',
    programs: ['cc'],
    packages: ['gcc', 'libc6-dev'],
    isAlone: true,
  },
  foreign: {
    lane: 'engine',
    what: 'programs of others: through a node, and as readers of what is made here',
    programs: [
      ...['apt-get', 'curl', 'dpkg-deb', 'eapol_test', 'git', 'python3', 'radclient', 'wget'],
      '/usr/lib/python3/dist-packages/requests',
      '/usr/sbin/pgbouncer',
      ...squid.programs,
      ...chromium.programs,
    ],
    packages: [
      ...[
        'ca-certificates',
        'curl',
        'eapoltest',
        'freeradius-utils',
        'git',
        'pgbouncer',
        'python3-requests',
        'wget',
      ],
      ...squid.packages,
      ...chromium.packages,
    ],
    isAlone: true,
  },
  pebble: {
    lane: 'engine',
    what: 'certificates from an authority (pebble)',
    programs: ['pebble', ...squid.programs],
    packages: ['pebble', ...squid.packages],
    isAlone: true,
  },
  package: {
    lane: 'packages',
    what: 'Debian packages, installed by dpkg',
    programs: ['ar', 'shellcheck', 'systemd-analyze', ...squid.programs],
    packages: ['binutils', 'curl', 'shellcheck', 'systemd', ...squid.packages],
    isAlone: true,
  },
  terminal: {
    lane: 'browser',
    what: 'the command lines in a real terminal',
    programs: ['tmux'],
    packages: ['tmux'],
  },
  promtool: {
    lane: 'packages',
    what: 'rules and dashboards, read by promtool',
    // Unpacked from Debian's prometheus, whose service is not wanted.
    programs: ['promtool'],
  },
  firefox: {
    lane: 'deep',
    what: 'the console in Firefox',
    programs: ['/usr/bin/firefox-esr'],
    packages: ['firefox-esr'],
  },
  bench: {
    lane: 'deep',
    what: 'each measurement of `bench/`, as small as can be',
    programs: ['taskset', 'wrk', 'cc', 'tinyproxy', ...squid.programs, ...chromium.programs],
    packages: [
      ...['gcc', 'libc6-dev', 'util-linux', 'wrk', 'tinyproxy-bin'],
      ...[...squid.packages, ...chromium.packages],
    ],
    isAlone: true,
  },
  machine: {
    lane: 'deep',
    what: 'container images, booted Debians, another kernel in a virtual machine',
    programs: [
      ...['ar', 'buildah', 'busybox', 'dnsmasq', 'mmdebstrap', 'pebble', 'podman', 'pppd', 'runc'],
      ...['qemu-system-x86_64', 'systemd-nspawn', 'xl2tpd', ...strongSwan.programs],
    ],
    packages: [
      ...[
        'binutils',
        'buildah',
        'busybox-static',
        'dnsmasq-base',
        'iproute2',
        'kmod',
        'mmdebstrap',
      ],
      ...['nftables', 'openssl', 'pebble', 'podman', 'ppp', 'procps', 'qemu-system-x86', 'runc'],
      ...['systemd-container', 'xl2tpd', ...strongSwan.packages],
    ],
  },
};

/** The lanes of `npm test`, for an ordinary user on a Debian with Node, npm and git alone. */
const plainLanes = ['docs', 'test'];

/** The lanes of a submission; the first runs whatever was changed. */
export const lanes = [
  ...plainLanes,
  ...['attacks', 'programs', 'deaths', 'browser', 'engine', 'vpn', 'packages'],
];

/**
 * The lanes that a changed file touches besides the first two: those of the longest beginning of
 * its path. A path that begins with none of these touches all: so do `.ci/`, the lock file, this
 * file, and whatever is new. A test touches its kind's lane.
 * Documents touch the first lane, and what stands here.
 * @type {Record<string, string[]>}
 */
export const touches = {
  'README.md': ['engine'],
  'agent/': ['packages'],
  'agent/src/': ['attacks', 'programs', 'engine', 'vpn', 'deaths'],
  'agent/test/': ['attacks', 'programs', 'engine', 'vpn'],
  'bench/': [],
  'client/': ['programs', 'engine', 'browser'],
  'client/test/': ['programs'],
  'console/': ['browser'],
  'console/test/': [],
  'demo/': ['programs', 'browser', 'vpn'],
  'docs/configuration.md': ['packages'],
  'docs/openapi.json': ['browser'],
  'kit/': ['attacks', 'programs', 'engine', 'vpn', 'browser', 'deaths', 'packages'],
  'kit/test/': [],
  'ops/': ['packages'],
  'packaging/': ['packages'],
  'scripts/': ['programs', 'packages'],
  'server/': ['packages'],
  'server/src/': ['attacks', 'programs', 'browser', 'deaths'],
  'server/src/nodes/': ['attacks', 'programs', 'vpn', 'browser', 'deaths'],
  'server/src/vpn': ['programs', 'vpn', 'browser', 'deaths'],
  'server/test/': ['attacks', 'programs'],
  'test/console/': ['browser'],
  'test/hostile/': ['attacks', 'engine'],
  'test/pages/': ['browser'],
  'test/powercut/': ['deaths'],
  'test/simulation/': [],
  'test/soak/': [],
  'test/system/': ['deaths'],
};

/**
 * The kind that the name of a file of tests says; undefined for a file that is no test. @param
 * {string} path
 */
export function kindOf(path) {
  const [, kind] =
    /^[^.]+(?:\.(\w+))?\.test\.ts$/.exec(path.replace('.deep.test.', '.test.')) ?? [];
  return path.endsWith('.test.ts') ? (kind ?? 'unit') : undefined;
}

/** The lanes that changes of these files touch. @param {readonly string[]} paths */
export function lanesOf(paths) {
  const touched = new Set(['docs', ...paths.flatMap(lanesOfOne)]);
  return lanes.filter((lane) => touched.has(lane));
}

/** @param {string} path */
function lanesOfOne(path) {
  if (/\.md$|^docs\/(?!openapi\.json$)/.test(path)) return touches[path] ?? [];
  const { lane = '' } = kinds[kindOf(path) ?? ''] ?? {};
  if (lane !== '') return ['test', lane];
  const beginnings = Object.keys(touches).filter((beginning) => path.startsWith(beginning));
  const [longest = ''] = beginnings.sort((a, b) => b.length - a.length);
  return ['test', ...(touches[longest] ?? lanes)];
}

/** The Debian packages that these lanes need. @param {readonly string[]} names */
export function packagesOf(names) {
  const needed = Object.values(kinds).filter(({ lane }) => names.includes(lane));
  return [...new Set(needed.flatMap(({ packages = [] }) => packages))].sort();
}

/**
 * The parts in which these lanes run, each a process: `npm test` first, the other kinds that need
 * only Node together, then each other kind.
 * @param {readonly string[]} names
 */
export function partsOf(names) {
  const all = Object.entries(kinds).filter(([, { lane }]) => names.includes(lane));
  const isPlain = (/** @type {Kind} */ { lane }) => plainLanes.includes(lane);
  const groups = [
    all.filter(([, kind]) => isPlain(kind)),
    all.filter(([, kind]) => !isPlain(kind) && !kind.programs),
    ...all.filter(([, kind]) => kind.programs).map((kind) => [kind]),
  ];
  return groups.flatMap((group, at) => {
    const projects = group.map(([kind, { lane }]) => `${lane}/${kind}`);
    const [[kind = ''] = []] = group;
    return group.length === 0 ? [] : [{ name: at === 0 ? 'node' : kind, projects }];
  });
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const [, , command = '', ...rest] = argv;
  /** @type {Record<string, () => string[]>} */
  const answers = {
    touched: () => touchedSince(rest[0]),
    packages: () => packagesOf(rest),
    parts: () =>
      partsOf(rest).map(({ name, projects }) =>
        [name, ...projects.map((project) => `--project=${project}`)].join(' '),
      ),
  };
  for (const answer of answers[command]?.() ?? []) stdout.write(`${answer}\n`);
}

/** @param {string | undefined} base */
function touchedSince(base) {
  if (!base) return lanes;
  const diff = ['diff', '--name-only', '-z', base, 'HEAD'];
  return lanesOf(execFileSync('git', diff, { encoding: 'utf8' }).split('\0').filter(Boolean));
}
