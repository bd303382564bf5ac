// How the tests run: threads without isolation (fast), one PostgreSQL and one Chromium for all, and no setting that hides a skip.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Tests in a real browser. CI installs one; a machine without any runs the rest, and is told. */
const browser = ['test/**/*.e2e.test.ts'];
const chromium = process.env.EXITWARD_TEST_CHROMIUM ?? '/usr/bin/chromium';
const hasBrowser = process.env.CI !== undefined || existsSync(chromium);

/** The test of the console in Firefox. CI installs it. */
const inFirefox = ['test/console_firefox.e2e.test.ts'];
const firefox = process.env.EXITWARD_TEST_FIREFOX ?? '/usr/bin/firefox-esr';
const hasFirefox = process.env.CI !== undefined || existsSync(firefox);

/** Tests with Debian's Squid and network namespaces: as root, on Linux. CI has both. In three projects, which CI runs at once. */
const squid = ['**/*.squid.test.ts'];
const squidOfAgent = ['agent/**/*.squid.test.ts'];
const isRoot = process.getuid?.() === 0;
const hasSquid = process.env.CI !== undefined || (isRoot && existsSync('/usr/sbin/squid'));

/** Tests with strongSwan, in network namespaces, too. CI installs it. */
const vpn = ['agent/test/vpn*.squid.test.ts', 'test/{demo_vpn,vpn_rekeys}.squid.test.ts'];
const hasStrongSwan =
  process.env.CI !== undefined ||
  ['charon-systemd', 'swanctl'].every((name) => existsSync(`/usr/sbin/${name}`));

/** The test of VPN profiles, which nmcli reads, too. CI installs it. */
const profiles = ['test/vpn_profiles.squid.test.ts'];
const hasNmcli = process.env.CI !== undefined || (hasStrongSwan && has('nmcli'));

/** Tests on another kernel, in a virtual machine. CI installs what emulates one. */
const otherKernels = ['test/vm/*.test.ts'];
const emulation = ['qemu-system-x86_64', 'busybox', 'xl2tpd', 'pppd'];
const hasEmulator = process.env.CI !== undefined || (hasStrongSwan && emulation.every(has));

/** Tests in a real terminal, which tmux makes. CI installs it. */
const terminal = ['**/*.terminal.test.ts'];
const hasTerminal = process.env.CI !== undefined || has('tmux');

/** Tests that record a process by a library that is preloaded: on Linux, with a C compiler. CI installs one. */
const powerCuts = ['test/powercut/*.test.ts'];
const hasCompiler = process.env.CI !== undefined || (process.platform === 'linux' && has('cc'));

/** Tests of container images, and of the packages on booted Debians: as root, with what makes and runs them. CI installs it. */
const machines = ['test/images.test.ts', 'test/booted/*.test.ts'];
const machineTools = [
  'ar',
  'buildah',
  'dnsmasq',
  'mmdebstrap',
  'pebble',
  'podman',
  'runc',
  'systemd-nspawn',
];
const hasMachineTools = process.env.CI !== undefined || (isRoot && machineTools.every(has));

/** Tests with Prometheus' own tool for rules. CI unpacks it. */
const promtool = ['**/*.promtool.test.ts'];
const hasPromtool = process.env.CI !== undefined || has('promtool');

/** Tests with a certificate authority, Debian's pebble. CI installs it. */
const acme = [
  'server/test/acme{,_cli}.test.ts',
  'agent/test/acme.test.ts',
  'agent/test/acme.squid.test.ts',
];
const hasPebble = process.env.CI !== undefined || has('pebble');

/** Tests with programs that others wrote, which go through a node. CI installs them. */
const clients = ['agent/test/clients*.test.ts'];
const missingClients =
  process.env.CI !== undefined
    ? []
    : [
        ...['apt-get', 'curl', 'dpkg-deb', 'git', 'python3', 'wget'].map(
          (name) => `/usr/bin/${name}`,
        ),
        ...['/usr/bin/eapol_test', '/usr/bin/radclient'],
        ...['/usr/lib/python3/dist-packages/requests', chromium],
      ].filter((path) => !existsSync(path));

