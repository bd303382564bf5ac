// The doctor with faults that only root can cause: a small disk, a disk in memory, missing rights.
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Report } from '../src/doctor/doctor.ts';
import { createCertificate } from './proxy_world.ts';

const bin = fileURLToPath(new URL('../bin/exitward-agent.js', import.meta.url));
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'exitward-doctor-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The findings of one check, with the doctor started by this command. */
function doctor(name: string, state_dir: string, by: string[] = [], more: object = {}) {
  const [program = '', ...args] = [...by, process.execPath, bin, 'doctor', '--outbound', 'none'];
  const env = { PATH: process.env.PATH, EXITWARD_AGENT_STATE_DIR: state_dir, ...more };
  return new Promise<Report['findings']>((resolve) => {
    execFile(program, [...args, '--json'], { env }, (_, stdout) => {
      const { findings } = JSON.parse(stdout) as Report;
      resolve(findings.filter((finding) => finding.name === name));
    });
  });
}

async function onDisk(size: string) {
  const disk = join(folder, size);
  mkdirSync(disk);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'small', disk]);
  try {
    const findings = await doctor('disk_space', disk);
    expect(readdirSync(disk)).toEqual([]);
    return findings;
  } finally {
    execFileSync('umount', [disk]);
  }
}

test('a disk that is nearly full is a fault, and one that is in memory a warning', async () => {
  expect(await onDisk('8m')).toMatchObject([
    { state: 'fault', sentence: expect.stringContaining('has 8 MiB free') },
  ]);
  expect(await onDisk('4g')).toMatchObject([
    { state: 'warning', sentence: expect.stringContaining('in memory') },
  ]);
});

test('with all rights of root there is no fault; each missing right is named', async () => {
  const without = (...names: string[]) => [
    'setpriv',
    ...names.map((name) => `--bounding-set=-${name}`),
    ...names.map((name) => `--inh-caps=-${name}`),
  ];
  expect(await doctor('rights', folder)).toMatchObject([{ state: 'ok' }]);
  expect(await doctor('rights', folder, without('net_admin'))).toMatchObject([
    { state: 'fault', sentence: expect.stringContaining('CAP_NET_ADMIN') },
  ]);
  expect(await doctor('rights', folder, without('sys_ptrace'))).toMatchObject([
    { state: 'warning', sentence: expect.stringContaining('CAP_SYS_PTRACE') },
  ]);
});

