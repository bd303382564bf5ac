// Turning a machine into a node with one command: the script that it fetches, its checksum, and the
// agent's packages.

import { createHash } from 'node:crypto';
import { createReadStream, existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { OpenToOthers, requireUnwritable } from '../../../kit/src/private_files.ts';
import { type Config, isLoopback } from '../config.ts';
import { packageFolder, version } from '../values/version.ts';
import { installation } from './installation.ts';

/** A Debian package of the agent, in the folder of packages. */
export interface Package {
  /** Its name, in the folder and in the URL. */
  file: string;
  version: string;
  /** Debian's name for it. */
  architecture: string;
  bytes: number;
  sha256: string;
}

/** A shell script, and the checksum of its text. */
export interface Script {
  text: string;
  sha256: string;
}

/** Keeps the line from working on another machine. */
export interface Obstacle {
  message: string;
  /** The setting or file that is missing. */
  remedy: string;
}

type Urls = Pick<Config, 'node_url' | 'public_url'>;

/** Undefined where other machines reach the address that nodes are given. */
export function nodeUrlObstacle({ node_url, public_url }: Urls): Obstacle | undefined {
  if (!isLoopback(new URL(node_url).hostname.replace(/[[\]]/g, ''))) return undefined;
  const setting = node_url === public_url ? 'EXITWARD_PUBLIC_URL' : 'EXITWARD_NODE_URL';
  return {
    message: `Nodes connect to ${node_url}, which no other machine can reach.`,
    remedy: installation.withSetting(`${setting}=https://NAME`),
  };
}

const template = join(packageFolder, 'install/install.sh');
const marker = '@PACKAGES@';
/** Nothing in such a name has a meaning in a shell or a URL. */
const packageName = /^exitward-agent_(\d[\w.+~-]*)_([a-z0-9]+)\.deb$/;

export class Install {
  readonly #config: Pick<Config, 'packages_dir'> & Urls;
  /** By path, inode, size and times: they change when the file is replaced or written to. */
  readonly #sums = new Map<string, Promise<string>>();

  constructor(config: Pick<Config, 'packages_dir'> & Urls) {
    this.#config = config;
  }

  /** The folder may be missing. */
  get folder(): string {
    return this.#config.packages_dir;
  }

  /** Why no package is handed out, if other users of this machine can replace them. */
  fault(): OpenToOthers | undefined {
    return existsSync(this.folder) ? openToOthers(this.folder) : undefined;
  }

  /**
   * The newest package of each architecture; none while other users can write to the folder, and
   * none that they can write. Machines install them as root. Links are not followed.
   */
  async packages(): Promise<Package[]> {
    if (this.fault()) return [];
    const entries = await Promise.all(listFiles(this.folder).map((file) => this.#read(file)));
    const packages = entries.filter((entry) => entry !== undefined);
    const newest = Map.groupBy(packages, ({ architecture }) => architecture).values();
    return Array.from(newest, (ofArchitecture) =>
      ofArchitecture.reduce((a, b) => (isNewer(b.version, a.version) ? b : a)),
    ).sort((a, b) => (a.architecture < b.architecture ? -1 : 1));
  }

  /** Undefined where new machines get the agent's package. */
  async packageObstacle(): Promise<Obstacle | undefined> {
    if ((await this.packages()).length > 0) return undefined;
    const make = installation.isService ? '' : 'npm run package:deb in a checkout, then ';
    return {
      message: 'The server has no package of the agent for new machines.',
      remedy: `${make}copy exitward-agent_${version}_….deb into the folder packages of the server's data (EXITWARD_PACKAGES_DIR); or install exitward-agent on the machine yourself`,
    };
  }

  /** Each obstacle to the line on another machine. */
  async obstacles(): Promise<Obstacle[]> {
    const obstacles = [nodeUrlObstacle(this.#config), await this.packageObstacle()];
    return obstacles.filter((obstacle) => obstacle !== undefined);
  }

  /** The script, which names the packages that exist now, with their checksums. */
  async script(): Promise<Script> {
    const lines = (await this.packages()).map(
      ({ architecture, file, sha256 }) => `${architecture} ${file} ${sha256}`,
    );
    const text = readFileSync(template, 'utf8').replace(marker, () => lines.join('\n'));
    return { text, sha256: createHash('sha256').update(text).digest('hex') };
  }

  /**
   * The command that turns the machine on which it runs into a node, with the code of an
   * invitation.
   */
  async line(code: string): Promise<string> {
    const { sha256 } = await this.script();
    const url = this.#config.node_url;
    const name = 'exitward-install.sh';
    return [
      `curl -fsSLo ${name} ${url}/node/install.sh`,
      `echo '${sha256}  ${name}' | sha256sum -c --quiet`,
      `echo ${code} | sh ${name} ${url}`,
    ].join(' && ');
  }

  async #read(file: string): Promise<Package | undefined> {
    const [, version = '', architecture = ''] = packageName.exec(file) ?? [];
    const path = join(this.folder, file);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (architecture === '' || !stat?.isFile() || openToOthers(path)) return undefined;
    const state = `${path} ${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
    let sum = this.#sums.get(state);
    if (!sum) {
      sum = sumOf(path);
      this.#sums.set(state, sum);
      sum.catch(() => this.#sums.delete(state));
    }
    return { file, version, architecture, bytes: stat.size, sha256: await sum };
  }
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}

function openToOthers(path: string): OpenToOthers | undefined {
  try {
    requireUnwritable(path);
    return undefined;
  } catch (error) {
    if (error instanceof OpenToOthers) return error;
    throw error;
  }
}

async function sumOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

function isNewer(a: string, b: string): boolean {
  return a.localeCompare(b, 'en', { numeric: true }) > 0;
}
