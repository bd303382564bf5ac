// The files with which devices add a VPN profile: one text format per family of systems, for IKEv2
// with EAP-MSCHAPv2 where the server has it, else for L2TP.
import { createHash } from 'node:crypto';
import type { VpnService } from '../../../kit/src/vpn_password.ts';
import { negotiation } from '../../../kit/src/vpn_proposals.ts';

const { words, lifetimes } = negotiation.profile;

export interface ProfileFile {
  /** The kind of system that it is for. */
  format: 'apple' | 'windows' | 'android' | 'networkmanager' | 'strongswan';
  name: string;
  content: string;
}

/** The values of one server. */
export interface ServerProfile {
  server: string;
  /** VPN services of the server. */
  services: VpnService[];
  /** The name by which the server identifies itself; it is in its certificate. */
  hostname: string;
  /** The address that the files dial. */
  exit_ip: string;
  /** All addresses that can be dialled; each of them is an exit. */
  exit_ips: string[];
  password: string;
  /**
   * Asked for before the password, with vpn-ikev1 and vpn-l2tp; null where the server has neither.
   */
  shared_key: string | null;
}

/**
 * The files for these servers; a format without content is left out. Those for Windows and
 * NetworkManager contain no password.
 */
export function profileFiles(login: string, servers: readonly ServerProfile[]): ProfileFile[] {
  const ikev2 = servers.filter(({ services }) => services.includes('vpn-ikev2'));
  const both = servers.filter(
    (profile) => hasIkev2(profile) || profile.services.includes('vpn-l2tp'),
  );
  const file = (
    format: ProfileFile['format'],
    ending: string,
    write: (login: string, selected: readonly ServerProfile[]) => string,
    selected: readonly ServerProfile[],
  ): ProfileFile[] => {
    const name = `exitward${selected.length === 1 ? `-${selected[0]?.server}` : ''}.${ending}`;
    return selected.length === 0 ? [] : [{ format, name, content: write(login, selected) }];
  };
  return [
    ...file('apple', 'mobileconfig', apple, both),
    ...file('windows', 'ps1', windows, both),
    // A file of the Android app holds one server.
    ...ikev2.flatMap((profile) => file('android', 'sswan', android, [profile])),
    ...file('networkmanager', 'sh', networkManager, both),
    ...file('strongswan', 'conf', strongSwan, ikev2),
  ];
}

const hasIkev2 = ({ services }: ServerProfile) => services.includes('vpn-ikev2');

/** The same profile replaces its earlier version, because its identifiers follow from its name. */
function uuidOf(...parts: string[]): string {
  const hex = createHash('sha256').update(parts.join('\n')).digest('hex');
  const [a, b, c, d] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(13, 16), hex.slice(17, 20)];
  return `${a}-${b}-5${c}-8${d}-${hex.slice(20, 32)}`.toUpperCase();
}

