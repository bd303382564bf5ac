// A machine for tests of packages: an overlay over this system, in which programs are installed and
// run; nothing of it stays.
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Without the Node, and anything else, of the machine that runs the tests. */
export const bare = {
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/',
  LC_ALL: 'C.UTF-8',
  // The programs start dozens of times.
  NODE_COMPILE_CACHE: '/tmp/compiled',
};

export interface Started {
  /** Grows with what the program prints. */
  output: { text: string };
  /** Resolves with its exit code. */
  stop(): Promise<number | null>;
}

export class Machine {
  readonly #folder: string;
  /** Where its files are, as this system sees them. */
  readonly root: string;

  /** `folder` is made; it takes root to mount there. */
  constructor(folder: string) {
    this.#folder = folder;
    this.root = join(folder, 'root');
    mkdirSync(folder, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'packages', folder]);
    for (const name of ['upper', 'work', 'root']) mkdirSync(join(folder, name));
    const layers = `lowerdir=/,upperdir=${folder}/upper,workdir=${folder}/work`;
    execFileSync('mount', ['-t', 'overlay', '-o', layers, 'packages', this.root]);
    for (const name of ['proc', 'dev']) {
      execFileSync('mount', ['--bind', `/${name}`, join(this.root, name)]);
    }
    // Squid's memory is of this machine alone, and nothing that is mounted in here shows outside.
    execFileSync('mount', ['--make-private', join(this.root, 'dev')]);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=1777', 'shm', join(this.root, 'dev/shm')]);
    rmSync(join(this.root, 'usr/bin/node'), { force: true });
    rmSync(join(this.root, 'usr/local/bin/node'), { force: true });
    // All manual pages would be indexed again at each installation.
    rmSync(join(this.root, 'var/lib/man-db/auto-update'), { force: true });
  }

  /** Puts a file of this system into its folder /srv. */
  bring(file: string): void {
    execFileSync('cp', [file, join(this.root, 'srv', basename(file))]);
  }

  /** Runs a command, from a folder that is none of its own. Errors: it fails. */
  async inside(command: string, env: Record<string, string> = {}): Promise<string> {
    const script = `cd /tmp && ${command}`;
    const options = { env: { ...bare, ...env } };
    return (await run('chroot', [this.root, 'sh', '-c', script], options)).stdout;
  }

  /** Starts a program, behind the command `first`. */
  start(command: string, env: Record<string, string>, first = ':'): Started {
    const script = `cd /tmp && ${first} && exec ${command}`;
    const options = { env: { ...bare, ...env } };
    const child = spawn('chroot', [this.root, 'sh', '-c', script], options);
    const output = { text: '' };
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        output.text += data;
      });
    }
    const stop = async () => {
      const ended = new Promise((done) => child.once('exit', done));
      if (child.exitCode === null && child.kill()) await ended;
      return child.exitCode;
    };
    return { output, stop };
  }

  remove(): void {
    for (const path of ['root/proc', 'root/dev/shm', 'root/dev', 'root', '']) {
      execFileSync('umount', ['--lazy', join(this.#folder, path)]);
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
