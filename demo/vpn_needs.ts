// The needs of the demo of the VPN: root, the packages, and a part of the kernel that seals
// packets.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** A file of each package. */
const packages = {
  'charon-systemd': '/usr/sbin/charon-systemd',
  'libcharon-extra-plugins': '/usr/lib/ipsec/plugins/libstrongswan-eap-radius.so',
  'strongswan-swanctl': '/usr/sbin/swanctl',
  nftables: '/usr/sbin/nft',
  iproute2: '/usr/bin/ip',
  openssl: '/usr/bin/openssl',
};

/** A sentence about all that is missing; undefined: nothing is. */
export function findNeeds(): string | undefined {
  if (process.platform !== 'linux') return 'The demo of the VPN needs Linux.';
  const missing = Object.entries(packages).flatMap(([name, file]) =>
    existsSync(file) ? [] : [name],
  );
  const needs = [
    ...(process.getuid?.() === 0 ? [] : ['root (sudo npm run demo:vpn)']),
    ...(missing.length > 0 ? [`packages (apt-get install ${missing.join(' ')})`] : []),
    ...(missing.length > 0 || sealer() === 'kernel' || existsSync('/dev/net/tun')
      ? []
      : ['ESP in the kernel or /dev/net/tun (modprobe -a esp4 tun)']),
  ];
  return needs.length === 0 ? undefined : `The demo of the VPN needs ${needs.join(', and ')}.`;
}

/**
 * The part that can seal packets: the kernel where it has ESP. It is tried in a namespace that goes
 * with the command.
 */
export function sealer(): 'kernel' | 'userspace' {
  const state = 'ip xfrm state add src 127.0.0.1 dst 127.0.0.2 proto esp spi 1 mode tunnel';
  const cipher = ['aead', 'rfc4106(gcm(aes))', `0x${'01'.repeat(36)}`, '128'];
  try {
    execFileSync('unshare', ['--net', ...state.split(' '), ...cipher], { stdio: 'ignore' });
    return 'kernel';
  } catch {
    return 'userspace';
  }
}
