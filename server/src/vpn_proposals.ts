// The two sides of a VPN's negotiation in one table: nodes make their connections from it, the control plane its profiles. The same file in server
// and agent (docs/decisions/0079-vpn-proposals.md).
import type { VpnService } from './vpn_password.ts';

/** In strongSwan's spelling. */
interface Proposals {
  ike: string[];
  esp: string[];
}

/** Everything that a profile asks for, in the words of each system. Each asks for forward secrecy: a group for ESP, too. */
export const profileWords = {
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
 * Groups for ESP, the profiles' first, and none. IKE_AUTH does not negotiate them: a client that asks for a group which the node lacks, or for none where the node
 * wants one, logs in and loses its tunnel at its first new keys.
 */
const espGroups = 'ecp384-ecp256-curve25519-modp2048-modpnone';

/** Of current clients. Windows needs to be told to offer the first two; 1024-bit groups are never taken. */
const current: Proposals = {
  ike: [
    profileWords.strongswan.ike,
    'aes256gcm16-prfsha256-ecp256',
    'aes256gcm16-prfsha256-curve25519',
    'aes256-sha256-ecp256',
    'aes256-sha256-modp2048',
  ],
  esp: ['aes256gcm16', 'aes256-sha256'].map((one) => `${one}-${espGroups}`),
};

/**
 * The clients of IKEv1 that systems have built in know SHA-1 alone for ESP; as an HMAC it holds. charon chooses among the proposals of IKEv1
 * before it knows which of its connections is meant.
 */
const older: Proposals = {
  ike: [...current.ike, 'aes256-sha1-ecp384', 'aes256-sha1-modp2048'],
  esp: [...current.esp, `aes256-sha1-${espGroups}`],
};

/** What a node takes, what it prefers first. */
export const nodeProposals: Record<VpnService, Proposals> = {
  'vpn-ikev2': current,
  'vpn-ikev1': older,
  'vpn-l2tp': older,
};

/** Minutes until one side begins new keys. */
export interface Lifetimes {
  ike: number;
  esp: number;
}

/** Where a profile can say it. */
export const profileLifetimes: Lifetimes = { ike: 480, esp: 60 };

/**
 * Of a node with IKEv2, which begins up to a tenth earlier, and after every client that begins by itself: not all take new keys that a server
 * begins. With IKEv1 the client alone begins: quick mode offers a group or none, and which one the client takes is not known; and new keys of IKE
 * are a login again.
 */
export const nodeLifetimes: Lifetimes = { ike: 600, esp: 90 };
