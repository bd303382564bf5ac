// The checks that only a running server can make: its database, descriptors, listeners, keys, and
// its nodes.

import {
  type Check,
  fault,
  listed,
  type Outcome,
  ok,
  warning,
} from '../../../kit/src/doctor/check.ts';
import { clockRemedy } from '../../../kit/src/doctor/clock.ts';
import { addressText } from '../../../kit/src/listening.ts';
import { OpenToOthers, readPrivate } from '../../../kit/src/private_files.ts';
import { quoted } from '../../../kit/src/quoted.ts';
import type { BackupSchedule } from '../backups/schedule.ts';
import { connectionsWithin, descriptorLimit } from '../bounds/descriptors.ts';
import type { Clock } from '../clock.ts';
import { type Config, isLoopback } from '../config.ts';
import type { Database } from '../db/database.ts';
import type { Install } from '../install/install.ts';
import { installation } from '../install/installation.ts';
import { Secrets } from '../keys/secrets.ts';
import type { CertificateStatus } from '../tls/certificate.ts';
import { compareVersions, version } from '../values/version.ts';
import { judge } from './database.ts';
import { backupStates, certificateRenewal } from './upkeep.ts';

export interface RunningServer {
  config: Config;
  db: Database;
  secrets: Secrets;
  install: Install;
  clock: Clock;
  backups: Pick<BackupSchedule, 'status'> | undefined;
  certificate: () => CertificateStatus | null;
}

/** A node, with what the doctor checks. */
export interface SeenNode {
  name: string;
  server: string;
  version: string;
  live: boolean;
  /** The kinds of its faults. */
  faults: string[];
}

/** A stored address of an exit, or hostname of a server, that is not in its canonical spelling. */
export interface OldSpelling {
  kind: 'exit' | 'hostname';
  server: string;
  stored: string;
  /** Undefined: the text is no address or hostname at all. */
  canonical: string | undefined;
  /** The server that has the same one in another spelling. */
  also_on: string | undefined;
}

/** An exit IP from which nothing leaves its machine. */
export interface ConfinedExit {
  server: string;
  ip: string;
}

/** The records that the doctor checks. */
export interface SeenNetwork {
  nodes: readonly SeenNode[];
  spellings: readonly OldSpelling[];
  confined: readonly ConfinedExit[];
}

export function runningChecks(
  { config, db, secrets, install, clock, backups, certificate }: RunningServer,
  { nodes, spellings, confined }: SeenNetwork,
): Check[] {
  return [
    { name: 'server', run: () => ok(`Exitward ${version} runs.`) },
    { name: 'database', run: async () => judge(await db.examine()) },
    { name: 'keys_in_use', run: () => keysInUse(config, secrets) },
    { name: 'descriptors', run: () => descriptors(config) },
    { name: 'listeners', run: () => listeners(config) },
    { name: 'backups', run: () => backupStates(backups?.status(), db.engine, clock) },
    { name: 'certificate_renewal', run: () => certificateRenewal(certificate()) },
    { name: 'nodes', run: () => nodeStates(nodes) },
    { name: 'node_versions', run: () => nodeVersions(nodes) },
    { name: 'node_clocks', run: () => nodeClocks(nodes) },
    { name: 'node_packages', run: () => nodePackages(install) },
    { name: 'spellings', run: () => storedSpellings(spellings) },
    { name: 'exits', run: () => confinedExits(confined) },
  ];
}

function confinedExits(exits: readonly ConfinedExit[]): Outcome {
  const [first] = exits;
  if (!first) return ok('No exit IP is a loopback or link-local address.');
  return warning(
    `Nothing leaves from loopback and link-local addresses: ${listed(exits.map(({ server, ip }) => `${ip} of ${server}`))}.`,
    `exitward exit add ${first.server}, with an address by which its machine reaches the Internet; then exitward exit remove ${first.server} ${first.ip}`,
  );
}

/** Earlier versions stored addresses and hostnames as they were typed. */
function storedSpellings(spellings: readonly OldSpelling[]): Outcome[] {
  if (spellings.length === 0)
    return [ok('Each exit IP and hostname is stored in its canonical spelling.')];
  return spellings.map(({ kind, server, stored, canonical, also_on }) => {
    const name = kind === 'exit' ? `Exit ${quoted(stored)}` : `Hostname ${quoted(stored)}`;
    const reason =
      canonical === undefined
        ? `is no ${kind === 'exit' ? 'IP address' : 'hostname'}: nodes cannot use it`
        : also_on === undefined
          ? `is ${canonical} in an old spelling`
          : `is ${canonical}, which ${also_on} has in another spelling`;
    const isAlone = also_on === undefined && canonical !== undefined;
    const remove = `exitward exit remove ${server} ${shellQuoted(stored)}`;
    const add = isAlone ? `; then exitward exit add ${server} ${canonical}, at its port base` : '';
    // A duplicate cannot have the canonical one, too.
    const rename = `exitward server change ${server} --hostname ${isAlone ? canonical : 'HOSTNAME'}`;
    return warning(`${name} of ${server} ${reason}.`, kind === 'exit' ? `${remove}${add}` : rename);
  });
}

