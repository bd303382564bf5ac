// The node interface (docs/node.md): the records that a control plane sends to its nodes, and their
// reports. Either side may be older than the other, and checks what it receives.

// ---- From the control plane -------------------------------------------------------------------

export interface PortScheme {
  name: string;
  /** A port is base + port_base of an exit IP; the override port is 500 higher. */
  bases: Array<{ base: number; service: string }>;
}

export interface ServerValue {
  name: string;
  hostname: string;
  services: string[];
  port_schemes: PortScheme[];
  exit_ips: Array<{ ip: string; port_base: number }>;
  /** Ids of the nodes that accept no new connections. Older control planes do not send them. */
  drained_nodes?: number[];
  /**
   * The key from which this server's VPN passwords are derived (32 bytes, base64url); missing if it
   * has no VPN service.
   */
  vpn_key?: string;
  /** Which one of the server's VPN keys that is; missing: the first. */
  vpn_generation?: number;
}

export interface PublicKey {
  kid: string;
  /** Raw Ed25519 public key, base64url. */
  public_key: string;
}

/** The content of a genuine token. The policy decides at every use whether it still counts. */
export interface TokenClaims {
  /** The key that signed it. */
  kid: string;
  account: number;
  user: number;
  token_version: number;
  /** Epoch seconds. */
  expiry: number;
}

export interface ContractValue {
  name: string;
  /** Epoch seconds. */
  expiry: number;
  suspended: boolean;
  /** The account is over a limit that is enforced. */
  blocked: boolean;
  port_scheme: string;
}

export interface UserValue {
  name: string;
  active: boolean;
  proxy: boolean;
  token_version: number;
  /** Older control planes send none, and older agents ignore them. */
  limits?: UserLimits;
}

/** The limits of a user, next to those of the contract; each one is optional. */
export interface UserLimits {
  /** At once, across the network: connections, and source addresses (in IPv6 by /64). */
  connections?: number;
  addresses?: number;
  /** An address counts for this long after it was last used. */
  address_seconds?: number;
  /** Epoch seconds; the user may connect before this time. */
  until?: number;
  /** The user may use these: `proxy`, and VPN services. Missing: all. */
  services?: string[];
  /** The user may not use this server. */
  not_here?: true;
  /** The user's bytes of this billing period are used up. */
  over?: true;
}

export interface AuthlistValue {
  ip: string;
  /** The user that connections from the address count as. */
  user: number;
  expiry: number;
}

export interface OverrideValue {
  hostname: string;
  ip: string;
  expiry: number;
}

/** An operator's question to a node: how would it decide on this connection, as a proxy sees it? */
export interface ConnectionQuestion {
  from: string;
  /** The port of the proxy that it arrives on. */
  port: number;
  method: string;
  host: string;
  destination_port: number;
  /** The name that the client presents. */
  user?: string;
  /** Those of its token, which is never sent itself; null: it is not genuine. */
  claims?: TokenClaims | null;
  /** Send a request through the exit as well, if the connection is let through. */
  check_exit?: boolean;
  /** The same, but only for a connection of this account, and of this user if one is named. */
  check_exit_of?: { account: string; user?: string };
}

/** The same about a VPN login with the right password. */
export interface LoginQuestion {
  service: string;
  /** `user@account`. */
  login: string;
  /** The exit address that is dialled. */
  exit_ip: string;
  /** Of the client; missing: one that the user does not use now. */
  from?: string;
}

/** The connections that are of interest; without any of these, all. */
export interface ConnectionFilter {
  /** Ids. */
  account?: number;
  user?: number;
  /** The client's. */
  address?: string;
  exit_ip?: string;
}

/** A request to report the open connections again and again, until the lease ends. */
export interface WatchValue extends ConnectionFilter {
  lease_seconds: number;
}

/** The connections that an order ends; without any of these, all of the node. */
export interface EndOrder extends ConnectionFilter {
  service?: string;
}

/** An operator's question: who used this exit around this time? */
export interface UseQuestion {
  exit_ip: string;
  /** Epoch seconds. */
  at: number;
  /** How far a use may be from that time. */
  margin_seconds: number;
  /** The port at the exit. */
  port?: number;
  /** Its host or address. */
  destination?: { host: string; port: number };
}

/** The whole new state of one record; a null value means that the record is gone. */
export type SentRecord =
  | { kind: 'server'; value: ServerValue | null }
  | { kind: 'keys'; value: PublicKey[] }
  | { kind: 'account'; account: number; value: null }
  | { kind: 'contract'; account: number; value: ContractValue | null }
  | { kind: 'user'; account: number; id: number; value: UserValue | null }
  | { kind: 'authlist'; account: number; id: number; value: AuthlistValue | null }
  | { kind: 'authlist_cleared'; account: number; value: null }
  | { kind: 'override'; account: number; id: number; value: OverrideValue | null }
  | { kind: 'overrides_cleared'; account: number; value: null }
  | { kind: 'explain' | 'explain_token'; id: number; value: ConnectionQuestion | null }
  | { kind: 'explain_login'; id: number; value: LoginQuestion | null }
  | { kind: 'connections'; id: number; value: WatchValue | null }
  | { kind: 'end_connections'; id: number; value: EndOrder | null }
  | { kind: 'exit_uses'; id: number; value: UseQuestion | null }
  /** Users were erased: ask who. */
  | { kind: 'erased_users'; value: null };