/**
 * Tests that depend on a port that was just closed being free. Each has a process of its own, one at a time: a program that
 * another test starts holds copies of its process's sockets between fork and exec, and the port stays taken for so long.
 */
const ports = [
  'agent/test/{billing,embedded*}.test.ts',
  'test/hostile/{idle_connections,late_requests,tls_handshake}.test.ts',
  // A certificate authority connects to the same port again and again.
  ...acme.slice(0, 1),
];

/** Tests that start processes, try much by chance or take their time, which `npm run test:quick` leaves to `npm test`. */
const slow = [
  '**/test/{cli,cli_run,cli_vpn,cli_vpn_profile,package}.test.ts',
  'agent/test/{decide,journal,policy,replica,store_crash}.test.ts',
  'client/test/{examples,retries}.test.ts',
  'server/test/{admin_inventory,caching,console_events,console_flags,console_late_body}.test.ts',
  'server/test/{doctor,doors,durability,explain,faults,geofeed,nodes,nodes_limits,nodes_pace}.test.ts',
  'server/test/{observability,postgres_checks,postgres_failover,secrets,sign_in,sign_in_cli,sign_in_endings,sign_in_throttle,start}.test.ts',
  'test/cli_kits.test.ts',
];

/** Long tries of chance that need no more than Node: CI begins them while it installs what the others need. */
const chance = ['test/{simulation,model,fuzz}.test.ts', 'server/test/durability.test.ts'];

const repository = ['test/tidy.test.ts'];

/** The files that take longest. They begin first, so that no core is idle while the last of them runs. */
const longest = [
  'test/simulation.test.ts',
  'test/system_embedded.test.ts',
  'server/test/durability.test.ts',
  'test/vm/vpn.test.ts',
  'test/booted/install.test.ts',
  'test/images.test.ts',
  'test/hostile/unread_responses.test.ts',
  'test/model.test.ts',
  'test/old_agent.test.ts',
  'agent/test/clients.test.ts',
  'test/console_pages.e2e.test.ts',
  'test/console_signing_in.e2e.test.ts',
  'test/release.test.ts',
  'test/console_operator.e2e.test.ts',
  'test/console_looks.e2e.test.ts',
  'test/console_reading.e2e.test.ts',
  'test/console_address.e2e.test.ts',
  'test/fuzz.test.ts',
  'test/hostile/fuzz_proxy.test.ts',
  'test/powercut/powercut.test.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification) =>
      longest.findIndex((path) => moduleId.endsWith(`/${path}`));
    const isLong = (file: TestSpecification) => rank(file) >= 0;
    return [
      ...sorted.filter(isLong).sort((one, other) => rank(one) - rank(other)),
      ...sorted.filter((file) => !isLong(file)),
    ];
  }
}

