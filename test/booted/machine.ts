// A machine with a booted Debian: systemd as its first process, in a container of systemd-nspawn on
// the kernel of this one.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../server/test/waiting.ts';
import { addresses, bridge, type Internet } from './internet.ts';

/** Of root on the machine: nothing of the user who runs the tests. */
const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', LANG: 'C.UTF-8' };

/**
 * A Debian as it is installed: systemd, and what brings packages. Nothing of ours, nor Node. The
 * web that it trusts is the small internet's. Its packages are on its disk, once for all machines:
 * those wanted, and what they need.
 */
export function makeDebian(folder: string, internet: Internet, wanted: readonly string[]): void {
  const packages = 'ca-certificates,curl,dbus,iproute2,procps,systemd,systemd-sysv';
  const apt = 'APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get --yes';
  const fetched = `install --download-only -o APT::Install-Recommends=true ${wanted.join(' ')}`;
  execFileSync(
    'mmdebstrap',
    [
      ...['--quiet', '--variant=minbase', `--include=${packages}`],
      // A thousand processes link those of the true web.
      '--essential-hook=echo "path-exclude=/usr/share/ca-certificates/*" > "$1/etc/dpkg/dpkg.cfg.d/tests"',
      `--essential-hook=copy-in ${internet.authorities} /usr/local/share`,
      '--customize-hook=chroot "$1" systemctl enable systemd-networkd.service',
      // It makes networks of the kernel's command line, which is the host's; where it fails the
      // machine is degraded.
      '--customize-hook=chroot "$1" systemctl mask systemd-network-generator.service',
      // systemd would run them all with each package that brings a service, for units that no
      // container has.
      '--customize-hook=rm "$1"/lib/systemd/system-generators/*',
      `--customize-hook=${apt} clean && ${apt} ${fetched}`,
      '--customize-hook=mv "$1"/var/cache/apt/archives/*.deb "$1/srv"',
      ...['bookworm', folder],
    ],
    { stdio: 'pipe' },
  );
  indexPackages(join(folder, 'srv'));
  writeFileSync(join(folder, 'etc/apt/sources.list'), 'deb [trusted=yes] file:/srv ./\n');
}

/** Makes a folder of packages one that apt takes them from. */
function indexPackages(folder: string): void {
  const stanzas = readdirSync(folder).map((name) => {
    const file = join(folder, name);
    const fields = execFileSync('dpkg-deb', ['--field', file], { encoding: 'utf8' });
    const sum = createHash('sha256').update(readFileSync(file)).digest('hex');
    return `${fields}Filename: ./${name}\nSize: ${statSync(file).size}\nSHA256: ${sum}\n\n`;
  });
  writeFileSync(join(folder, 'Packages'), stanzas.join(''));
}

export class Machine {
  readonly root: string;
  readonly #name: string;
  readonly #over: string;
  #container: ChildProcess | undefined;

  /** A copy of the Debian, as an overlay in the folder, with an address on the bridge. */
  constructor(
    name: Exclude<keyof typeof addresses, 'router'>,
    debian: string,
    folder: string,
    internet: Internet,
  ) {
    this.#name = name;
    this.#over = join(folder, name);
    this.root = join(this.#over, 'root');
    for (const part of ['upper', 'work', 'root'])
      mkdirSync(join(this.#over, part), { recursive: true });
    const layers = `lowerdir=${debian},upperdir=${this.#over}/upper,workdir=${this.#over}/work`;
    execFileSync('mount', ['-t', 'overlay', '-o', layers, 'machine', this.root]);
    const { router } = addresses;
    this.write('etc/hostname', `${name}\n`);
    this.write('etc/hosts', `127.0.0.1 localhost\n127.0.1.1 ${name}\n`);
    this.write('etc/resolv.conf', `nameserver ${router}\n`);
    this.write(
      'etc/systemd/network/10-host0.network',
      `[Match]\nName=host0\n\n[Network]\nAddress=${addresses[name]}/24\nGateway=${router}\n`,
    );
    this.#boot(internet);
  }

  #boot(internet: Internet): void {
    const [command, words] = internet.inside(
      'systemd-nspawn',
      ...['--quiet', `--directory=${this.root}`, `--machine=${this.#name}`, '--boot'],
      ...[`--network-bridge=${bridge}`, '--resolv-conf=off', '--timezone=off'],
      ...['--register=no', '--keep-unit', '--console=pipe', '--bind=/dev/net/tun'],
    );
    this.#container = spawn(command, words, { stdio: 'ignore' });
    // So it ends when the machine reboots.
    this.#container.once('exit', (code) => {
      if (code === 133) this.#boot(internet);
    });
  }

  write(path: string, text: string): void {
    const file = join(this.root, path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
  }

  /** Puts a file into root's home. */
  bring(file: string): void {
    cpSync(file, join(this.root, 'root', file.split('/').at(-1) ?? ''));
  }

  /**
   * Runs a script as root would type it; a line that fails ends it. Errors: with all that it
   * printed.
   */
  async run(script: string, input = ''): Promise<string> {
    const enter = ['-t', String(this.#firstProcess()), '-m', '-u', '-i', '-n', '-p', '-C'];
    const child = spawn('nsenter', [...enter, 'sh', '-euc', `cd /root\n${script}`], {
      cwd: '/',
      env,
    });
    let [output, all] = ['', ''];
    child.stdout.on('data', (data) => {
      output += data;
      all += data;
    });
    child.stderr.on('data', (data) => {
      all += data;
    });
    // It need not be read.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`${this.#name}: ${script}\n${all}`);
    return output;
  }

  /** Waits until systemd says that all of the machine has started. */
  async booted(): Promise<void> {
    // Asked while systemd begins to listen, it may never hear of the end: it is asked again.
    await until(async () => {
      const state = await this.run('timeout 10 systemctl is-system-running --wait || true');
      if (state !== 'running\n') throw new Error(`${state}${await this.run('systemctl --failed')}`);
      return true;
    }, 120);
  }

  async reboot(): Promise<void> {
    const before = this.#firstProcess();
    await this.run('systemctl reboot').catch(() => '');
    await until(() => this.#firstProcess() !== before, 60);
    await this.booted();
  }

  async stop(): Promise<void> {
    // As a cut of its power. Killing the container's keeper alone leaves the machine running.
    const ended = new Promise((done) => this.#container?.once('exit', done));
    if (this.#container?.exitCode === null) {
      process.kill(this.#firstProcess(), 'SIGKILL');
      await ended;
    }
    execFileSync('umount', ['--lazy', this.root]);
  }

  /** Errors: the container is not there yet, or between two boots. */
  #firstProcess(): number {
    const children = readFileSync(
      `/proc/${this.#container?.pid}/task/${this.#container?.pid}/children`,
      'utf8',
    );
    const [first] = children.trim().split(' ').map(Number);
    if (!first) throw new Error(`${this.#name} does not run.`);
    return first;
  }
}
