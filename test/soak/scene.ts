// The stage of a soak: the system, its customers with their traffic, and a small disk below the
// agent.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Random } from '../../server/test/random.ts';
import { until } from '../../server/test/waiting.ts';
import type { Customer } from '../system/control_plane.ts';
import { Tally } from '../system/tally.ts';
import { ProxyConnection, type Through, Traffic } from '../system/traffic.ts';
import { type Node, through, type World } from '../system/world.ts';

export const patienceSeconds = 90;
/** Traffic is counted each second; a starved machine is later. */
const countedSeconds = 5;

/** A customer with clients that never rest, by address and by token. */
export interface Player {
  customer: Customer;
  ip: string;
  byAddress: Through;
  byToken: Through;
  tally: Tally;
  traffic: Traffic[];
}

export interface Scene {
  world: World;
  node: Node;
  random: Random;
  disk: SmallDisk;
  players: Player[];
  /** The one whose rights come and go. */
  revoked: Player;
  /** Always served: by it one sees that the proxy is there. */
  watch: Through;
}

export async function createPlayer(
  { world, node }: Pick<Scene, 'world' | 'node'>,
  more: object = {},
): Promise<Player> {
  const customer = await world.customer(node.server, more);
  const { ip } = await customer.list();
  const tally = new Tally();
  const byAddress = through(node.place, ip);
  const byToken = through(node.place, ip, { credentials: await customer.credentials() });
  return { customer, ip, byAddress, byToken, tally, traffic: [] };
}

/** Begins to use the proxy, when it lets the player in. */
export async function play({ world, random }: Scene, player: Player): Promise<void> {
  const { byAddress, byToken, tally } = player;
  await until(async () => (await decisionOf(world, byAddress, tally)) === '200', patienceSeconds);
  for (const way of [byAddress, byToken]) {
    const by = { through: way, origin: world.origin, tally, random: random.fork() };
    player.traffic.push(new Traffic(by));
  }
}

const maxProbeBytes = 2000;

/**
 * The proxy's answer to a new connection, which is billed to the player whose it is; empty while
 * nobody answers.
 */
export async function decisionOf(world: World, by: Through, tally?: Tally): Promise<string> {
  const connection = await ProxyConnection.open(by).catch(() => undefined);
  if (!connection) return '';
  try {
    const { status, reason } = await connection.ask('GET', world.page);
    const { sent: up, received: down } = connection;
    if (status === 200) tally?.addWhole({ up, down });
    return reason === undefined ? `${status}` : `${status} ${reason}`;
  } catch {
    tally?.addBroken({ up: maxProbeBytes, down: maxProbeBytes });
    return '';
  } finally {
    connection.socket.destroy();
  }
}

export async function untilServed({ world, watch }: Scene): Promise<void> {
  await until(async () => (await decisionOf(world, watch)) === '200', patienceSeconds);
}

/**
 * The proxy itself was killed: what it carried since, and what was not counted yet, may be lost.
 */
export function forgive({ players }: Scene, since = performance.now()): void {
  const seconds = (performance.now() - since) / 1000 + countedSeconds;
  for (const { tally } of players) tally.forgive(seconds);
}

/**
 * A folder for the agent's files that can be filled up; without the right to mount one, an ordinary
 * one.
 */
export class SmallDisk {
  readonly path = mkdtempSync(join(tmpdir(), 'exitward-soak-'));
  readonly #before = process.env.TMPDIR;
  readonly isSmall: boolean;

  constructor() {
    this.isSmall = mount(this.path);
    chmodSync(this.path, 0o755);
  }

  /** Temporary folders are made on it from now on. */
  enter(): void {
    process.env.TMPDIR = this.path;
  }
  leave(): void {
    if (this.#before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = this.#before;
  }

  get #ballast(): string {
    return join(this.path, 'ballast');
  }
  fill(): void {
    for (let bytes = 2 ** 24; bytes > 256; ) {
      try {
        writeFileSync(this.#ballast, Buffer.alloc(bytes), { flag: 'a' });
      } catch {
        bytes /= 2;
      }
    }
  }
  free(): void {
    rmSync(this.#ballast, { force: true });
  }
  remove(): void {
    this.leave();
    if (this.isSmall) execFileSync('umount', ['-l', this.path]);
    rmSync(this.path, { recursive: true, force: true });
  }
}

function mount(path: string): boolean {
  try {
    const small = ['-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', path];
    execFileSync('mount', small, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