function apple(login: string, servers: readonly ServerProfile[]): string {
  const [only, ...others] = servers;
  const [user = ''] = login.split('~');
  const isOne = only && others.length === 0;
  const identifier = `exitward.${isOne ? only.hostname : user}`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
  <dict>
    <key>PayloadType</key><string>Configuration</string>
    <key>PayloadVersion</key><integer>1</integer>
    <key>PayloadIdentifier</key><string>${xml(identifier)}</string>
    <key>PayloadUUID</key><string>${uuidOf('profile', identifier, login)}</string>
    <key>PayloadDisplayName</key><string>${xml(isOne ? only.server : `VPN of ${user}`)}</string>
    <key>PayloadContent</key>
    <array>${servers.map((server) => applePayload(login, server, identifier)).join('')}
    </array>
  </dict>
</plist>
`;
}

function applePayload(login: string, server: ServerProfile, profile: string): string {
  const { server: name, hostname } = server;
  return `
      <dict>
        <key>PayloadType</key><string>com.apple.vpn.managed</string>
        <key>PayloadVersion</key><integer>1</integer>
        <key>PayloadIdentifier</key><string>${xml(`${profile}.vpn.${hostname}`)}</string>
        <key>PayloadUUID</key><string>${uuidOf('vpn', profile, hostname, login)}</string>
        <key>PayloadDisplayName</key><string>${xml(name)}</string>
        <key>UserDefinedName</key><string>${xml(name)}</string>${hasIkev2(server) ? appleIkev2(login, server) : appleL2tp(login, server)}
      </dict>`;
}

function appleIkev2(login: string, { hostname, exit_ip, password }: ServerProfile): string {
  const { EncryptionAlgorithm, IntegrityAlgorithm, DiffieHellmanGroup } = words.apple;
  const parameters = (minutes: number) => `
          <dict>
            <key>EncryptionAlgorithm</key><string>${EncryptionAlgorithm}</string>
            <key>IntegrityAlgorithm</key><string>${IntegrityAlgorithm}</string>
            <key>DiffieHellmanGroup</key><integer>${DiffieHellmanGroup}</integer>
            <key>LifeTimeInMinutes</key><integer>${minutes}</integer>
          </dict>`;
  return `
        <key>VPNType</key><string>IKEv2</string>
        <key>IKEv2</key>
        <dict>
          <key>RemoteAddress</key><string>${xml(exit_ip)}</string>
          <key>RemoteIdentifier</key><string>${xml(hostname)}</string>
          <key>LocalIdentifier</key><string>${xml(login)}</string>
          <key>AuthenticationMethod</key><string>None</string>
          <key>ExtendedAuthEnabled</key><integer>1</integer>
          <key>AuthName</key><string>${xml(login)}</string>
          <key>AuthPassword</key><string>${xml(password)}</string>
          <key>EnablePFS</key><integer>1</integer>
          <key>DeadPeerDetectionRate</key><string>Medium</string>
          <key>IKESecurityAssociationParameters</key>${parameters(lifetimes.ike)}
          <key>ChildSecurityAssociationParameters</key>${parameters(lifetimes.esp)}
        </dict>`;
}

function appleL2tp(login: string, { exit_ip, password, shared_key }: ServerProfile): string {
  return `
        <key>VPNType</key><string>L2TP</string>
        <key>PPP</key>
        <dict>
          <key>CommRemoteAddress</key><string>${xml(exit_ip)}</string>
          <key>AuthName</key><string>${xml(login)}</string>
          <key>AuthPassword</key><string>${xml(password)}</string>
        </dict>
        <key>IPSec</key>
        <dict>
          <key>AuthenticationMethod</key><string>SharedSecret</string>
          <key>SharedSecret</key><data>${Buffer.from(shared_key ?? '').toString('base64')}</data>
        </dict>
        <key>IPv4</key>
        <dict>
          <key>OverridePrimary</key><integer>1</integer>
        </dict>`;
}

/**
 * Windows checks the certificate against the name or address that it dials: the name, unless the
 * name does not lead to the exit.
 */
function windows(login: string, servers: readonly ServerProfile[]): string {
  const algorithms = Object.entries(words.windows)
    .map(([name, value]) => `-${name} ${value}`)
    .join(' ');
  const connections = servers.map((profile) => {
    const added = `Remove-VpnConnection -Name ${ps(profile.server)} -Force -ErrorAction SilentlyContinue
Add-VpnConnection -Name ${ps(profile.server)} -EncryptionLevel Required -RememberCredential -Force`;
    if (!hasIkev2(profile)) {
      return `${added} -ServerAddress ${ps(profile.exit_ip)} -TunnelType L2tp -L2tpPsk ${ps(profile.shared_key ?? '')} -AuthenticationMethod MSChapv2
`;
    }
    const isFirst = profile.exit_ip === profile.exit_ips[0];
    const dialled = ps(isFirst ? profile.hostname : profile.exit_ip);
    return `${isFirst ? '' : '# It dials an address: the certificate of the server must have it.\n'}${added} -ServerAddress ${dialled} -TunnelType Ikev2 -AuthenticationMethod Eap
Set-VpnConnectionIPsecConfiguration -ConnectionName ${ps(profile.server)} ${algorithms} -Force
`;
  });
  return `# Adds VPN connections; each replaces one of the same name. Windows asks for the password when each connects first; the user name is:
#   ${login.replace(/\s+/g, ' ')}
${connections.join('')}`;
}

function android(login: string, servers: readonly ServerProfile[]): string {
  const profiles = servers.map(({ server, hostname, exit_ip, password }) => ({
    uuid: uuidOf('android', hostname, login).toLowerCase(),
    name: server,
    type: 'ikev2-eap',
    remote: { addr: exit_ip, id: hostname },
    local: { eap_id: login, password },
    'ike-proposal': words.strongswan.ike,
    'esp-proposal': words.strongswan.esp,
  }));
  return profiles.map((profile) => `${JSON.stringify(profile, null, 2)}\n`).join('');
}

function networkManager(login: string, servers: readonly ServerProfile[]): string {
  const connections = servers.map((profile) => {
    const { server, hostname, exit_ip, shared_key } = profile;
    // By its identifier, since another connection may have the same name.
    const uuid = uuidOf('networkmanager', hostname, login).toLowerCase();
    const add = `nmcli connection delete uuid ${uuid} > /dev/null 2>&1 || :
nmcli connection add type vpn con-name ${sh(server)} connection.uuid ${uuid} vpn-type`;
    if (!hasIkev2(profile)) {
      const data = `gateway = ${exit_ip}, user = ${login}, password-flags = 1, machine-auth-type = psk, ipsec-enabled = yes`;
      return `${add} l2tp vpn.data ${sh(data)} vpn.secrets ${sh(`ipsec-psk = ${shared_key}`)}\n`;
    }
    const data = [
      `address = ${exit_ip}`,
      `remote-identity = ${hostname}`,
      'method = eap',
      `user = ${login}`,
      'virtual = yes',
      'encap = no',
      'ipcomp = no',
      'proposal = yes',
      `ike = ${words.strongswan.ike}`,
      `esp = ${words.strongswan.esp}`,
      'password-flags = 1',
    ];
    return `${add} strongswan vpn.data ${sh(data.join(', '))}\n`;
  });
  const kinds = [
    ...(servers.some(hasIkev2) ? ['network-manager-strongswan'] : []),
    ...(servers.every(hasIkev2) ? [] : ['network-manager-l2tp']),
  ];
  return `#!/bin/sh
# Adds VPN connections and replaces those that it added before; NetworkManager asks for the password. It needs ${kinds.join(' and ')}.
set -e
${connections.join('')}`;
}

/**
 * The login is the same at all servers and the password is not: charon takes the secret that also
 * has the server's identity.
 */
function strongSwan(login: string, servers: readonly ServerProfile[]): string {
  // A section's name must not contain a dot.
  const name = ({ server }: ServerProfile) =>
    `exitward-${server.replace(/[^\w-]|_/g, (character) => `_${character.charCodeAt(0).toString(16)}`)}`;
  const connections = servers.map(
    (profile) => `  ${name(profile)} {
    version = 2
    remote_addrs = ${profile.exit_ip}
    vips = 0.0.0.0
    proposals = ${words.strongswan.ike}
    rekey_time = ${lifetimes.ike}m
    local {
      auth = eap-mschapv2
      eap_id = ${quoted(login)}
    }
    remote {
      auth = pubkey
      id = ${quoted(profile.hostname)}
    }
    children {
      ${name(profile)} {
        remote_ts = 0.0.0.0/0
        esp_proposals = ${words.strongswan.esp}
        rekey_time = ${lifetimes.esp}m
      }
    }
  }
`,
  );
  const secrets = servers.map(
    (profile) => `  eap-${name(profile)} {
    id-login = ${quoted(login)}
    id-server = ${quoted(profile.hostname)}
    secret = ${quoted(profile.password)}
  }
`,
  );
  const [first] = servers as [ServerProfile];
  return `# /etc/swanctl/conf.d/exitward.conf; then: swanctl --load-all && swanctl --initiate --child ${name(first)}
connections {
${connections.join('')}}
secrets {
${secrets.join('')}}
`;
}

// Names consist of letters, digits and ._@- only, but the functions below escape any text.

function xml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
  return text.replace(/[&<>]/g, (character) => entities[character] ?? character);
}

function ps(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function sh(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
