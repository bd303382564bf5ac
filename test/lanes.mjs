// The tests by kind, and the lanes that run them: one table for Vitest, CI and docs/how-it-is-tested.md.
//
//   node test/lanes.mjs touched BASE    the lanes that the changes since the commit BASE touch, a line each; all without one
//   node test/lanes.mjs packages LANE…  the Debian packages that these lanes need
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

/** Each kind of test by its name: `SUBJECT.KIND.test.ts`; `unit` has none. @type {Record<string, Kind>} */
export const kinds = {
  unit: { lane: 'test', what: 'Node alone; the server on SQLite' },
  postgres: { lane: 'test', what: 'what depends on the database: on SQLite and on PostgreSQL' },
  alone: {
    lane: 'test',
    what: 'Node alone, but a process for each file: a port that was just closed must be free',
    isAlone: true,
  },
  squid: { lane: 'engine', what: 'Squid, in network namespaces', isAlone: true, ...squid },
  foreign: {
    lane: 'engine',
    what: 'programs of others go through a node',
    programs: [
      ...['apt-get', 'curl', 'dpkg-deb', 'eapol_test', 'git', 'python3', 'radclient', 'wget'],
      '/usr/lib/python3/dist-packages/requests',
      ...squid.programs,
      ...chromium.programs,
    ],
    packages: [
      ...['curl', 'eapoltest', 'freeradius-utils', 'git', 'python3-requests', 'wget'],
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
  vpn: {
    lane: 'vpn',
    what: 'strongSwan on both sides, in network namespaces',
    programs: [...squid.programs, ...strongSwan.programs, 'nmcli'],
    packages: [...squid.packages, ...strongSwan.packages, 'network-manager'],
    isAlone: true,
  },
  e2e: { lane: 'browser', what: 'Chromium', ...chromium },
  terminal: {
    lane: 'browser',
    what: 'the command lines in a real terminal',
    programs: ['tmux'],
    packages: ['tmux'],
  },
  package: {
    lane: 'packages',
    what: 'Debian packages, installed by dpkg; releases',
    programs: ['ar', 'shellcheck', 'systemd-analyze', ...squid.programs],
    packages: ['binutils', 'curl', 'shellcheck', 'systemd', ...squid.packages],
    isAlone: true,
  },
  promtool: {
    lane: 'packages',
    what: 'rules and dashboards, read by promtool',
    // Unpacked from Debian's prometheus, whose service is not wanted.
    programs: ['promtool'],
  },
  death: {
    lane: 'deaths',
    what: 'processes and machines that die, are cut off or lose power',
    programs: ['cc', ...squid.programs],
    packages: ['gcc', 'libc6-dev', ...squid.packages],
    isAlone: true,
  },
  firefox: {
    lane: 'deep',
    what: 'the console in Firefox',
    programs: ['/usr/bin/firefox-esr'],
    packages: ['firefox-esr'],
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

/**
 * The lanes of a submission besides `npm test`, and the paths that touch each of them. Changed files below none of these paths
 * touch no lane. A file of the tests touches the lane of its kind.
 */
export const lanes = {
  engine: ['agent/', 'test/hostile/', 'server/src/acme/', 'server/src/certificate.ts'],
  vpn: [
    ...['agent/src/', 'agent/test/vpn', 'agent/test/scenarios/', 'demo/vpn', 'server/src/vpn'],
    'server/src/nodes/',
  ],
  browser: [
    ...['console/', 'server/src/', 'client/', 'demo/', 'docs/openapi.json'],
    ...['test/console/', 'test/pages/', 'test/browser.ts'],
  ],
  packages: ['packaging/', 'scripts/', 'ops/', 'server/bin/', 'agent/bin/', 'server/install/'],
  deaths: ['server/src/', 'agent/src/', 'test/powercut/', 'test/system/'],
};

/** Whoever changes these changes how everything is tested, or all that it stands on. */
const everything = [
  '.ci/',
  'package-lock.json',
  'package.json',
  'vitest.config.ts',
  'test/lanes.mjs',
];

/** The kind of a file of tests. @param {string} path */
export function kindOf(path) {
  const kind = path.match(/\.(\w+)(?:\.deep)?\.test\.ts$/)?.[1];
  return kind && Object.hasOwn(kinds, kind) ? kind : 'unit';
}

/** The lanes that changes of these files touch. @param {readonly string[]} paths */
export function lanesOf(paths) {
  const names = Object.keys(lanes);
  const isBelow = (/** @type {string} */ path) => (/** @type {string} */ start) =>
    path.startsWith(start);
  return paths.some((path) => everything.some(isBelow(path)))
    ? names
    : names.filter((lane) =>
        paths.some(
          (path) =>
            lanes[/** @type {keyof typeof lanes} */ (lane)].some(isBelow(path)) ||
            (path.endsWith('.test.ts') && kinds[kindOf(path)]?.lane === lane),
        ),
      );
}

/** The Debian packages that these lanes need. @param {readonly string[]} names */
export function packagesOf(names) {
  const needed = Object.values(kinds).filter(({ lane }) => names.includes(lane));
  return [...new Set(needed.flatMap(({ packages = [] }) => packages))].sort();
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const [, , command, ...rest] = argv;
  const answers = command === 'touched' ? touchedSince(rest[0]) : packagesOf(rest);
  for (const answer of answers) stdout.write(`${answer}\n`);
}

/** @param {string | undefined} base */
function touchedSince(base) {
  if (!base) return Object.keys(lanes);
  const diff = ['diff', '--name-only', '-z', base, 'HEAD'];
  return lanesOf(execFileSync('git', diff, { encoding: 'utf8' }).split('\0'));
}
