// The files by which devices take a VPN profile, for IKEv2 with EAP-MSCHAPv2: text for each family of systems.
import { createHash } from 'node:crypto';

export interface ProfileFile {
  /** For whom it is. */
  format: 'apple' | 'windows' | 'android' | 'networkmanager' | 'strongswan';
  name: string;
  content: string;
}

interface Values {
  server: string;
  hostname: string;
  login: string;
  password: string;
}

/** The files for one exit of a server. Those for Windows and NetworkManager hold no password: the systems ask for it. */
export function profileFiles(values: Values, exit_ip: string): ProfileFile[] {
  const named = (format: ProfileFile['format'], ending: string, content: string) => {
    return { format, name: `exitward-${values.server}.${ending}`, content };
  };
  return [
    named('apple', 'mobileconfig', apple(values, exit_ip)),
    named('windows', 'ps1', windows(values)),
    named('android', 'sswan', android(values, exit_ip)),
    named('networkmanager', 'sh', networkManager(values, exit_ip)),
    named('strongswan', 'conf', strongSwan(values, exit_ip)),
  ];
}

/** The same profile again replaces the one before: its identifiers follow from its name. */
function uuidOf(...parts: string[]): string {
  const hex = createHash('sha256').update(parts.join('\n')).digest('hex');
  const [a, b, c, d] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(13, 16), hex.slice(17, 20)];
  return `${a}-${b}-5${c}-8${d}-${hex.slice(20, 32)}`.toUpperCase();
}

function apple({ server, hostname, login, password }: Values, exit_ip: string): string {
  const algorithms = `
          <key>EncryptionAlgorithm</key><string>AES-256-GCM</string>
          <key>IntegrityAlgorithm</key><string>SHA2-384</string>
          <key>DiffieHellmanGroup</key><integer>20</integer>`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
  <dict>
    <key>PayloadType</key><string>Configuration</string>
    <key>PayloadVersion</key><integer>1</integer>
    <key>PayloadIdentifier</key><string>exitward.${xml(hostname)}</string>
    <key>PayloadUUID</key><string>${uuidOf('profile', hostname, login)}</string>
    <key>PayloadDisplayName</key><string>${xml(server)}</string>
    <key>PayloadContent</key>
    <array>
      <dict>
        <key>PayloadType</key><string>com.apple.vpn.managed</string>
        <key>PayloadVersion</key><integer>1</integer>
        <key>PayloadIdentifier</key><string>exitward.${xml(hostname)}.vpn</string>
        <key>PayloadUUID</key><string>${uuidOf('vpn', hostname, login)}</string>
        <key>PayloadDisplayName</key><string>${xml(server)}</string>
        <key>UserDefinedName</key><string>${xml(server)}</string>
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
          <key>IKESecurityAssociationParameters</key>
          <dict>${algorithms}
          </dict>
          <key>ChildSecurityAssociationParameters</key>
          <dict>${algorithms}
          </dict>
        </dict>
      </dict>
    </array>
  </dict>
</plist>
`;
}

/** Windows checks the certificate against the name that it dials, so this dials the name. */
function windows({ server, hostname, login }: Values): string {
  return `# Adds the VPN connection ${psComment(server)}. Windows asks for the password when it connects first; the user name is:
#   ${psComment(login)}
$name = ${ps(server)}
Add-VpnConnection -Name $name -ServerAddress ${ps(hostname)} -TunnelType Ikev2 -AuthenticationMethod Eap -EncryptionLevel Required -RememberCredential -Force
Set-VpnConnectionIPsecConfiguration -ConnectionName $name -AuthenticationTransformConstants GCMAES256 -CipherTransformConstants GCMAES256 -EncryptionMethod GCMAES256 -IntegrityCheckMethod SHA384 -DHGroup ECP384 -PfsGroup ECP384 -Force
`;
}

function android({ server, hostname, login, password }: Values, exit_ip: string): string {
  const profile = {
    uuid: uuidOf('android', hostname, login).toLowerCase(),
    name: server,
    type: 'ikev2-eap',
    remote: { addr: exit_ip, id: hostname },
    local: { eap_id: login, password },
  };
  return `${JSON.stringify(profile, null, 2)}\n`;
}

function networkManager({ server, hostname, login }: Values, exit_ip: string): string {
  const data = [
    `address = ${exit_ip}`,
    `remote-identity = ${hostname}`,
    'method = eap',
    `user = ${login}`,
    'virtual = yes',
    'encap = no',
    'ipcomp = no',
    'proposal = yes',
    'ike = aes256gcm16-prfsha384-ecp384',
    'esp = aes256gcm16',
    'password-flags = 1',
  ];
  return `#!/bin/sh
# Adds the VPN connection; NetworkManager asks for the password. It needs the package network-manager-strongswan.
exec nmcli connection add type vpn vpn-type strongswan con-name ${sh(server)} vpn.data ${sh(data.join(', '))}
`;
}

function strongSwan({ hostname, login, password }: Values, exit_ip: string): string {
  return `# /etc/swanctl/conf.d/exitward.conf; then: swanctl --load-all && swanctl --initiate --child exitward
connections {
  exitward {
    version = 2
    remote_addrs = ${exit_ip}
    vips = 0.0.0.0
    proposals = aes256gcm16-prfsha384-ecp384
    local {
      auth = eap-mschapv2
      eap_id = ${quoted(login)}
    }
    remote {
      auth = pubkey
      id = ${quoted(hostname)}
    }
    children {
      exitward {
        remote_ts = 0.0.0.0/0
        esp_proposals = aes256gcm16
      }
    }
  }
}
secrets {
  eap-exitward {
    id = ${quoted(login)}
    secret = ${quoted(password)}
  }
}
`;
}

// Names have letters, digits and ._@- alone; what is written here holds for any text all the same.

function xml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
  return text.replace(/[&<>]/g, (one) => entities[one] ?? one);
}

function ps(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function psComment(text: string): string {
  return text.replace(/\s+/g, ' ');
}

function sh(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
