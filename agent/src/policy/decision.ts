// The types of decisions: questions to a node, the settings of its operator, and outcomes.
import type { Network } from '../../../kit/src/address.ts';
import type { TokenClaims } from '../../../kit/src/node_interface.ts';
import type { Reason } from './denials.ts';

/** A question to a node: may this request, or this login, be let in? */
export type Question = ProxyRequest | VpnLogin;

/** A request to a proxy, as any engine sees it. */
export interface ProxyRequest {
  kind: 'request';
  /** Address of the client, in any spelling. */
  source: string;
  /** Port of the server that the client connected to, by the port scheme. */
  port: number;
  method: string;
  /** Destination, as the client wrote it; IPv6 with or without brackets. */
  host: string;
  destination_port: number;
  /** Undefined: the request has none. Null: they cannot be read. */
  credentials: Credentials | null | undefined;
}

/** A login to a VPN service, by any of its authentication methods. */
export interface VpnLogin {
  kind: 'login';
  service: string;
  /** As the client gave it: `user@account`, or `user@account~expiry` (docs/vpn.md). */
  login: string;
  /** The exit address that the client dialled. */
  exit_ip: string;
  /** The client's address, if known. */
  source?: string | undefined;
  /** Whether the client has this password. */
  proves(password: string): boolean;
  /** The password itself, where the method reveals it. It may be a proxy access token. */
  password?: string | undefined;
}

/** Credentials of a client; or of the control plane's question, with the token already read. */
export type Credentials =
  | { user: string; password: string; claims?: never }
  | { user: string; claims: TokenClaims; password?: never };

export interface PortRange {
  first: number;
  last: number;
}

/** The settings of the node's operator. */
export interface Rules {
  /** The id of this node. */
  node?: number;
  /** Destination ports allowed for CONNECT, and for plain requests. */
  connect_ports: readonly PortRange[];
  http_ports: readonly PortRange[];
  /** Private and reserved addresses that the operator allows. */
  allowed: readonly Network[];
  /**
   * Addresses of this machine's interfaces, kept up to date by the engines. Exit addresses need not
   * be among them.
   */
  own_addresses?: ReadonlySet<string>;
  /** IP authentication ends this long after the control plane was last heard from. */
  staleness_seconds: number;
  /** The node's own checks, which are not billed and may reach only this destination. */
  probe?: { password: string; host: string; port: number } | undefined;
}

/** Why a connection was let in, with all that later checks of it need. */
export type Authority =
  | { by: 'authlist'; account: number; user: number; entry: number; ip: string }
  | ({ by: 'token' } & TokenClaims)
  /**
   * `expiry` is that of the password, in epoch seconds; null: it never expires. `generation` is
   * that of the key from which the password was derived.
   */
  | {
      by: 'vpn';
      account: number;
      user: number;
      token_version: number;
      expiry: number | null;
      generation: number;
    }
  | { by: 'probe' };

export interface Allowed {
  verdict: 'allow';
  authority: Authority;
  /** Names, for people and logs; empty for a probe. */
  contract: string;
  user: string;
  exit_ip: string;
  /** Address to dial instead of resolving the hostname. */
  dial: string | undefined;
  /** Id of the override that gives `dial`. */
  override: number | undefined;
}

export interface Denied {
  verdict: 'challenge' | 'deny';
  reason: Reason;
  /** The user, if one was identified. */
  principal?: { authority: Authority; contract: string; user: string };
  /** The address of the custom DNS entry, if that is what is refused. */
  dial?: string;
}

export type Decision = Allowed | Denied;
