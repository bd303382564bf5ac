// Both sides of a VPN's negotiation in one table: what profiles ask for and what nodes take.
// The same file in server and agent (docs/decisions/0079-vpn-proposals.md).
import type { VpnService } from './vpn_password.ts';

/** In strongSwan's spelling. */
interface Proposals {
  ike: string[];
  esp: string[];
}

/** Minutes until a side begins new keys. */
interface Lifetimes {
  ike: number;
  esp: number;
}

/** The algorithms of a profile, in the words of each system. A group for ESP is forward secrecy. */
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
 * Groups for ESP, the profiles' first, and none. The login does not negotiate them: a client whose
 * group is missing here gets in, and loses its tunnel at its first new keys.
 */
const espGroups = 'ecp384-ecp256-curve25519-modp2048-modpnone';

/** Windows offers the first two only when told to. Groups of 1024 bits are never taken. */
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
 * Clients of IKEv1 that systems have built in know SHA-1 alone for ESP; as an HMAC it holds.
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

/** A profile's lifetimes are said where its format has a place for them. */
const profileLifetimes: Lifetimes = { ike: 480, esp: 60 };

/**
 * A node begins after the clients that systems have built in: not all of them take new keys that
 * a server begins. It never begins with IKEv1: charon would offer ESP with a group, which built-in clients
 * refuse, and new keys of IKE are a login there.
 */
const nodeLifetimes: Lifetimes = { ike: 600, esp: 90 };

export const negotiation = {
  profile: { words, lifetimes: profileLifetimes },
  node: { proposals, lifetimes: nodeLifetimes },
};
