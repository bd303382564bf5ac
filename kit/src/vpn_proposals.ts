// Both sides of a VPN's negotiation in one table: what profiles ask for and what nodes take.
// The server reads one side, the agent the other (docs/decisions/0079-vpn-proposals.md).
import type { VpnService } from './vpn_password.ts';

/** In strongSwan's spelling. */
interface Proposals {
  ike: string[];
  esp: string[];
}

/** Minutes until a side starts rekeying. */
interface Lifetimes {
  ike: number;
  esp: number;
}

/** The algorithms of a profile, as each system names them. ESP's group gives forward secrecy. */
const words = {
  strongswan: { ike: 'aes256gcm16-prfsha384-ecp384', esp: 'aes256gcm16-ecp384' },
  /** The same for IKE and ESP. Group 20 is ECP-384. */
  apple: {
    EncryptionAlgorithm: 'AES-256-GCM',
    IntegrityAlgorithm: 'SHA2-384',
    DiffieHellmanGroup: 20,
  },
  windows: {
    AuthenticationTransformConstants: 'GCMAES256',
    CipherTransformConstants: 'GCMAES256',
    EncryptionMethod: 'GCMAES256',
    IntegrityCheckMethod: 'SHA384',
    DHGroup: 'ECP384',
    PfsGroup: 'ECP384',
  },
};

/**
 * Groups for ESP: that of the profiles first, none last. The login does not negotiate them: a
 * client whose group is missing here connects, and loses its tunnel at the first rekeying.
 */
const espGroups = 'ecp384-ecp256-curve25519-modp2048-modpnone';

/** Windows offers the first two only when configured to. Groups of 1024 bits are never accepted. */
const current: Proposals = {
  ike: [
    words.strongswan.ike,
    'aes256gcm16-prfsha256-ecp256',
    'aes256gcm16-prfsha256-curve25519',
    'aes256-sha256-ecp256',
    'aes256-sha256-modp2048',
  ],
  esp: [`aes256gcm16-${espGroups}`, `aes256-sha256-${espGroups}`],
};

/**
 * Built-in clients of IKEv1 support only SHA-1 for ESP; as an HMAC it is still secure.
 * charon selects an IKEv1 proposal before it knows which of its connections is meant.
 */
const older: Proposals = {
  ike: [...current.ike, 'aes256-sha1-ecp384', 'aes256-sha1-modp2048'],
  esp: [...current.esp, `aes256-sha1-${espGroups}`],
};

const proposals: Record<VpnService, Proposals> = {
  'vpn-ikev2': current,
  'vpn-ikev1': older,
  'vpn-l2tp': older,
};

/** Written into a profile where its format has a place for them. */
const profileLifetimes: Lifetimes = { ike: 480, esp: 60 };

/**
 * A node rekeys later than built-in clients do: not all of them accept rekeying by a server. It
 * never rekeys IKEv1: charon would offer ESP with a group, which built-in clients refuse, and
 * rekeying IKE is a login there.
 */
const nodeLifetimes: Lifetimes = { ike: 600, esp: 90 };

export const negotiation = {
  profile: { words, lifetimes: profileLifetimes },
  node: { proposals, lifetimes: nodeLifetimes },
};
