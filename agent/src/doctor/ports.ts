// Addresses and ports: are the exits on this machine, and are the ports free or held by the agent?
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { whyConfined } from '../../../kit/src/address.ts';
import { fault, listed, type Outcome, ok, warning } from '../../../kit/src/doctor/check.ts';
import { isMissing } from '../health/exit_addresses.ts';
import { listListening, socketsOf } from '../squid/agent/listening.ts';
import type { NodeCheck, Subject } from './subject.ts';

export const portChecks: NodeCheck[] = [
  { name: 'addresses', run: addresses },
  { name: 'ports', run: ports },
];

/** The addresses of this machine that other machines may use. */
export function ownAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .filter(({ internal, address, scopeid }) => !internal && address !== '' && !scopeid)
    .map(({ address }) => address);
}

/** The exits that the policy gives this machine. */
export function exitsOf({ listeners }: Subject): string[] {
  return [...new Set(Array.from(listeners?.values() ?? [], ({ exit_ip }) => exit_ip))].sort();
}

async function addresses(subject: Subject): Promise<Outcome> {
  const localAddresses = ownAddresses();
  const hasNone = localAddresses.length === 0;
  const addressList = hasNone ? 'only its loopback addresses' : listed(localAddresses);
  const exits = exitsOf(subject);
  if (exits.length === 0) {
    const sentence = `This machine has ${addressList}`;
    return hasNone
      ? warning(`${sentence}: no exit can be on it.`, 'ip address add ADDRESS/PREFIX dev INTERFACE')
      : ok(`${sentence}; the exits of its server must be among them.`);
  }
  const missing: string[] = [];
  for (const ip of exits) if (await isMissing(ip)) missing.push(ip);
  if (missing.length > 0) {
    return fault(
      `The exits ${listed(missing)} are not on this machine, which has ${addressList}: no connection can leave from them.`,
      `ip address add ${missing[0]} dev INTERFACE, and for good where the system configures its network`,
    );
  }
  const confined = exits.find((ip) => whyConfined(ip));
  if (confined !== undefined) {
    return warning(
      `The exit ${confined} ${whyConfined(confined)}.`,
      `exitward exit add, with one of ${addressList}; then exitward exit remove, with ${confined}`,
    );
  }
  return ok(`Each of the ${exits.length} exits is an address of this machine.`);
}

interface Holder {
  port: number;
  /** Undefined: this user may not see the process. */
  pid: number | undefined;
}

async function ports(subject: Subject): Promise<Outcome> {
  const { listeners, config } = subject;
  const listening = await listListening();
  if (!listeners) return beforeJoining(listening);
  const wanted = Array.from(listeners.keys(), (port) => port + config.port_shift);
  const owners = ownersOf(wanted.flatMap((port) => listening.get(port) ?? []));
  const held = wanted.flatMap((port) =>
    (listening.get(port) ?? []).map((inode): Holder => ({ port, pid: owners.get(inode) })),
  );
  const others = held.filter(({ pid }) => pid !== undefined && !isOurs(subject, pid));
  const [first] = others;
  if (first?.pid !== undefined) {
    const portList = listed([...new Set(others.map(({ port }) => String(port)))]);
    return fault(
      `The ports ${portList} are held by ${nameOf(first.pid)} (process ${first.pid}), not by the agent.`,
      `ss -tlnp 'sport = :${first.port}', then stop that program`,
    );
  }
  const open = new Set(held.map(({ port }) => port));
  const closed = wanted.filter((port) => !open.has(port)).map(String);
  if (!subject.status) {
    const unknown = held.filter(({ pid }) => pid === undefined).map(({ port }) => String(port));
    if (unknown.length > 0) {
      return warning(
        `The ports ${listed(unknown)} are held by a program that this user may not see.`,
        'sudo exitward-agent doctor',
      );
    }
    const ours = open.size > 0 ? `; Squid holds ${open.size}, for the next agent` : '';
    return ok(`${closed.length} of the ${wanted.length} ports of the policy are free${ours}.`);
  }
  if (closed.length > 0) {
    return fault(
      `The agent runs, and nothing listens on the ports ${listed(closed)}.`,
      'exitward-agent status says why',
    );
  }
  return ok(`The agent holds all ${wanted.length} ports of its policy.`);
}

/** The ports of the usual port scheme; the network may have another one. */
const usual = { first: 10_000, last: 12_999 };

function beforeJoining(listening: ReadonlyMap<number, string[]>): Outcome {
  const occupied = [...listening.keys()].filter(
    (port) => port >= usual.first && port <= usual.last,
  );
  if (occupied.length === 0) {
    return ok(`The ports ${usual.first} to ${usual.last} of the usual port scheme are free.`);
  }
  return warning(
    `Another program listens on ${listed(occupied.map(String))}, which belong to the usual port scheme (${usual.first} to ${usual.last}).`,
    `ss -tlnp 'sport = :${occupied[0]}'`,
  );
}

/** By a socket's inode, the process that has it open. */
function ownersOf(inodes: readonly string[]): Map<string, number> {
  const wanted = new Set(inodes);
  const owners = new Map<string, number>();
  for (const name of wanted.size > 0 ? readdirSync('/proc') : []) {
    if (!/^\d+$/.test(name)) continue;
    for (const inode of socketsOf(Number(name)) ?? []) {
      if (wanted.has(inode)) owners.set(inode, Number(name));
    }
  }
  return owners;
}

/** Whether a process is the agent, or a Squid of its folder, which may outlive the agent. */
function isOurs({ config, pid }: Subject, holder: number): boolean {
  return holder === pid || commandOf(holder).includes(`${config.state_dir}/squid/`);
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return 'a program';
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

/** The process of the agent that runs on a state folder, found by the lock that it holds there. */
export function findAgent(state_dir: string): number | undefined {
  const folder = statSync(state_dir, { bigint: true, throwIfNoEntry: false });
  if (!folder) return undefined;
  const lock = `@exitward-agent-${folder.dev}-${folder.ino}`;
  const line = readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .find((row) => row.endsWith(` ${lock}`));
  const inode = line?.trim().split(/\s+/)[6];
  return inode === undefined ? undefined : ownersOf([inode]).get(inode);
}