describe('the VPN of a machine that has not joined', () => {
  const userspace = { EXITWARD_AGENT_VPN_IPSEC: 'userspace' };
  /** In a network namespace of its own, after these settings there. */
  const after = (script: string, ...more: string[]) => {
    return ['unshare', '--net', ...more, 'sh', '-c', `${script}; exec "$@"`, 'sh'];
  };
  const forwarding = (on: 0 | 1) => `echo ${on} > /proc/sys/net/ipv4/ip_forward`;
  const pair = () => {
    const { cert, key } = createCertificate('fra1.example.net');
    const [cert_file, key_file] = [join(folder, 'vpn.crt'), join(folder, 'vpn.key')];
    writeFileSync(cert_file, cert);
    writeFileSync(key_file, key, { mode: 0o600 });
    // Also on a machine without strongSwan.
    const charon = { EXITWARD_AGENT_CHARON: process.execPath };
    return { ...charon, EXITWARD_AGENT_TLS_CERT: cert_file, EXITWARD_AGENT_TLS_KEY: key_file };
  };

  test('that has what it needs gets an ok, and with the VPN off nothing of it is checked', async () => {
    const env = { ...userspace, ...pair() };
    expect(await doctor('vpn', folder, after(forwarding(1)), env)).toMatchObject([
      { state: 'ok', sentence: 'This machine has what a VPN needs.', remedy: null },
    ]);
    const off = { EXITWARD_AGENT_VPN: 'off', EXITWARD_AGENT_CHARON: '/usr/sbin/no-charon' };
    expect(await doctor('vpn', folder, after(forwarding(0)), off)).toMatchObject([
      { state: 'ok', sentence: expect.stringContaining('is off'), remedy: null },
    ]);
  });

  test('each lack is reported with the command that fixes it, and none is a fault', async () => {
    const missing = { ...userspace, EXITWARD_AGENT_CHARON: '/usr/sbin/no-charon' };
    // The process ends with its namespace.
    const other = `"$1" -e 'require("dgram").createSocket("udp4").bind(500)' > /dev/null 2>&1 & until ss -lun | grep -q :500; do sleep 0.1; done`;
    const withProcesses = ['--pid', '--fork', '--mount-proc', '--kill-child'];
    const bare = join(folder, 'bin');
    mkdirSync(bare);
    const findings = await doctor(
      'vpn',
      folder,
      after(`${forwarding(0)}; ${other}; PATH=${bare}`, ...withProcesses),
      missing,
    );
    expect(findings.map(({ state }) => state)).toEqual(Array(5).fill('ok'));
    expect(findings.map(({ remedy }) => remedy)).toEqual([
      'apt-get install charon-systemd libcharon-extra-plugins',
      expect.stringContaining('sysctl -w net.ipv4.ip_forward=1'),
      'apt-get install nftables',
      expect.stringContaining('systemctl disable --now strongswan'),
      expect.stringContaining('EXITWARD_AGENT_ACME'),
    ]);
    expect(findings[0]?.sentence).toBe(
      'To serve a VPN, this machine needs more: there is no /usr/sbin/no-charon.',
    );
  });

  test('vpn-l2tp has a finding of its own, as few servers have it', async () => {
    const findings = await doctor('vpn-l2tp', folder, after(forwarding(1)), {
      ...pair(),
      EXITWARD_AGENT_XL2TPD: '/usr/sbin/no-xl2tpd',
    });
    expect(findings).toMatchObject([{ state: 'ok', remedy: 'apt-get install xl2tpd ppp' }]);
    const [sealing] = await doctor('vpn-l2tp', folder, after(forwarding(1)), userspace);
    expect(sealing).toMatchObject({ state: 'ok', remedy: 'EXITWARD_AGENT_VPN_IPSEC=kernel' });
  });

  test('a kernel without ESP is a finding where it is to seal the packets', async () => {
    const state = 'ip xfrm state add src 127.0.0.1 dst 127.0.0.2 proto esp spi 1 mode tunnel';
    const cipher = ['aead', 'rfc4106(gcm(aes))', `0x${'2a'.repeat(36)}`, '128'];
    const hasEsp = spawnSync('unshare', ['--net', ...state.split(' '), ...cipher]).status === 0;
    const findings = await doctor('vpn', folder, after(forwarding(1)), pair());
    expect(findings[0]?.remedy ?? null).toEqual(hasEsp ? null : expect.stringContaining('esp4'));
  });

  test('a user who is not root gets a finding', async () => {
    const asOther = [...after('true'), 'setpriv', '--reuid=65534', '--clear-groups'];
    const home = mkdtempSync(join(tmpdir(), 'exitward-other-'));
    const [root] = await doctor('vpn', home, asOther, userspace);
    rmSync(home, { recursive: true });
    expect(root?.sentence).toContain('does not run as root');
  });
});

describe('the way of the packets of a VPN', () => {
  const program = `
    import { parseNetwork } from ${JSON.stringify(import.meta.resolve('../../kit/src/address.ts'))};
    import { vpnPathChecks } from ${JSON.stringify(import.meta.resolve('../src/doctor/vpn_path.ts'))};
    const vpn = { mode: 'on', pool: parseNetwork('100.80.0.0/12') };
    const listeners = new Map([[1, { exit_ip: '203.0.113.1' }]]);
    const subject = { config: { vpn }, server: { services: ['vpn-ikev2'] }, listeners };
    console.log(JSON.stringify(await vpnPathChecks[0].run(subject)));
  `;
  /** The states, in a network namespace after these settings. */
  const look = (script: string) => {
    const args = ['--net', 'sh', '-ec', `${script}\nexec "$@"`, 'sh', process.execPath];
    const text = execFileSync('unshare', [...args, '--input-type=module', '-e', program]);
    return JSON.parse(text.toString()) as Array<{ state: string; sentence: string }>;
  };
  const chain = (hook: string, rule = '') => `nft 'add table ip filter
    add chain ip filter ${hook} { type filter hook ${hook} priority 0; policy drop; }
    ${rule && `add rule ip filter ${hook} ${rule}`}'`;

  test.each([
    ['open', 'ip link set lo up', [expect.stringMatching(/^Nothing is in the way/)]],
    ['forward', chain('forward'), [expect.stringMatching(/forwards nothing .*ip filter forward/)]],
    ['input', chain('input'), [expect.stringMatching(/no rule names UDP port 4500/)]],
    [
      'input that names the ports',
      chain('input', 'udp dport { 500, 4500 } accept'),
      [expect.stringMatching(/^Nothing is in the way/)],
    ],
    [
      'another way back, checked strictly',
      `ip link add in0 type veth peer name out0; ip link set in0 up; ip link set out0 up
      ip address add 203.0.113.1/32 dev in0; ip route add default dev out0
      echo 1 > /proc/sys/net/ipv4/conf/in0/rp_filter`,
      [expect.stringMatching(/on in0, and its answers leave by out0/)],
    ],
  ])('%s', (_, script, sentences) => {
    expect(look(script).map(({ sentence }) => sentence)).toEqual(sentences);
  });
});
