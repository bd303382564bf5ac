// docs/vpn.md on booted Debians: a node that systemd holds to its rights serves a VPN, and a client
// with Debian's strongSwan uses it.
import { addresses } from './internet.ts';
import type { Machine } from './machine.ts';

/** Of a machine whose kernel may have no ESP: charon itself seals the packets. */
const ofNode = ['charon-systemd', 'libcharon-extra-plugins', 'libstrongswan-standard-plugins'];
const ofClient = [...ofNode, 'libcharon-extauth-plugins', 'strongswan-swanctl'];
const install = 'apt-get install --yes --no-install-recommends';

/** Debian's packages that are installed here. */
export const vpnPackages = ofClient;

/**
 * Makes the node of a server offer `vpn-ikev2`, with this certificate. Its health is known soon.
 */
export async function serveVpn(
  control: Machine,
  node: Machine,
  server: string,
  { certificate, key }: { certificate: string; key: string },
): Promise<void> {
  node.write('etc/exitward/vpn.crt', certificate);
  node.write('etc/exitward/vpn.key', key);
  await node.run(`chmod 600 /etc/exitward/vpn.key
    ${install} ${ofNode.join(' ')}
    systemctl disable --now strongswan
    sysctl --quiet --write net.ipv4.ip_forward=1
    cat >> /etc/exitward/agent.env << 'END'
EXITWARD_AGENT_HEALTH_SECONDS=2
EXITWARD_AGENT_VPN_IPSEC=userspace
EXITWARD_AGENT_TLS_CERT=/etc/exitward/vpn.crt
EXITWARD_AGENT_TLS_KEY=/etc/exitward/vpn.key
EXITWARD_AGENT_VPN_DNS=${addresses.router}
END
    systemctl restart exitward-agent`);
  await control.run(`exitward server change ${server} --services proxy,vpn-ikev2`);
}

/**
 * Has a client's strongSwan take the profile in `swanctl.conf`'s language; `authority`: of the
 * node's certificate.
 */
export async function takeProfile(
  client: Machine,
  profile: string,
  authority: string,
): Promise<void> {
  await client.run(`apt-get update
    ${install} ${ofClient.join(' ')}
    cd /etc/strongswan.d/charon
    sed -i 's/load = no/load = yes/' kernel-libipsec.conf
    sed -i 's/^}/  fwmark = !0x42\\n}/' kernel-netlink.conf
    sed -i 's/^}/  fwmark = 0x42\\n}/' socket-default.conf`);
  client.write('etc/swanctl/conf.d/exitward.conf', profile);
  client.write('etc/swanctl/x509ca/authority.pem', authority);
  await client.run('systemctl restart strongswan');
}