/** A point in one history of changes. */
export interface Position {
  epoch: string;
  revision: number;
}

// ---- From a node ------------------------------------------------------------------------------

export type HealthStatus = 'ok' | 'warn' | 'crit' | 'unknown';

/** The outcome of the last checks of an exit IP. */
export interface ExitHealth {
  ip: string;
  status: HealthStatus;
  /** Epoch seconds of the last check. */
  checked_at: number;
}

/** The same of a VPN service at an exit IP. */
export interface VpnServiceHealth extends ExitHealth {
  service: string;
}

export interface VpnHealthReport {
  services: VpnServiceHealth[];
  /** When the certificate expires, in epoch seconds; null: there is none. */
  certificate_expiry: number | null;
}

export interface HealthReport {
  exit_ips: ExitHealth[];
  /** Missing: the node serves no VPN. */
  vpn?: VpnHealthReport;
}

/** A request through an exit: the address that the other end saw, and the time; or a fault. */
export interface ExitCheck {
  address?: string;
  milliseconds?: number;
  fault?: string;
}

/** A node's decision. */
export interface Answer {
  verdict: 'allow' | 'challenge' | 'deny';
  status: number;
  reason: string;
  message: string;
  /** The record that identified the user, and the custom DNS entry that applies. */
  rule?: string;
  /** The account's name; missing for the node's own checks. */
  account?: string;
  user?: string;
  exit_ip?: string;
  /** The address that a custom DNS entry gives for the destination. */
  dial?: string;
  /** The outcome of a request that was sent through the exit. */
  checked?: ExitCheck;
  /** The node had applied every change up to this one when it answered. */
  revision: number;
}

/** The connections of one user from one address to one exit by one service. */
export interface ConnectionGroup {
  service: string;
  /** Ids. */
  account: number;
  user: number;
  /** The client's address. */
  address: string;
  exit_ip: string;
  /** How the user was identified, each way once. */
  by: Array<'authlist' | 'token' | 'vpn'>;
  /** The authlist entry that lets some of them in. */
  entry?: number;
  connections: number;
  /** When the oldest of them began, and when any last carried a byte; epoch seconds. */
  since: number;
  last_byte_at: number;
  /** Bytes of these connections from the client and to it, as it counts them. */
  up: number;
  down: number;
}

export type GroupSums = Pick<ConnectionGroup, 'connections' | 'up' | 'down'> & { groups: number };

/** The largest groups, and the sums of the others. */
export interface LargestGroups {
  groups: ConnectionGroup[];
  rest: GroupSums;
}

/** Refusals of a minute that are alike. */
export interface Refusal {
  /** Epoch seconds, rounded down to the minute. */
  at: number;
  reason: string;
  /** The client's address. */
  source: string;
  /** `proxy`, `proxy-https`, or a VPN service. */
  service: string;
  /** By the port scheme; a VPN has none. */
  port?: number;
  /** Ids of the account and the user that the credentials name. */
  account?: number;
  user?: number;
  /** How many there were. */
  count: number;
}

/** A report may be repeated, and counts once. */
export interface RefusalReport {
  /** One run of the agent. */
  boot: string;
  /** The number of the report in that run. */
  seq: number;
  refusals: readonly Refusal[];
}

/** Bytes of one user that the control plane has not yet acknowledged. */
export interface UsageRow {
  account: number;
  user: number;
  /** Epoch seconds of the newest traffic in it. All its traffic is of the same hour (UTC). */
  at: number;
  up: number;
  down: number;
}

/** Rows that are sent under the same name until the control plane has acknowledged them. */
export interface UsageBatch {
  /** One run of the agent's journal; `seq` rises in it with every batch. */
  boot: string;
  seq: number;
  rows: UsageRow[];
}

/** The connections and addresses of one user on a node. */
export interface Holding {
  account: number;
  user: number;
  connections: number;
  /** Addresses used lately; of IPv6 each /64, as `2001:db8:1:2::/64`. The first came first. */
  networks: string[];
}

export type UserKey = Pick<Holding, 'account' | 'user'>;

export interface HoldingsReport {
  /** Other users hold nothing here, of those that come after one and up to another, if given. */
  whole: boolean;
  after?: UserKey;
  through?: UserKey;
  users: readonly Holding[];
}

/** Those of a user on the other nodes: the answer to the report. */
export interface HeldElsewhere {
  account: number;
  user: number;
  connections: number;
  /** Those on nodes that had some before this one did. They stay if all are too many. */
  ahead: number;
  /** The addresses on all nodes, this one included, in the order in which they came. */
  networks: string[];
}