const shellQuoted = (text: string) =>
  /^[\w.:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The next start reads the keys from the file: until then only this process can notice a loss. */
function keysInUse({ keys_file, mounted_secrets }: Config, secrets: Secrets): Outcome {
  let state = 'cannot be read';
  try {
    const text = readPrivate(keys_file, { mounted: mounted_secrets });
    state = 'is damaged';
    const file = new Secrets(JSON.parse(text));
    const kids = file.heldKeys();
    if (file.key_id === secrets.key_id && secrets.hashKeyIds().every((id) => kids.includes(id))) {
      return ok('The keys file has the keys that the server works with.');
    }
    state = 'has other keys than the server works with';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') state = 'is gone';
    if (error instanceof OpenToOthers) state = 'is open to other users';
  }
  return fault(
    `The keys file ${keys_file} ${state}: the next start fails.`,
    `put the copy of ${keys_file} back that you keep elsewhere; do not stop the server before`,
  );
}

function descriptors({ max_connections }: Config): Outcome {
  const limit = descriptorLimit();
  const carried = connectionsWithin(limit);
  const sentence = `The server may open ${limit} descriptors`;
  if (carried >= max_connections)
    return ok(`${sentence}, enough for ${max_connections} connections.`);
  return warning(
    `${sentence}: only ${carried} of the ${max_connections} connections of EXITWARD_MAX_CONNECTIONS.`,
    installation.isService
      ? 'systemctl edit exitward: LimitNOFILE=65536'
      : `ulimit -n 65536, then: ${installation.start}`,
  );
}

function listeners({ listen, admin_listen, metrics_listen }: Config): Outcome[] {
  const outcomes: Outcome[] = [];
  if (!isLoopback(admin_listen.host)) {
    outcomes.push(
      warning(
        `Operators' interface listens on ${addressText(admin_listen)}, which other machines reach.`,
        `${installation.withSetting('EXITWARD_ADMIN_LISTEN=127.0.0.1:8081')}, and ssh -L; or a firewall`,
      ),
    );
  }
  if (metrics_listen && !isLoopback(metrics_listen.host)) {
    outcomes.push(
      warning(
        `The metrics on ${addressText(metrics_listen)} are open to anybody who reaches that address.`,
        `${installation.withSetting('EXITWARD_METRICS_LISTEN=127.0.0.1:9464')}; or a firewall`,
      ),
    );
  }
  if (outcomes.length > 0) return outcomes;
  return [
    ok(
      `The account API listens on ${addressText(listen)}, operators' on ${addressText(admin_listen)}.`,
    ),
  ];
}

function nodeStates(nodes: readonly SeenNode[]): Outcome[] {
  if (nodes.length === 0) return [ok('No node has joined yet.')];
  const names = (listedNodes: readonly SeenNode[]) => listed(listedNodes.map(nameOf));
  const away = nodes.filter(({ live }) => !live);
  const faulty = nodes.filter(({ live, faults }) => live && faults.length > 0);
  return [
    ...(away.length > 0
      ? [
          warning(
            `${away.length} of ${nodes.length} nodes were not heard lately: ${names(away)}.`,
            'exitward-agent doctor there; exitward node revoke ID for one that is no more',
          ),
        ]
      : []),
    ...(faulty.length > 0
      ? [
          warning(
            `Nodes report problems: ${listed(faulty.map((node) => `${nameOf(node)} (${node.faults.join(', ')})`))}.`,
            'exitward node list, exitward node show ID',
          ),
        ]
      : []),
    ...(away.length + faulty.length === 0
      ? [ok(`All ${nodes.length} nodes are live and without a fault.`)]
      : []),
  ];
}

function nodeVersions(nodes: readonly SeenNode[]): Outcome {
  const others = nodes.filter((node) => compareVersions(node.version, version) !== 0);
  const names = (listedNodes: readonly SeenNode[]) =>
    listed(listedNodes.map((node) => `${nameOf(node)} (${node.version})`));
  const newer = others.filter((node) => compareVersions(node.version, version) > 0);
  if (newer.length > 0) {
    return warning(
      `Nodes are newer than this server, which is of version ${version}: ${names(newer)}.`,
      'upgrade the server',
    );
  }
  if (others.length > 0) {
    return warning(
      `Nodes are behind this server, which is of version ${version}: ${names(others)}.`,
      'upgrade exitward-agent there',
    );
  }
  return ok(
    nodes.length === 0 ? 'No node has joined yet.' : `All nodes are of version ${version}.`,
  );
}

/**
 * The share of nodes that must report a difference before this machine's clock is suspected instead
 * of theirs.
 */
const suspicious = 0.5;

/**
 * Each node compares its clock with the server's: if most find a difference, the server's is wrong.
 */
function nodeClocks(nodes: readonly SeenNode[]): Outcome {
  const live = nodes.filter((node) => node.live);
  const others = live.filter(({ faults }) => faults.includes('clock'));
  if (others.length === 0) {
    return ok(
      live.length === 0
        ? 'No node is there to compare clocks with.'
        : 'No live node finds its clock and this one apart.',
    );
  }
  const sentence = `${others.length} of ${live.length} live nodes find their clock and this one apart: ${listed(others.map(nameOf))}`;
  return others.length > 1 && others.length > live.length * suspicious
    ? fault(`${sentence}; so it is this one that is wrong.`, clockRemedy())
    : warning(`${sentence}.`, 'exitward-agent doctor, on theirs');
}

/** The command of an invitation installs one of these packages. */
async function nodePackages(install: Install): Promise<Outcome> {
  const open = install.fault();
  if (open) return fault(`New machines get no package. ${open.message}`, open.remedy);
  const obstacle = await install.packageObstacle();
  if (obstacle) return warning(obstacle.message, obstacle.remedy);
  const packages = await install.packages();
  const files = listed(packages.map(({ file }) => file));
  const others = packages.filter((item) => compareVersions(item.version, version) !== 0);
  if (others.length === 0) return ok(`New machines install ${files}.`);
  return warning(
    `New machines install ${files}, but this server is version ${version}.`,
    `copy exitward-agent_${version}_….deb into ${install.folder}`,
  );
}

function nameOf({ server, name }: SeenNode): string {
  return `${server}/${name}`;
}
