// A small virtual machine with Debian's own kernel, which has what the kernel of a container or of
// a cloud machine often lacks. It sees the files of this machine, keeps what it writes to itself,
// and has no network but what a script makes in namespaces. Emulated: a tenth of the speed.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** The kernel and its modules, unpacked once. */
const cache = join(homedir(), '.cache', 'exitward-tests', 'kernel');

/** To see the files of this machine; before that there is nothing but what the archive holds. */
const first = ['virtio_pci', '9pnet_virtio', '9p'];

/** Nothing in there loads modules for the kernel when they are asked for. */
const later = `
  jitterentropy_rng sha512_generic sha256_generic drbg aes_generic crypto_null ctr cbc gcm ghash-generic seqiv echainiv
  overlay authenc hmac cmac md5 esp4 esp6 xfrm_user tun veth sch_netem
  nf_tables nft_chain_nat nft_nat nft_ct nft_xfrm nft_reject_inet nft_fib_inet
  l2tp_core l2tp_netlink l2tp_ppp ppp_generic
`
  .trim()
  .split(/\s+/);

const longestSeconds = 1500;

/**
 * Runs a script as root in a machine of its own; returns what it printed, and its exit code.
 * Errors: it does not end.
 */
export async function runInMachine(script: string): Promise<{ code: number; output: string }> {
  const kernel = unpackKernel();
  const dir = fs.mkdtempSync(join(tmpdir(), 'exitward-vm-'));
  try {
    const initrd = join(dir, 'initrd.gz');
    fs.writeFileSync(initrd, initramfs(kernel, script));
    // Its clients run out of time where it gets none: what computes beside it gives way, if the
    // right to say so is had.
    const child = spawn('nice', [
      ...['-n', '-5', 'qemu-system-x86_64'],
      ...'-accel tcg -cpu max -m 1024 -nodefaults -display none -serial stdio -no-reboot'.split(
        ' ',
      ),
      ...['-kernel', join(kernel, 'vmlinuz'), '-initrd', initrd],
      // Emulated, the kernel's defences against a CPU that leaks cost a tenth of all time, and
      // programs at another address each time a quarter: what was translated of them before serves
      // again.
      ...['-append', 'console=ttyS0 quiet panic=-1 mitigations=off norandmaps cryptomgr.notests'],
      ...['-virtfs', 'local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap'],
    ]);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (bytes) => {
        output += bytes;
      });
    }
    const timer = setTimeout(() => child.kill('SIGKILL'), longestSeconds * 1000);
    await once(child, 'close');
    clearTimeout(timer);
    output = output.replaceAll('\r', '');
    const [, code] = /^vm: the script ended with (\d+)$/m.exec(output) ?? [];
    if (code === undefined) throw new Error(`the machine did not end:\n${output}`);
    return { code: Number(code), output };
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

/** Debian's newest kernel of this release, with an index of its modules. */
function unpackKernel(): string {
  if (fs.existsSync(join(cache, 'vmlinuz'))) return cache;
  const dir = `${cache}.partial`;
  fs.rmSync(dir, { recursive: true, force: true });
  fs.mkdirSync(dir, { recursive: true });
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: dir, encoding: 'utf8' });
  const [, image] =
    /Depends: (linux-image-\d\S*)/.exec(run('apt-cache', 'depends', 'linux-image-amd64')) ?? [];
  if (image === undefined) throw new Error('apt-get knows no kernel');
  run('apt-get', 'download', '-qq', image);
  const [file = ''] = fs.readdirSync(dir).filter((name) => name.endsWith('.deb'));
  run('dpkg', '-x', file, '.');
  fs.rmSync(join(dir, file));
  if (!fs.existsSync(join(dir, 'lib'))) run('ln', '-s', 'usr/lib', 'lib');
  const [version = ''] = fs.readdirSync(join(dir, 'lib/modules'));
  run('/usr/sbin/depmod', '-b', dir, version);
  fs.renameSync(join(dir, 'boot', `vmlinuz-${version}`), join(dir, 'vmlinuz'));
  fs.rmSync(cache, { recursive: true, force: true });
  fs.renameSync(dir, cache);
  return cache;
}

/** The files of modules and of all that they need, in the order in which they are loaded. */
function filesOf(kernel: string, modules: readonly string[]): string[] {
  const [version = ''] = fs.readdirSync(join(kernel, 'lib/modules'));
  const shown = modules.map((module) =>
    execFileSync('/usr/sbin/modprobe', ['-d', kernel, '-S', version, '--show-depends', module], {
      encoding: 'utf8',
    }),
  );
  const paths = Array.from(shown.join('\n').matchAll(/^insmod (\S+)/gm), ([, path = '']) => path);
  return [...new Set(paths)];
}

/** The first files of the machine, as an archive that its kernel unpacks. */
function initramfs(kernel: string, script: string): Buffer {
  const early = filesOf(kernel, first);
  const rest = filesOf(kernel, later).filter((path) => !early.includes(path));
  const init = `#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc p /proc; $b mount -t sysfs s /sys; $b mount -t devtmpfs d /dev
for one in ${early.map((path) => basename(path)).join(' ')}; do $b insmod /m/$one; done
$b mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=262144 host /host || $b poweroff -f
for one in ${rest.join(' ')}; do $b insmod /host$one; done 2> /dev/null
$b mount -t tmpfs t /over; $b mkdir /over/upper /over/work
$b mount -t overlay -o lowerdir=/host,upperdir=/over/upper,workdir=/over/work o /mnt || $b poweroff -f
$b mount -t proc p /mnt/proc; $b mount -t sysfs s /mnt/sys; $b mount -t devtmpfs d /mnt/dev; $b mkdir -p /mnt/dev/pts /mnt/dev/shm
$b mount -t devpts p /mnt/dev/pts; $b mount -t tmpfs t /mnt/run
$b mkdir -p /mnt/run/netns; $b cp /script /mnt/run/script; $b ip link set lo up
$b chroot /mnt /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run LC_ALL=C.UTF-8 /bin/sh /run/script < /dev/null
code=$?; echo; echo "vm: the script ended with $code"; $b poweroff -f
`;
  const folder = 0o40755;
  const program = 0o100755;
  const files: Array<[name: string, mode: number, content: Buffer]> = [
    ...['bin', 'dev', 'proc', 'sys', 'host', 'over', 'mnt', 'm'].map(
      (name) => [name, folder, Buffer.alloc(0)] as [string, number, Buffer],
    ),
    ['bin/busybox', program, fs.readFileSync('/bin/busybox')],
    ...early.map(
      (path) => [`m/${basename(path)}`, program, fs.readFileSync(path)] as [string, number, Buffer],
    ),
    ['init', program, Buffer.from(init)],
    ['script', program, Buffer.from(script)],
    ['TRAILER!!!', 0, Buffer.alloc(0)],
  ];
  return gzipSync(
    Buffer.concat(files.flatMap(([name, mode, content], at) => entry(at + 1, name, mode, content))),
  );
}

/** A file in the format "newc" of cpio: each part is filled up to four bytes. */
function entry(inode: number, name: string, mode: number, content: Buffer): Buffer[] {
  const named = Buffer.from(`${name}\0`);
  const fields = [inode, mode, 0, 0, 1, 0, content.length, 0, 0, 0, 0, named.length, 0];
  const head = Buffer.from(
    `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`,
  );
  const fill = (length: number) => Buffer.alloc((4 - (length % 4)) % 4);
  return [head, named, fill(head.length + named.length), content, fill(content.length)];
}