export default defineConfig(({ mode }) => {
  const isQuick = mode === 'quick';
  const leftOut = [
    ...(hasTerminal && !isQuick ? [] : terminal),
    ...(hasStrongSwan ? [] : vpn),
    ...(hasNmcli ? [] : profiles),
    ...(hasEmulator && !isQuick ? [] : otherKernels),
    ...(hasCompiler && !isQuick ? [] : powerCuts),
    ...(hasMachineTools && !isQuick ? [] : machines),
    ...(hasPromtool && !isQuick ? [] : promtool),
    ...(hasPebble && !isQuick ? [] : acme),
    ...(missingClients.length > 0 || isQuick ? clients : []),
    ...(isQuick ? slow : []),
    '**/node_modules/**',
  ];
  if (!isQuick) tellMissing();
  return {
    test: {
      // Named, so that the report is the same on every machine.
      reporters: ['default'],
      // A focused test would silently leave out the others.
      allowOnly: false,
      sequence: { sequencer: LongestFirst },
      projects: [
        // The rules of the repository read files only: no database is started for them.
        project('repository', { include: repository }),
        // The agent's own tests need no database.
        project('agent', {
          include: ['agent/test/**/*.test.ts'],
          exclude: [...squid, ...ports, ...leftOut],
        }),
        project('ports', {
          include: isQuick ? ports.slice(0, 1) : ports,
          exclude: [...squid, ...leftOut],
          pool: 'forks',
          ...apart,
        }),
        // The console's own logic needs neither a browser nor a database.
        project('console', { include: ['console/test/**/*.test.ts'] }),
        // The client's tests start the server on SQLite.
        project('client', { include: ['client/test/**/*.test.ts'], exclude: leftOut }),
        isQuick
          ? project('server', {
              include: ['server/test/**/*.test.ts'],
              exclude: leftOut,
              provide: { databases: ['SQLite'] },
            })
          : project('server', {
              include: ['server/test/**/*.test.ts', 'test/**/*.test.ts'],
              exclude: [...repository, ...squid, ...browser, ...ports, ...chance, ...leftOut],
              ...bothDatabases,
            }),
        ...(isQuick ? [] : [project('chance', { include: chance, ...bothDatabases })]),
        ...(hasBrowser && !isQuick
          ? [
              project('browser', {
                include: browser,
                exclude: hasFirefox ? [] : inFirefox,
                globalSetup: ['test/browser.ts'],
              }),
            ]
          : []),
        // They share ports, namespaces and the kernel's rules.
        ...(hasSquid && !isQuick
          ? [
              project('squid-vpn', {
                include: [...vpn, ...profiles],
                exclude: leftOut,
                ...apart,
              }),
              project('squid-agent', {
                include: squidOfAgent,
                exclude: [...vpn, ...leftOut],
                ...apart,
              }),
              project('squid-system', {
                include: squid,
                exclude: [...squidOfAgent, ...vpn, ...profiles, ...leftOut],
                ...apart,
              }),
            ]
          : []),
      ],
    },
  };
});

const bothDatabases = {
  provide: { databases: ['SQLite', 'PostgreSQL'] },
  globalSetup: ['server/test/postgres.ts'],
};

/** After all others, and one file at a time. */
const apart = { maxWorkers: 1, sequence: { groupOrder: 1 } };

/** A project with what all of them share. */
function project(name: string, own: object) {
  const shared = {
    pool: 'threads',
    isolate: false,
    // Left to itself it takes one on two cores, and the tests wait for processes and databases more than they compute.
    maxWorkers: 3,
    // Patience, for a machine that is busy with something else: what takes longer has stopped.
    setupFiles: 'test/seeded.ts',
    testTimeout: 180_000,
    hookTimeout: 360_000,
    expect: { poll: { timeout: 90_000 } },
  } as const;
  return { test: { ...shared, name, ...own } };
}

function has(program: string): boolean {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.some((folder) => existsSync(join(folder, program)));
}

function tellMissing(): void {
  if (!hasBrowser) {
    console.error(
      `There is no ${chromium}: the tests in a browser are left out (EXITWARD_TEST_CHROMIUM names another one).`,
    );
  }
  if (!hasFirefox) {
    console.error(
      `There is no ${firefox}: the test in Firefox is left out (EXITWARD_TEST_FIREFOX names another one).`,
    );
  }
  if (!hasSquid) {
    console.error('The tests with Squid are left out: they need /usr/sbin/squid, and root.');
  }
  if (!hasStrongSwan) {
    console.error('The tests of the VPN are left out: they need charon-systemd and swanctl.');
  }
  if (!hasNmcli) {
    console.error('The test of VPN profiles is left out: it needs strongSwan, and nmcli.');
  }
  if (!hasEmulator) {
    console.error(`The tests on another kernel are left out: they need ${emulation.join(', ')}.`);
  }
  if (!hasTerminal) {
    console.error('The tests in a terminal are left out: they need tmux.');
  }
  if (!hasCompiler) {
    console.error('The tests of power cuts are left out: they need cc, and Linux.');
  }
  if (!hasMachineTools) {
    console.error(
      `The tests of images and machines are left out: they need ${machineTools.join(', ')}, and root.`,
    );
  }
  if (!hasPromtool) {
    console.error('The tests of rules and dashboards are left out: they need promtool.');
  }
  if (!hasPebble) {
    console.error('The tests of ACME are left out: they need pebble.');
  }
  if (missingClients.length > 0) {
    console.error(`The tests of foreign clients are left out: no ${missingClients.join(', ')}.`);
  }
}
