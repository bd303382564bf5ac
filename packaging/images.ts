// npm run package:images: container images of the packages for this machine's architecture, as
// archives that `docker load` and `podman load` take. No registry is asked: the root file systems
// are of Debian's packages, and of our own.
//
//   npm run package:images -- [--out FOLDER] [--suite bookworm]
//       as root; needs mmdebstrap and buildah
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { argv, env, exit, stderr, stdout } from 'node:process';
import { parseArgs, promisify } from 'node:util';
import { buildPackages } from './deb.ts';
import { findNode } from './node.ts';
import { layPrograms } from './programs.ts';
import { epochOf } from './tree.ts';

const run = promisify(execFile);

/**
 * The user of both images, by number, so that a volume stays the user's whatever a newer image has
 * in it.
 */
const user = 10_001;

interface Image {
  /** Debian's packages below ours. */
  packages: string;
  command: string;
  environment: Record<string, string>;
  data: string;
  /** Exits with 0 while the program does its work. */
  health: string;
}

const images: Record<string, Image> = {
  exitward: {
    packages: 'systemd-standalone-sysusers',
    command: 'serve',
    environment: { EXITWARD_DATA_DIR: '/var/lib/exitward' },
    data: '/var/lib/exitward',
    health: 'exitward status',
  },
  'exitward-agent': {
    packages: 'iproute2,nftables,squid-openssl',
    command: 'run',
    // Squid of its own user would need root.
    environment: {
      EXITWARD_AGENT_ENGINE: 'embedded',
      EXITWARD_AGENT_STATE_DIR: '/var/lib/exitward-agent',
    },
    data: '/var/lib/exitward-agent',
    health: 'exitward-agent status',
  },
};

/**
 * Compiled code is the container's own, and has no place among its data, which is the home of its
 * user.
 */
const ofBoth = { NODE_COMPILE_CACHE: '/tmp/compiled' };

export interface ImageBuild {
  /** The packages, as `buildPackages` returns them. */
  packages: readonly string[];
  /** Debian's release. */
  suite: string;
  /** The time that everything in the images bears. */
  epoch: number;
  scratch: string;
  out: string;
}

/**
 * Makes an image of each package, and returns their archives. Errors: a program is missing, or says
 * why it failed.
 */
export async function buildImages(build: ImageBuild): Promise<string[]> {
  mkdirSync(build.out, { recursive: true });
  const base = await makeBase(build);
  return Promise.all(build.packages.map((file) => buildImage(file, build, base)));
}

async function mmdebstrap({ suite, epoch }: ImageBuild, root: string, ...args: string[]) {
  await run('mmdebstrap', ['--quiet', '--format=directory', ...args, suite, root], {
    env: { ...env, SOURCE_DATE_EPOCH: String(epoch) },
  });
}

/**
 * The root file system that both begin with: what Debian deems essential, what both programs need,
 * and no documents.
 */
async function makeBase(build: ImageBuild): Promise<string> {
  const root = join(build.scratch, 'base');
  // dpkg itself leaves them out, also of what is installed later: mmdebstrap would start a filter
  // for each package.
  const documents = 'doc man info locale bash-completion zsh fish';
  const exclude = `for one in ${documents}; do
      rm -r -f usr/share/$one
      echo "path-exclude=/usr/share/$one/*"
    done
    echo "path-include=/usr/share/doc/*/copyright"`;
  await mmdebstrap(
    build,
    root,
    '--variant=essential',
    '--include=ca-certificates,libstdc++6',
    `--extract-hook=cd "$1" && (${exclude}) > etc/dpkg/dpkg.cfg.d/documents`,
    // More is to be installed.
    '--skip=cleanup',
  );
  // It makes the devices in each root.
  rmSync(join(root, 'dev'), { recursive: true });
  return root;
}

/** Makes a root file system with the package and its dependencies. */
async function makeRoot(file: string, build: ImageBuild, base: string, root: string) {
  const { packages, data } = images[nameOf(file)] as Image;
  const account = `exitward:x:${user}:${user}::${data}:/usr/sbin/nologin`;
  const inRoot = (command: string) => `--customize-hook=chroot "$1" ${command}`;
  await run('cp', ['--archive', `${base}/.`, root]);
  await mmdebstrap(
    build,
    root,
    '--variant=custom',
    '--skip=check/empty,update',
    `--include=${packages}`,
    `--customize-hook=echo exitward:x:${user}: >> "$1/etc/group" && echo ${account} >> "$1/etc/passwd"`,
    `--customize-hook=copy-in ${file} /tmp`,
    inRoot(`dpkg --install /tmp/${basename(file)}`),
    inRoot(`rm /tmp/${basename(file)}`),
    inRoot(`chown exitward:exitward ${data}`),
    // Each container would have the same.
    inRoot('truncate --size 0 /etc/machine-id'),
  );
}

async function buildImage(file: string, build: ImageBuild, base: string): Promise<string> {
  const [name, version, architecture] = partsOf(file);
  const { command, environment, data, health } = images[name] as Image;
  const [store, state] = ['store', 'state'].map((of) => join(build.scratch, `${name}-${of}`));
  const buildah = async (...args: string[]) => {
    const own = ['--root', store as string, '--runroot', state as string];
    return (await run('buildah', [...own, ...args])).stdout.trim();
  };
  const container = await buildah('from', 'scratch');
  await makeRoot(file, build, base, await buildah('mount', container));
  await buildah('umount', container);
  const labels = { title: name, version, licenses: 'Apache-2.0' };
  await buildah(
    'config',
    ...Object.entries({ ...environment, ...ofBoth }).flatMap(([key, value]) => [
      '--env',
      `${key}=${value}`,
    ]),
    ...Object.entries(labels).flatMap(([key, value]) => [
      '--label',
      `org.opencontainers.image.${key}=${value}`,
    ]),
    ...['--user', `${user}:${user}`, '--workingdir', data, '--volume', data],
    ...['--entrypoint', JSON.stringify([`/usr/bin/${name}`]), '--cmd', command],
    ...['--healthcheck', `CMD ${health}`, '--healthcheck-start-period', '30s'],
    container,
  );
  const image = `${name}:${version}`;
  // Of Docker's own format: that of the OCI has no health check.
  const format = ['--format', 'docker', '--quiet', '--timestamp', String(build.epoch)];
  await buildah('commit', ...format, container, image);
  const archive = join(build.out, `${name}_${version}_${architecture}.image.tar`);
  rmSync(archive, { force: true });
  await buildah('push', '--quiet', image, `docker-archive:${archive}:${image}`);
  return archive;
}

const partsOf = (file: string) => basename(file, '.deb').split('_') as [string, string, string];
const nameOf = (file: string) => partsOf(file)[0];

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: argv.slice(2),
    options: {
      out: { type: 'string', default: resolve(import.meta.dirname, '../packages') },
      suite: { type: 'string', default: 'bookworm' },
    },
  });
  const scratch = mkdtempSync(join(tmpdir(), 'exitward-images-'));
  try {
    const epoch = epochOf(env.SOURCE_DATE_EPOCH);
    const architecture = execFileSync('dpkg', ['--print-architecture'], {
      encoding: 'utf8',
    }).trim();
    const programs = await layPrograms(join(scratch, 'programs'));
    const node = await findNode(architecture, scratch);
    const out = join(scratch, 'packages');
    const packages = buildPackages({ programs, node, architecture, epoch, out });
    const made = await buildImages({ ...values, packages, epoch, scratch });
    for (const file of made) stdout.write(`${file}\n`);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  main().catch((error: Error) => {
    stderr.write(`package:images: ${error.message}\n`);
    exit(1);
  });
}
