// The records and operations of the console's API and of the operator API: written by `npm run client-types` from docs/openapi.json.

export interface AcceptedUsage {
  /** Bytes that were counted, both ways. */
  counted_bytes: number;
}

export interface Account {
  /** Account name. */
  name: string;
  /** Plan name. */
  plan: string;
  /** Contract start; billing periods are counted from it. */
  start: number;
  /** When the contract ends. */
  expiry: number;
  /** Bytes that the contract allows in a billing period. */
  limit_bytes: number;
  period: {
    /** Start of the running billing period. */
    start: number;
    /** Its end. */
    end: number;
    /** Bytes of the whole network in it. */
    usage: number;
  };
  /** Whether the limit is used up. */
  over_limit: boolean;
  /** What nodes do over the limit: refuse connections, or allow and bill them. */
  on_limit: 'refuse' | 'allow';
  /** Detailed server billing: limits of single servers count. */
  detailed_billing: boolean;
  /** Whether the operator has suspended it. */
  suspended: boolean;
  /** Port scheme, by name. */
  port_scheme: string;
  /** Lifetime of proxy access tokens when none is asked for. */
  token_lifetime_seconds: number;
  /** When it was created. */
  created_at: number;
}

export interface AccountChanges {
  /** Plan name. */
  plan?: string;
  /** Contract start, epoch seconds; billing periods are counted from it. */
  start?: number;
  /** When the contract ends, epoch seconds. */
  expiry?: number;
  /** Bytes that the contract allows in a billing period. */
  limit_bytes?: number;
  /** Detailed server billing: limits of single servers count. */
  detailed_billing?: boolean;
  /** Suspends the contract, or lifts that. */
  suspended?: boolean;
  /** What nodes do over the limit: refuse connections, or allow and bill them. */
  on_limit?: 'refuse' | 'allow';
  /** Port scheme, by name. */
  port_scheme?: string;
  /** Lifetime of proxy access tokens when none is asked for. */
  token_lifetime_seconds?: number;
}

export interface AccountEndOrder {
  /** Those of this user. */
  user?: string;
  /** Those from this IP address. */
  address?: string;
  /** Those to this exit IP. */
  exit_ip?: string;
  /** Those of this server, by its short name. */
  server?: string;
  /** Those of this service. */
  service?: 'proxy' | 'proxy-https' | 'vpn-ikev2' | 'vpn-ikev1' | 'vpn-l2tp';
}

export interface AccountServerPlace {
  /** City that houses the server. */
  city: string;
  /** ISO-3166-1 alpha-2 country code. */
  country: string;
  /** Latitude. */
  latitude: number;
  /** Longitude. */
  longitude: number;
  /** Servers there. */
  servers: number;
  states: {
    /** Servers of the contract whose exit IPs are all ok. */
    ok: number;
    /** Those of which the worst exit IP is warn. */
    warn: number;
    /** Those with a crit exit IP. */
    crit: number;
    /** Those of which too little is known. */
    unknown: number;
    /** Those whose nodes are all offline. */
    not_connected: number;
    /** Those without a node. */
    no_node: number;
    /** Servers that are not on the contract. */
    others: number;
  };
  /** The short name of the only server there; null where there are more. */
  server: string | null;
}

export interface AccountServerSettings {
  /** Own limit of the server on this contract; null: the network limit. */
  limit_bytes?: number | null;
}

export interface AccountToken {
  /** Names it in paths. */
  id: number;
  /** Name of the token. */
  name: string;
  /** Whether it only reads. */
  read_only: boolean;
  /** Null: never. */
  expiry: number | null;
  /** Whether its text is kept and can be viewed. */
  viewable: boolean;
  /** When it was created. */
  created_at: number;
  /** Its last use; null before the first. */
  last_used_at: number | null;
}

export interface AccountUsage {
  /** Account name. */
  account: string;
  period: {
    /** Start of the running billing period. */
    start: number;
    /** Its end. */
    end: number;
  };
  /** Bytes of the whole network in the period. */
  usage: number;
  /** Bytes that the contract allows in a period. */
  limit: number;
  /** Whether the limit is used up. */
  over_limit: boolean;
}

export interface AccountUserChanges {
  /** Descriptive name. */
  display_name?: string;
  /** Whether the user is enabled. */
  active?: boolean;
  /** Permissions; those left out are off for a new user, and stay as they are on a change. */
  flags?: {
    /** May use the proxy network. */
    proxy?: boolean;
    /** May see billing. */
    billing?: boolean;
    /** May administer the account. */
    admin?: boolean;
  };
  /** Limits; those left out stay as they are. A null ends one; null instead of an object ends them all. */
  limits?: UserLimitChanges | null;
}

export interface AccountUsersChanges {
  /** Which users, each once, and what changes of each: at most 1000. */
  users: {
    /** Id of a user. */
    id: number;
    /** Whether the user is enabled. */
    active?: boolean;
    /** Permissions; those left out are off for a new user, and stay as they are on a change. */
    flags?: {
      /** May use the proxy network. */
      proxy?: boolean;
      /** May see billing. */
      billing?: boolean;
      /** May administer the account. */
      admin?: boolean;
    };
    /** Limits; those left out stay as they are. A null ends one; null instead of an object ends them all. */
    limits?: UserLimitChanges | null;
  }[];
}

export interface AccountsChanges {
  /** Which accounts, each once, and what changes of each: at most 500. */
  accounts: {
    /** Account name. */
    account: string;
    /** When the contract ends, epoch seconds. */
    expiry?: number;
    /** Suspends the contract, or lifts that. */
    suspended?: boolean;
  }[];
}

export interface AddedAddresses {
  /** Entries that were added; of a dry run: that would be. */
  added: number;
  /** What came, or would come, of each line that holds an address. */
  lines: PastedLine[];
}

export interface AddedServers {
  /** How many are new on the contract. */
  added: number;
}

export interface AddressUses {
  /** The address, or the network in CIDR notation. */
  network: string;
  /** Authlist entries that hold. */
  authlist: {
    /** IP address. */
    ip: string;
    /** Port scheme on which the address is claimed. */
    port_scheme: string;
    /** Account that holds it. */
    account: string;
    /** Id of the entry on that account. */
    id: number;
    /** User that its connections are assigned to. */
    user: string;
    /** When the entry expires. */
    expiry: number;
    /** proven: verified, by a request of the account from the address or by an operator; unproven: not verified, so that a verified entry of another account replaces it; waits: not verified, and nodes let no client in by it; null: entries need not be verified (EXITWARD_AUTHLIST_PROOF). */
    proof: 'proven' | 'unproven' | 'waits' | null;
  }[];
  /** Custom DNS entries in force that point there. */
  overrides: {
    /** IP address. */
    ip: string;
    /** Account whose entry it is. */
    account: string;
    /** Id of the entry on that account. */
    id: number;
    /** Hostname that resolves to the address. */
    hostname: string;
    /** Server on which it does. */
    server: string;
    /** When the entry expires. */
    expiry: number;
  }[];
  /** Exit IPs. */
  exits: {
    /** IP address. */
    ip: string;
    /** Server that has it. */
    server: string;
    /** Port base of the exit IP. */
    port_base: number;
  }[];
  /** The lists that have more than is shown: ask for a smaller network, or more of it. */
  more: ('authlist' | 'overrides' | 'exits')[];
}

export interface AnyServer {
  /** Server short name. */
  server: string;
  /** Fully-qualified domain name of the server. */
  hostname: string;
  /** Server title, usually the closest metro area. */
  title: string;
  /** Number of exit IP addresses available. */
  ip_count: number;
  /** Services available. Current variant: proxy, proxy-https, vpn-ikev1, vpn-ikev2, vpn-l2tp. Earlier variant: proxy, vpn. */
  services: string[];
  location: Location;
  /** Own limit that the server had when it was taken off this contract, and has again once it is added; null: none. */
  limit_bytes: number | null;
  /** Whether it is on the contract. */
  on_contract: boolean;
  /** Whether it can be added: it is not on the contract, it listens on the account's port scheme, and the choice is the client's (an admin's where the operator leaves it to accounts, and always an operator's). */
  can_add: boolean;
  /** How it stands on the contract; in pages, of servers on the contract alone. */
  own?: {
    exits: {
      /** Exit IPs in this state. */
      ok: number;
      /** Exit IPs in this state. */
      warn: number;
      /** Exit IPs in this state. */
      crit: number;
      /** Exit IPs in this state. */
      unknown: number;
    };
    nodes: {
      /** Nodes that serve it. */
      all: number;
      /** Those heard of lately. */
      live: number;
    };
    /** Bytes in the current billing period. */
    current: number;
    /** Bytes in the last 30 days. */
    last_30_days: number;
    /** Own limit of the server on this contract; null: the network limit. */
    limit_bytes: number | null;
    /** Whether its own limit is used up. */
    over_limit: boolean;
    /** When it was added to the contract. */
    added_at: number;
  };
}

export interface AuditEntry {
  /** Identifies the entry; it says nothing about the order. */
  id: string;
  /** When. */
  at: number;
  /** account (an API token), user (in the console), operator, node or system. */
  actor_kind: string;
  /** Who: account and API token, account and user, operator token, node or job. */
  actor: string;
  /** From where; empty for a job, and where the account is not to know. */
  address: string;
  /** The x-request-id of the answer. */
  request_id: string;
  /** Account, if it is of one. */
  account: string | null;
  /** What was done, such as override.create. */
  action: string;
  /** To what, such as overrides/12. */
  target: string;
  /** The record before; null if there was none. */
  before: unknown;
  /** The record after; null if there is none. */
  after: unknown;
}

export interface CallerAddress {
  /** IP address. */
  ip: string;
  /** Its entry on the IP authlist, among those that the caller sees; null: none. */
  entry: OperatorAuthlistEntry | null;
}

export interface ChangedEntries {
  /** How many. */
  changed: number;
}

export interface ChosenEntries {
  /** Which entries, each once: at most 1000. */
  ids: number[];
}

export interface ChosenServers {
  /** Short names of the servers, each once: at most 1000. */
  servers: string[];
}

export interface Connection {
  /** Port of the proxy that it comes in on. */
  port: number;
  /** Hostname or IP address that the client asks for. */
  host: string;
  /** Port that the client asks for; 443 for CONNECT and 80 otherwise. */
  destination_port?: number;
  /** HTTP method; CONNECT when omitted. */
  method?: string;
  /** Whether the node is to send a request of its own through the exit, too, where it lets the connection through. */
  check_exit?: boolean;
  /** IP address that the connection comes from. */
  from: string;
  /** Username that the client presents, together with a token. */
  user?: string;
  /** Proxy access token that it presents as password. */
  token?: string;
}

export interface ConnectionDecision {
  /** Let through, asked for credentials, or turned away. */
  verdict: 'allow' | 'challenge' | 'deny';
  /** The HTTP status that the client would get. */
  status: number;
  /** How the user was known, or why not, in one word. */
  reason: string;
  /** What the client would be answered. */
  message: string;
  /** The record or rule that decided. */
  rule?: string;
  /** Account that the connection belongs to. */
  account?: string;
  /** Its user. */
  user?: string;
  /** The address that it would leave from. */
  exit_ip?: string;
  /** What it would connect to. */
  dial?: string;
  /** A request that the node itself sent through the exit, to the echo of its health checks. */
  checked?: {
    /** The address that was seen at the other end. */
    address?: string;
    /** How long it took. */
    milliseconds?: number;
    /** Why it did not come through. */
    fault?: string;
  };
}

export interface ConnectionGroup {
  /** Server short name. */
  server: string;
  /** The nodes that have them; for operators. */
  nodes?: string[];
  /** proxy, proxy-https, or a VPN service. */
  service: string;
  /** Account name. */
  account: string;
  /** User name. */
  user: string;
  /** The IP address that they come from. */
  address: string;
  /** The exit IP that they leave from. */
  exit_ip: string;
  /** How the user was identified. */
  credentials: ('authlist' | 'token' | 'vpn')[];
  /** Id of the authlist entry that let them in. */
  authlist_entry?: number;
  /** How many connections. */
  connections: number;
  /** When the oldest began. */
  since: number;
  /** When a byte last moved, to a few seconds. */
  last_byte_at: number;
  /** Bytes from clients, so far. */
  up: number;
  /** Bytes to clients, so far. */
  down: number;
}

export interface ConnectionSum {
  /** Account name, by account or user. */
  account?: string;
  /** User name, by user. */
  user?: string;
  /** Server short name, by server. */
  server?: string;
  /** The IP address that they come from, by address. */
  address?: string;
  /** How many groups. */
  groups: number;
  /** How many connections. */
  connections: number;
  /** When the oldest began. */
  since: number;
  /** When a byte last moved, to a few seconds. */
  last_byte_at: number;
  /** Bytes from clients, so far. */
  up: number;
  /** Bytes to clients, so far. */
  down: number;
}

export interface ConsoleAuthlistEntryChanges {
  /** IP address: one IPv4 or IPv6 address. */
  ip?: string;
  /** Username that connections from the address are assigned to. */
  user?: string;
  /** When the entry expires, epoch seconds; at most 10 years from now. */
  expiry?: number;
  /** What the entry is for. */
  note?: string;
}

export interface ConsoleContract {
  /** Contract/account name. */
  name: string;
  /** Plan name. */
  plan: string;
  /** Contract start; billing periods are counted from it. */
  start: number;
  /** When the contract ends. */
  expiry: number;
  /** Whether the operator has suspended it. */
  suspended: boolean;
  /** Whether the limit is used up. */
  over_limit: boolean;
  /** What nodes do over the limit: refuse connections, or allow and bill them. */
  on_limit: 'refuse' | 'allow';
  /** Detailed server billing: limits of single servers count. */
  detailed_billing: boolean;
  period: {
    /** Start of the running billing period. */
    start: number;
    /** Its end, where the next one starts. */
    end: number;
    /** Bytes of the whole network in it. */
    usage: number;
    /** Bytes that the contract allows in a period. */
    limit: number;
  };
  /** Billing periods that are over, newest first; two years of them at most. */
  earlier_periods: {
    /** Start of the billing period; but in the first, its hour counts to the one before. */
    start: number;
    /** Its end, where the next one started. */
    end: number;
  }[];
  /** Lifetime of proxy access tokens when none is asked for. */
  token_lifetime_seconds: number;
  /** The port scheme of the account. */
  ports: {
    /** Plus an exit IP's `port_base`: the port that leads to it. */
    base: number;
    /** What is served there: plain or over TLS. */
    service: 'proxy' | 'proxy-https';
  }[];
  /** How far above a port its override port is. */
  override_offset: number;
}

export interface ConsoleFacts {
  /** Version of this server. */
  version: string;
  audiences: {
    /** Whether people of accounts sign in here. */
    account: boolean;
    /** Whether operators are served here, under /admin. */
    operator: boolean;
  };
  /** The fewest characters of a password. */
  min_password_length: number;
}

export interface ConsoleInvite {
  /** Account name. */
  account: string;
  /** Name of the invited user. */
  user: string;
  /** Descriptive name. */
  display_name: string;
  /** Until when the invitation can be accepted. */
  expiry: number;
  /** Whether the user must show a second factor. */
  second_factor: boolean;
}

export interface ConsoleOverride {
  /** Id of the entry on this account. */
  id: number;
  /** Short name of the server where the entry is active. */
  server: string;
  /** Hostname that is overridden. */
  hostname: string;
  /** IP address the hostname resolves to. */
  ip: string;
  /** When the entry expires. */
  expiry: number;
  /** Its state. */
  status: 'pending' | 'active' | 'expiring' | 'expired';
  /** Whether its server is on the contract. */
  on_contract: boolean;
  /** What the entry is for; empty when none was given. */
  note: string;
  /** Who added it: account (an API token), user or operator; null: not known. */
  added_by_kind: string | null;
  /** Its name, as in the audit log; null: not known. */
  added_by: string | null;
  /** When it was added; null: not known. */
  added_at: number | null;
  /** The nodes of its server while the entry waits for them: pending, or expiring. Else none. */
  nodes: NodeOfEntry[];
}

export interface ConsoleOverrideChanges {
  /** Short name of a server that is on the contract. */
  server?: string;
  /** Hostname to override. */
  hostname?: string;
  /** IP address the hostname resolves to. */
  ip?: string;
  /** When the entry expires, epoch seconds; at most 10 years from now. */
  expiry?: number;
  /** What the entry is for. */
  note?: string;
}

export interface ConsoleUserChanges {
  /** Descriptive name. */
  display_name?: string;
  /** Whether the user is enabled. */
  active?: boolean;
  /** Permissions; those left out are off for a new user, and stay as they are on a change. */
  flags?: {
    /** May use the proxy network. */
    proxy?: boolean;
    /** May see billing. */
    billing?: boolean;
    /** May administer the account. */
    admin?: boolean;
  };
  /** Limits; those left out stay as they are. A null ends one; null instead of an object ends them all. */
  limits?: UserLimitChanges | null;
  /** Your password: needed to make somebody an active admin. */
  password?: string;
}

export interface ConsoleUsersChanges {
  /** Which users, each once, and what changes of each: at most 1000. */
  users: {
    /** Id of a user. */
    id: number;
    /** Whether the user is enabled. */
    active?: boolean;
    /** Permissions; those left out are off for a new user, and stay as they are on a change. */
    flags?: {
      /** May use the proxy network. */
      proxy?: boolean;
      /** May see billing. */
      billing?: boolean;
      /** May administer the account. */
      admin?: boolean;
    };
    /** Limits; those left out stay as they are. A null ends one; null instead of an object ends them all. */
    limits?: UserLimitChanges | null;
  }[];
  /** Your password: needed to make somebody an active admin. */
  password?: string;
}

export interface CreatedAccount {
  account: Account;
  /** The first API token (ewa_…) of the account. */
  api_token: string;
}

export interface CreatedAccountToken {
  /** Names it in paths. */
  id: number;
  /** Name of the token. */
  name: string;
  /** Whether it only reads. */
  read_only: boolean;
  /** Null: never. */
  expiry: number | null;
  /** Whether its text is kept and can be viewed. */
  viewable: boolean;
  /** When it was created. */
  created_at: number;
  /** Its last use; null before the first. */
  last_used_at: number | null;
  /** The API token (ewa_…). */
  api_token: string;
}

export interface CreatedOperatorToken {
  /** Names it in paths. */
  id: number;
  /** Who holds it; the actor in the audit log. */
  name: string;
  /** When it was created. */
  created_at: number;
  /** Its last use, to the minute; null before the first. */
  last_used_at: number | null;
  /** Whether its holder may ask who used an exit. */
  may_find_connections: boolean;
  /** The token (ewo_…), shown only here. */
  admin_token: string;
}

export interface CreatedProxyToken {
  /** Proxy access token (ewt_…), shown only here. */
  token: string;
  /** Its user: the username that goes with it. */
  user: string;
  /** When it ends. */
  expiry: number;
}

export interface Credentials {
  /** Account name. */
  account: string;
  /** User name. */
  user: string;
  /** Password. */
  password: string;
  /** Second factor: six digits of the authenticator app, or a recovery code. */
  code?: string;
}

export interface Doctor {
  /** Version of this server. */
  version: string;
  /** The settings of this server that `exitward doctor` goes by, whatever its own environment says. */
  settings: {
    /** Where people reach the console. */
    public_url: string;
    /** Where nodes connect. */
    node_url: string;
    /** The data folder. */
    data_dir: string;
    /** The database; null on PostgreSQL. */
    sqlite_file: string | null;
    /** The keys file. */
    keys_file: string;
    /** The file of the first operator token. */
    admin_token_file: string;
    /** The files of the certificate; null: the server speaks no TLS itself. */
    tls: {
      /** The certificate, with its chain. */
      cert_file: string;
      /** Its key. */
      key_file: string;
    } | null;
    /** Whether a proxy in front terminates TLS. */
    tls_terminated: boolean;
  };
  /** One or more of each check. */
  findings: {
    /** Names the check, see the list in docs/doctor.md. */
    name: string;
    /** How bad it is. */
    state: 'ok' | 'warning' | 'fault';
    /** For people. */
    sentence: string;
    /** The command that fixes it; null when all is well. */
    remedy: string | null;
  }[];
}

export interface DrainedNodes {
  /** Which nodes, each once: at most 1000. */
  nodes: number[];
  /** Whether they take no new connections. Those that are open go on. */
  drained: boolean;
}

export interface EndOrder {
  /** Those of this account, by its name. */
  account?: string;
  /** Those of this user of the account. */
  user?: string;
  /** Those from this IP address. */
  address?: string;
  /** Those to this exit IP. */
  exit_ip?: string;
  /** Those of this server, by its short name. */
  server?: string;
  /** Those of this service. */
  service?: 'proxy' | 'proxy-https' | 'vpn-ikev2' | 'vpn-ikev1' | 'vpn-l2tp';
  /** Those of this node, by its id. */
  node?: number;
}

export interface EndedConnections {
  /** How many connections were ended, as the nodes say. */
  ended: number;
  /** The nodes that carried it out. */
  acknowledged: {
    /** Server short name. */
    server: string;
    /** The node; for operators. */
    node?: string;
    /** How many it ended. */
    ended: number;
  }[];
  /** Nodes that have not said that they carried it out. */
  missing: {
    /** Server short name. */
    server: string;
    /** The node; for operators. */
    node?: string;
    /** It is offline; its agent is older than this server and may not know the order; it has not taken it; it took it, and has not said how many it ended. */
    reason: 'offline' | 'outdated' | 'no_answer' | 'unfinished';
  }[];
  /** A node that has not taken the order by then never does. */
  until: number;
}

export interface EntryExpiries {
  /** Which entries, each once, and when each is to expire: at most 1000. */
  entries: EntryExpiry[];
}

export interface EntryExpiry {
  /** Id of an entry. */
  id: number;
  /** When the entry expires, epoch seconds; at most 10 years from now. */
  expiry: number;
}

export interface EntryNode {
  /** Id of the node. */
  id: number;
  /** What the machine calls itself. */
  name: string;
  /** Whether it was heard of lately. The live nodes count; where none is, all do. */
  live: boolean;
  /** Whether it has applied the entry's last change. */
  applied: boolean;
}

export interface ErasedUser {
  /** The name of the record from now on. */
  pseudonym: string;
}

export interface ExitIpSettings {
  /** Value added to the bases of a port scheme to reach this IP. */
  port_base: number;
}

export interface ExitUse {
  /** Account name. */
  account: string;
  /** User name. */
  user: string;
  /** The IP address that it came from. */
  address: string;
  /** The port there, where it has one. */
  source_port?: number;
  /** proxy, proxy-https, or a VPN service. */
  service: string;
  /** When it began. */
  since: number;
  /** When it ended; null while it is open. */
  until: number | null;
  /** The ports at the exit that it may have used; missing where they are not known. */
  exit_ports?: {
    /** The lowest. */
    first: number;
    /** The highest. */
    last: number;
  };
  /** As the client asked for it. */
  destination?: string;
  /** The address that was dialled for it. */
  dialled?: string;
  /** What was asked for and is not known of it: it may be another one. */
  unknown: ('port' | 'destination')[];
  /** Server short name. */
  server: string;
  /** The node that has it. */
  node: string;
  /** Whether its server has the exit now. */
  has_exit: boolean;
}

export interface ExitUseQuestion {
  /** The exit IP, as a report names it. */
  exit_ip: string;
  /** The time that it names. */
  at: number;
  /** How far from that time; 60 when left out. */
  margin_seconds?: number;
  /** The source port that it names, the one at the exit. */
  port?: number;
  /** What was reached through the exit: `www.example.com:443`, `[2001:db8::1]:443`. */
  destination?: string;
  /** Why it is asked, such as the number of a report; the audit log has it. */
  reason: string;
}

export interface ExitUses {
  /** At most 1000; those of the server that has the exit now come first, then those that match in all that was asked. If there are more, each node has its share; uses of other servers are listed last if the exit was certainly not theirs at that time. */
  uses: ExitUse[];
  /** How many more there are. */
  more: number;
  /** Nodes that may have had the exit at that time and cannot say. Those of the server that has it now come first; others are named only if it may have been theirs. */
  missing: {
    /** Server short name. */
    server: string;
    /** The node. */
    node: string;
    /** It is offline; its agent is older than this server and may not know the question; it has not answered; it has no log of that time. */
    reason: 'offline' | 'outdated' | 'no_answer' | 'not_logged';
    /** Whether its server has the exit now. */
    has_exit: boolean;
  }[];
  /** The server that has the exit now; null: it is none of this network, or not any more. */
  server: string | null;
}

export interface FoundEntry {
  /** Which list it is on. */
  list: 'authlist' | 'overrides';
  /** Id of the entry on this account. */
  id: number;
  /** The listed address, or the hostname that is overridden. */
  name: string;
  /** Authlist: whom its connections count for. */
  user?: string;
  /** Custom DNS: the server. */
  server?: string;
  /** Custom DNS: where the hostname leads to. */
  ip?: string;
}

export interface GeoCheck {
  /** How many were looked up. */
  exit_ips: number;
  /** Statuses that were written or taken away. */
  written: number;
  providers: {
    /** Third-party geo-IP provider. */
    provider: string;
    /** Exit IPs that it sees where they are. */
    ok: number;
    /** Those that it sees in their country, but more than 250 km off. */
    warn: number;
    /** Those that it sees in another country. */
    crit: number;
    /** Those that it knows nothing of. */
    no_record: number;
    /** Those whose record is damaged; their status stays. */
    unreadable: number;
  }[];
}

export interface GeoStatus {
  /** Server short name. */
  server: string;
  /** Exit IP address. */
  ip: string;
  /** Third-party geo-IP provider. */
  provider: string;
  /** ok: the country of the server, and not far from it; warn: its country, but more than 250 km off; crit: another country. */
  status: 'ok' | 'warn' | 'crit';
  /** Where it sees the IP. */
  country: string | null;
  /** How far that is from the server; null where it knows no place. */
  distance_km: number | null;
  /** When this was computed. */
  status_time: number;
}

export interface HandedCode {
  /** The one-time code (ewl_…), shown only here. */
  code: string;
  /** Where the console takes it. */
  path: string;
  /** The same with the address of the console, to be handed on. */
  url: string;
  /** Until when it can be used. */
  expiry: number;
}

export interface HeldUsage {
  /** Names it in paths. */
  id: number;
  /** The node that reported it. */
  node_id: number;
  /** What its machine calls itself. */
  node: string;
  /** The server that it serves. */
  server: string;
  /** Whether the node was revoked since. */
  revoked: boolean;
  /** The run of the node's journal. */
  boot: string;
  /** The number of the batch in it. */
  seq: number;
  /** When it came. */
  received_at: number;
  /** Bytes both ways, of all its rows. */
  bytes: number;
  /** The most that the node could have to report then. */
  plausible_bytes: number;
  /** The time of its oldest row. */
  oldest_at: number;
  /** The time of its newest row. */
  newest_at: number;
  /** How many rows it has. */
  row_count: number;
  /** How many accounts they are of. */
  account_count: number;
  /** The accounts with the most bytes, ten at most. */
  accounts: {
    /** Name of the account. */
    account: string;
    /** Bytes both ways. */
    bytes: number;
  }[];
}

export interface History {
  /** Steps from here on. */
  from: number;
  /** Steps before here. */
  to: number;
  /** Width of a step in seconds: a multiple of 300, 3600 or 86400. Steps begin at midnight UTC; those of a week on Mondays. */
  step: number;
  /** In order of time. Steps in which nothing was are left out. */
  points: {
    /** Start of the step; it may be before `from`. */
    at: number;
    /** For how many seconds of the step something is stored. */
    measured_seconds: number;
    /** Bytes from clients. */
    up: number;
    /** Bytes to clients. */
    down: number;
    /** Bytes a second from clients, in the slowest five minutes of the step (an hour where only hours are stored); null: none of them is over. */
    up_min: number | null;
    /** Bytes a second from clients, in the fastest five minutes of the step (an hour where only hours are stored); null: none of them is over. */
    up_peak: number | null;
    /** Bytes a second to clients, in the slowest five minutes of the step (an hour where only hours are stored); null: none of them is over. */
    down_min: number | null;
    /** Bytes a second to clients, in the fastest five minutes of the step (an hour where only hours are stored); null: none of them is over. */
    down_peak: number | null;
    /** Open connections, at least; null: no look in the step. */
    connections_min: number | null;
    /** Open connections of live nodes, on average; null: no look in the step. */
    connections: number | null;
    /** Open connections, at most; null: no look in the step. */
    connections_peak: number | null;
    /** The longest that a change had waited for a live node; null: no look in the step. */
    lag_peak: number | null;
    /** Faults of live nodes, at most; null: no look in the step. */
    faults_peak: number | null;
    /** Connections that were rejected, by the reason that clients were given; `other`: reasons that this server does not know. */
    rejected: {
      [name: string]: number;
    };
  }[];
}

export interface Inventory {
  servers: {
    /** Server short name; it stays. */
    name: string;
    /** Fully-qualified domain name of the server. */
    hostname: string;
    /** Server title, usually the closest metro area. */
    title: string;
    /** City that houses the server. */
    city: string;
    /** ISO-3166-1 alpha-2 country code. */
    country: string;
    /** Latitude. */
    latitude: number;
    /** Longitude. */
    longitude: number;
    /** Services available. */
    services: ('proxy' | 'proxy-https' | 'vpn-ikev1' | 'vpn-ikev2' | 'vpn-l2tp')[];
    /** Port schemes that it listens on; "default" for a new server. */
    port_schemes?: string[];
    /** All of its exit IPs. */
    exit_ips: {
      /** Exit IP address. */
      ip: string;
      /** Value added to the bases of a port scheme to reach this IP. */
      port_base: number;
    }[];
  }[];
  /** Whether servers that are not named go; no by default. */
  remove_missing?: boolean;
}

export interface InventoryDocument {
  servers: {
    /** Server short name; it stays. */
    name: string;
    /** Fully-qualified domain name of the server. */
    hostname: string;
    /** Server title, usually the closest metro area. */
    title: string;
    /** City that houses the server. */
    city: string;
    /** ISO-3166-1 alpha-2 country code. */
    country: string;
    /** Latitude. */
    latitude: number;
    /** Longitude. */
    longitude: number;
    /** Services available. */
    services: ('proxy' | 'proxy-https' | 'vpn-ikev1' | 'vpn-ikev2' | 'vpn-l2tp')[];
    /** Port schemes that it listens on; "default" for a new server. */
    port_schemes: string[];
    /** All of its exit IPs. */
    exit_ips: {
      /** Exit IP address. */
      ip: string;
      /** Value added to the bases of a port scheme to reach this IP. */
      port_base: number;
    }[];
  }[];
}

export interface InventoryOutcome {
  /** Whether nothing was written. */
  dry_run: boolean;
  /** New servers. */
  added: string[];
  /** Servers that changed, and in what. */
  changed: {
    /** Name of the server. */
    name: string;
    /** The fields that change. */
    fields: string[];
  }[];
  /** Servers that went. */
  removed: string[];
  /** Servers that were as the inventory says. */
  unchanged: number;
  /** Exit IPs that a server got. */
  exit_ips_added: number;
  /** Exit IPs that a server lost. */
  exit_ips_removed: number;
}

export interface Invite {
  /** The one-time code (ewi_…), shown only here. */
  code: string;
  /** Until when it can be used. */
  expiry: number;
  /** The line to paste on a machine with Debian: it installs the agent, checks, joins and starts. */
  line: string;
  /** Those that this server has a package of the agent for; on others it must be there. */
  architectures: string[];
}

export interface InviteAcceptance {
  /** The one-time code (ewl_…). */
  code: string;
  /** 12 to 200 characters, at least five of them different. */
  password: string;
  /** Needed where the user has a second factor: a code of the app, or a recovery code. */
  second_factor_code?: string;
}

export interface Location {
  /** City that houses the server. */
  city: string;
  /** ISO-3166-1 alpha-2 country code. */
  country: string;
  /** Latitude. */
  latitude: number;
  /** Longitude. */
  longitude: number;
}

export interface Maintenance {
  /** Whether /v0 answers 503. */
  on: boolean;
}

export interface Manifest {
  /** Whether nothing was written. */
  dry_run: boolean;
  /** Of this plan: the same changes have the same one. */
  version: string;
  changes: {
    /** Adopted: as declared already, and owned from now on. */
    action: 'create' | 'change' | 'adopt' | 'remove';
    /** What it is. */
    kind: 'server' | 'account' | 'user' | 'contract_server';
    /** Its name; account/name inside of an account. */
    name: string;
    /** The fields that change. */
    fields: string[];
    /** How these fields change. */
    differences: {
      /** The field. */
      field: string;
      /** Its value now. */
      before: unknown;
      /** Its value by the manifest. */
      after: unknown;
    }[];
  }[];
}

export interface ManifestSettings {
  servers?: {
    /** Server short name; it stays. */
    name: string;
    /** Fully-qualified domain name of the server. */
    hostname: string;
    /** Server title, usually the closest metro area. */
    title: string;
    /** City that houses the server. */
    city: string;
    /** ISO-3166-1 alpha-2 country code. */
    country: string;
    /** Latitude. */
    latitude: number;
    /** Longitude. */
    longitude: number;
    /** Services available. */
    services: ('proxy' | 'proxy-https' | 'vpn-ikev1' | 'vpn-ikev2' | 'vpn-l2tp')[];
    /** Port schemes that it listens on; "default" for a new server. */
    port_schemes?: string[];
    /** All of its exit IPs. */
    exit_ips?: {
      /** Exit IP address. */
      ip: string;
      /** Value added to the bases of a port scheme to reach this IP. */
      port_base: number;
    }[];
  }[];
  accounts?: {
    /** Account name; it stays. */
    name: string;
    /** Plan name. */
    plan: string;
    /** Contract start, epoch seconds; billing periods are counted from it. */
    start?: number;
    /** When the contract ends, epoch seconds. */
    expiry: number;
    /** Bytes that the contract allows in a billing period. */
    limit_bytes: number;
    /** Detailed server billing: limits of single servers count. */
    detailed_billing?: boolean;
    /** What nodes do over the limit: refuse connections, or allow and bill them. */
    on_limit?: 'refuse' | 'allow';
    /** Port scheme, by name. */
    port_scheme?: string;
    /** Lifetime of proxy access tokens when none is asked for. */
    token_lifetime_seconds?: number;
    /** Whether it is suspended; a new account is not by default. */
    suspended?: boolean;
    users?: {
      /** Username the user authenticates with; it stays. */
      name: string;
      /** Descriptive name. */
      display_name?: string;
      /** Permissions; those left out are off for a new user, and stay as they are on a change. */
      flags?: {
        /** May use the proxy network. */
        proxy?: boolean;
        /** May see billing. */
        billing?: boolean;
        /** May administer the account. */
        admin?: boolean;
      };
      /** Limits; those left out stay as they are. A null ends one; null instead of an object ends them all. */
      limits?: UserLimitChanges | null;
      /** Whether the user is enabled; a new user is by default. */
      active?: boolean;
    }[];
    servers?: {
      /** Server on the contract. */
      name: string;
      /** Own limit of the server; null: none. */
      limit_bytes?: number | null;
    }[];
  }[];
}

export interface ManyNodes {
  /** How many nodes. */
  nodes: number;
}

export interface ManyServerChanges {
  /** Which servers, each once: at most 1000. */
  servers: string[];
  /** Services available. */
  services?: ('proxy' | 'proxy-https' | 'vpn-ikev1' | 'vpn-ikev2' | 'vpn-l2tp')[];
  /** Port schemes that it listens on; "default" for a new server. */
  port_schemes?: string[];
}

export interface ManyServers {
  /** How many servers. */
  servers: number;
}

export interface NetworkStatus {
  /** Version of this server. */
  version: string;
  /** The time of this server. */
  now: number;
  /** Whether /v0 answers 503 for maintenance. */
  maintenance: boolean;
  database: {
    /** Which database it is. */
    engine: 'sqlite' | 'postgres';
    /** Number of the newest migration. */
    schema: number;
    /** Names the history of revisions; a restore begins a new one. */
    epoch: string;
    /** Number of the last change. */
    revision: number;
    /** Always true: else this answer is a 503. */
    answers: boolean;
    /** Why changes are refused; null when all is well. */
    fault: string | null;
  };
  /** Who asks: the holder of the operator token. */
  operator: string;
  /** Whether they may ask who used an exit. */
  may_find_connections: boolean;
  /** How many there are. */
  accounts: number;
  /** How many there are. */
  servers: number;
  nodes: {
    /** Nodes that joined and were not revoked. */
    all: number;
    /** Those heard of lately. */
    live: number;
    /** Those that have not applied every change that concerns their server. */
    lagging: number;
  };
  /** The exit IPs of all servers, by status. */
  exits: {
    /** Those that work. */
    ok: number;
    /** Those that work poorly. */
    warn: number;
    /** Those that do not work. */
    crit: number;
    /** Those without a report of late. */
    unknown: number;
  };
  /** Whether any account has a user. */
  has_users: boolean;
  /** Whether any traffic was ever counted. */
  has_usage: boolean;
  /** The geo-IP databases of this server. */
  geoip: {
    /** Third-party geo-IP provider. */
    provider: string;
    /** Its file on this server. */
    file: string;
    /** What the file calls itself. */
    type: string;
    /** When the provider built it. */
    built_at: number;
    /** Why the last good one stays in use; null when all is well. */
    fault: string | null;
  }[];
  /** The URL of the published geofeed; null: it is not published. */
  geofeed: string | null;
  /** The certificate of this server; null when it speaks no TLS. */
  tls: {
    /** Where it is from; `self_signed` until the first by ACME is there. */
    source: 'file' | 'acme' | 'self_signed';
    /** The names that it is for. */
    names: string[];
    /** When it ends. */
    not_after: number;
    /** From then on it ends soon: 14 days before its end, or in the last sixth of a shorter life. */
    renewal_due: number;
    /** Why clients that verify it reject it, in a sentence; null when they accept it. */
    rejection: string | null;
    /** Why no newer one is there, in a sentence; null when all is well. */
    last_error: string | null;
    /** The same by ACME for programs: docs/tls.md. */
    last_error_code:
      | 'unreachable'
      | 'clock'
      | 'rate_limited'
      | 'terms'
      | 'account'
      | 'dns'
      | 'connection'
      | 'unauthorized'
      | 'names'
      | 'listener'
      | 'disk'
      | 'authority'
      | null;
    /** When the certificate authority is asked next; null without ACME. */
    next_try: number | null;
  } | null;
  /** The backups that this server makes by itself; null: it makes none. */
  backups: {
    /** Folder of this server that they are written to. */
    folder: string;
    /** Interval of the schedule, in seconds. */
    every_seconds: number;
    /** How many are kept. */
    keep: number;
    /** Whether each is verified. */
    verify: boolean;
    /** The newest; null before the first. */
    last: {
      /** The file. */
      file: string;
      /** When it was made. */
      at: number;
      /** Its size. */
      bytes: number;
    } | null;
    /** The newest that verified well; null when none has. */
    last_verified: {
      /** The file. */
      file: string;
      /** When it was made. */
      at: number;
      /** When it was restored to a scratch folder and compared. */
      verified_at: number;
    } | null;
    /** Why the last attempt, or the verification of the newest, failed; null when all is well. */
    fault: string | null;
    /** Whether there was no good one for longer than twice the interval. */
    late: boolean;
  } | null;
  /** What machines need to join. */
  joining: {
    /** Where nodes connect. */
    url: string;
    /** Why the line of an invitation fails on another machine; empty: it works. */
    obstacles: {
      /** What is in the way, in a sentence. */
      message: string;
      /** The setting or file that is missing. */
      remedy: string;
    }[];
  };
}

export interface NewAccount {
  /** Account name; it stays. */
  name: string;
  /** Plan name. */
  plan: string;
  /** Contract start, epoch seconds; billing periods are counted from it. */
  start?: number;
  /** When the contract ends, epoch seconds. */
  expiry: number;
  /** Bytes that the contract allows in a billing period. */
  limit_bytes: number;
  /** Detailed server billing: limits of single servers count. */
  detailed_billing?: boolean;
  /** What nodes do over the limit: refuse connections, or allow and bill them. */
  on_limit?: 'refuse' | 'allow';
  /** Port scheme, by name. */
  port_scheme?: string;
  /** Lifetime of proxy access tokens when none is asked for. */
  token_lifetime_seconds?: number;
}

export interface NewAccountToken {
  /** Name of the token. */
  name: string;
  /** Whether it only reads; full by default. */
  read_only?: boolean;
  /** When it ends, epoch seconds; at most 10 years from now. */
  expiry?: number;
}

export interface NewAccountUser {
  /** Username the user authenticates with; it stays. */
  name: string;
  /** Descriptive name. */
  display_name?: string;
  /** Permissions; those left out are off for a new user, and stay as they are on a change. */
  flags?: {
    /** May use the proxy network. */
    proxy?: boolean;
    /** May see billing. */
    billing?: boolean;
    /** May administer the account. */
    admin?: boolean;
  };
  /** Limits; those left out stay as they are. A null ends one; null instead of an object ends them all. */
  limits?: UserLimitChanges | null;
}

export interface NewConsoleProxyToken {
  /** User name. The user must have the proxy flag. */
  user: string;
  /** Token lifetime; the contract default when omitted. */
  lifetime_seconds?: number;
}

export interface NewInvite {
  /** The server that the node will serve. */
  server: string;
  /** How long the code can be used; a day when omitted. */
  lifetime_seconds?: number;
}

export interface NewNotedAuthlistEntry {
  /** IP address; the one that the request comes from when omitted. */
  ip?: string;
  /** Username that connections from the address are assigned to. */
  user: string;
  /** When the entry expires, epoch seconds; at most 10 years from now. */
  expiry: number;
  /** What the entry is for. */
  note?: string;
}

export interface NewNotedOverride {
  /** Short name of a server that is on the contract. */
  server: string;
  /** Hostname to override. */
  hostname: string;
  /** IP address the hostname resolves to. */
  ip: string;
  /** When the entry expires, epoch seconds; at most 10 years from now. */
  expiry: number;
  /** What the entry is for. */
  note?: string;
}

export interface NewOperatorToken {
  /** Who will hold it. */
  name: string;
  /** Whether they may ask who used an exit; not when left out. */
  may_find_connections?: boolean;
}

export interface NewOwnToken {
  /** Name of the token. */
  name: string;
  /** Whether it only reads; full by default. */
  read_only?: boolean;
  /** When it ends, epoch seconds; at most 10 years from now. */
  expiry?: number;
  /** Your password: needed for a token that is not read-only. */
  password?: string;
}

export interface NewPortScheme {
  /** Name of the scheme; it stays. */
  name: string;
  /** At least 1000 apart from one another. */
  bases: {
    /** The port of port base 0; its override port is 500 more. */
    base: number;
    /** What is served there: plain or over TLS. */
    service: 'proxy' | 'proxy-https';
  }[];
}

export interface NewSavedView {
  /** The address of the list in the console. */
  page: string;
  /** Unique on the page, for each person. */
  name: string;
  /** The filters, the order and the columns, as in the address. */
  query: string;
  /** Whether a view of this page and name may be replaced. */
  replace?: boolean;
}

export interface NewServer {
  /** Server short name; it stays. */
  name: string;
  /** Fully-qualified domain name of the server. */
  hostname: string;
  /** Server title, usually the closest metro area. */
  title: string;
  /** City that houses the server. */
  city: string;
  /** ISO-3166-1 alpha-2 country code. */
  country: string;
  /** Latitude. */
  latitude: number;
  /** Longitude. */
  longitude: number;
  /** Services available. */
  services: ('proxy' | 'proxy-https' | 'vpn-ikev1' | 'vpn-ikev2' | 'vpn-l2tp')[];
  /** Port schemes that it listens on; "default" for a new server. */
  port_schemes?: string[];
}

export interface NewSignInLink {
  /** How long the link can be used; 900 when omitted. */
  lifetime_seconds?: number;
}

export interface NewVpnProfile {
  /** Server name; all servers of the contract that have a VPN service when omitted. */
  server?: string;
  /** IPv4 exit of that server, to be dialled by the files; its first one when omitted. */
  exit_ip?: string;
  /** After that the passwords end; without it, only with the token version. */
  lifetime_seconds?: number;
}

export interface Node {
  /** Names it in paths. */
  id: number;
  /** The server that it serves. */
  server: string;
  /** What the machine calls itself. */
  name: string;
  /** Version of its agent, as it said last. */
  version: string;
  /** Whether that is older than the version of this server. */
  is_behind: boolean;
  /** Whether it acknowledged lately. */
  live: boolean;
  /** When it joined. */
  joined_at: number;
  /** When it last acknowledged. */
  seen_at: number;
  /** Every change up to it is applied. */
  applied_revision: number;
  /** Changes that concern its server and are not applied; 10000 stands for that many or more. */
  lag: number;
  /** The most that its machine carries, both ways; null: as the setting says. */
  max_bytes_per_second: number | null;
  /** Since when it takes no new connections; null: it takes them. */
  drained_at: number | null;
  /** Open requests and tunnels of clients, as of its last acknowledgement; null: its agent does not say. */
  connections: number | null;
  /** Whether it keeps who used which exit, with destinations or without, as of its last acknowledgement; null: its agent does not say. */
  connection_log: 'off' | 'sources' | 'destinations' | null;
  /** What its clients sent and received, on average in the last whole five minutes; 0 when it has reported none. */
  bytes_per_second: number;
  /** When the certificate of its VPN ends; null: it serves none, has none, or does not say. */
  certificate_expiry: number | null;
  /** What it last said is wrong with it. */
  faults: NodeFault[];
}

export interface NodeChanges {
  /** The most that its machine carries, both ways; null: as the setting says. */
  max_bytes_per_second?: number | null;
  /** Whether it takes no new connections. Those that are open go on. */
  drained?: boolean;
}

export interface NodeFault {
  /** A word for programs, see the list in docs/faults.md. */
  kind: string;
  /** Which of several: an address, a port, a file. */
  subject: string | null;
  /** A sentence for people. */
  message: string;
  /** Since when, by the clock of the node. */
  since: number;
}

export interface NodeOfEntry {
  /** What the machine calls itself. */
  name: string;
  /** Whether it was heard of lately. The live nodes count; where none is, all do. */
  live: boolean;
  /** Whether it has applied the entry's last change. */
  applied: boolean;
}

export interface Notices {
  /** Active users with a limit of their own who used 80% of it or more. */
  limits: {
    /** Account name. */
    account: string;
    /** User name. */
    user: string;
    /** The own limit of the user, in bytes of a billing period. */
    limit_bytes: number;
    /** Bytes of the user in this billing period. */
    usage: number;
    /** Whether all of it is used up. */
    used_up: boolean;
    /** Whether nodes refuse the user then. */
    on_limit: 'refuse' | 'notify';
    /** When the next billing period begins. */
    until: number;
  }[];
  /** Accounts with 50 refused connections or more in this clock hour or the one before, and ten times the usual number. */
  rising: {
    /** Account name. */
    account: string;
    /** The hour. */
    at: number;
    /** Refused connections in it. */
    refusals: number;
    /** The mean of an hour in the seven days before. */
    usual_refusals: number;
  }[];
  /** Addresses that tried wrong VPN passwords for ten users or more within an hour, noticed in the last hour. */
  tries: {
    /** The IP address, or the /64 of an IPv6 address. */
    network: string;
    /** How many users. */
    users: number;
    /** When it was last noticed. */
    at: number;
  }[];
}

export interface OneTimeCode {
  /** The one-time code (ewl_…). */
  code: string;
}

export interface OpenConnections {
  /** The largest groups, those first; none when they are summed. */
  connections: ConnectionGroup[];
  /** When they are summed: the largest sums, those first. */
  sums?: ConnectionSum[];
  /** The groups that are not listed. */
  rest: {
    /** How many groups. */
    groups: number;
    /** How many connections. */
    connections: number;
    /** Bytes from clients, so far. */
    up: number;
    /** Bytes to clients, so far. */
    down: number;
  };
  /** All groups. */
  total: {
    /** How many groups. */
    groups: number;
    /** How many connections. */
    connections: number;
    /** Bytes from clients, so far. */
    up: number;
    /** Bytes to clients, so far. */
    down: number;
  };
  /** Nodes whose connections are missing here. */
  missing: {
    /** Server short name. */
    server: string;
    /** The node; for operators. */
    node?: string;
    /** It is offline; its agent is older than this server and may not know the question; it has not answered, or not lately. */
    reason: 'offline' | 'outdated' | 'no_answer';
  }[];
}

export interface OpenInvite {
  /** Names the invitation; it is not the code. */
  id: string;
  /** Short name of its server. */
  server: string;
  /** Until when its code can be used. */
  expiry: number;
}

export interface OperatorAuthlistEntry {
  /** Id of the entry on this account. */
  id: number;
  /** IP address. */
  ip: string;
  /** User that its connections are assigned to. */
  user: string;
  /** Whether that user is an active proxy user. */
  user_active: boolean;
  /** When the entry expires. */
  expiry: number;
  /** proven: verified, by a request of the account from the address or by an operator; unproven: not verified, so that a verified entry of another account replaces it; waits: not verified, and nodes let no client in by it; null: entries need not be verified (EXITWARD_AUTHLIST_PROOF). */
  proof: 'proven' | 'unproven' | 'waits' | null;
  /** When it last let a connection in, to the minute; null: no node reported any. */
  last_used_at: number | null;
  /** What the entry is for; empty when none was given. */
  note: string;
  /** Who added it: account (an API token), user or operator; null: not known. */
  added_by_kind: string | null;
  /** Its name, as in the audit log; null: not known. */
  added_by: string | null;
  /** When it was added; null: not known. */
  added_at: number | null;
}

export interface OperatorAuthlistEntryChanges {
  /** IP address: one IPv4 or IPv6 address. */
  ip?: string;
  /** Username that connections from the address are assigned to. */
  user?: string;
  /** When the entry expires, epoch seconds; at most 10 years from now. */
  expiry?: number;
  /** What the entry is for. */
  note?: string;
  /** Whether you verify the entry. */
  proven?: boolean;
}

export interface OperatorToken {
  /** Names it in paths. */
  id: number;
  /** Who holds it; the actor in the audit log. */
  name: string;
  /** When it was created. */
  created_at: number;
  /** Its last use, to the minute; null before the first. */
  last_used_at: number | null;
  /** Whether its holder may ask who used an exit. */
  may_find_connections: boolean;
}

export interface OverrideOnNodes {
  /** Id of the entry on this account. */
  id: number;
  /** Short name of the server where the entry is active. */
  server: string;
  /** Hostname that is overridden. */
  hostname: string;
  /** IP address the hostname resolves to. */
  ip: string;
  /** When the entry expires. */
  expiry: number;
  /** Its state. */
  status: 'pending' | 'active' | 'expiring' | 'expired';
  /** Whether its server is on the contract. */
  on_contract: boolean;
  /** What the entry is for; empty when none was given. */
  note: string;
  /** Who added it: account (an API token), user or operator; null: not known. */
  added_by_kind: string | null;
  /** Its name, as in the audit log; null: not known. */
  added_by: string | null;
  /** When it was added; null: not known. */
  added_at: number | null;
  /** The nodes of its server. */
  nodes: EntryNode[];
}

export interface OverridesRestoreOutcome {
  /** Entries that are back, under their old ids. */
  restored: number;
  /** Entries that have expired since, whose server is gone, or whose hostname has a new entry. */
  left_out: number;
}

export interface OwnConnection {
  /** Port of the proxy that it comes in on. */
  port: number;
  /** Hostname or IP address that the client asks for. */
  host: string;
  /** Port that the client asks for; 443 for CONNECT and 80 otherwise. */
  destination_port?: number;
  /** HTTP method; CONNECT when omitted. */
  method?: string;
  /** Whether the node is to send a request of its own through the exit, too, where it lets the connection through. */
  check_exit?: boolean;
  /** IP address that the connection comes from; your own when omitted. */
  from?: string;
  /** User who presents a proxy access token; omitted: known by address. */
  user?: string;
  /** That token; a valid one of the user when omitted. */
  token?: string;
}

export interface OwnExitIp {
  /** Exit IP address. */
  ip: string;
  /** Value added to the account port scheme to reach this IP. */
  port_base: number;
  /** Server availability. */
  status: 'ok' | 'warn' | 'crit' | 'unknown';
  /** Last status check; 0 if there was none. */
  status_time: number;
  /** By third-party geo-IP provider. */
  geostatus: {
    [name: string]: {
      /** ok, warn or crit. */
      status: string;
      /** Last location check. */
      status_time: number;
    };
  };
  /** The ports of the account that lead to it. */
  ports: {
    /** Leads to this exit IP. */
    port: number;
    /** The same with custom DNS. */
    override_port: number;
    /** What is served there: proxy, or proxy-https over TLS. */
    service: string;
  }[];
  /** The VPN services of the server at this address; none at one of IPv6. */
  vpn: {
    /** As clients begin. */
    service: 'vpn-ikev2' | 'vpn-ikev1' | 'vpn-l2tp';
    /** Server availability. */
    status: 'ok' | 'warn' | 'crit' | 'unknown';
    /** Last status check; 0 if there was none. */
    status_time: number;
  }[];
}

export interface OwnServer {
  /** Server short name. */
  server: string;
  /** Fully-qualified domain name of the server. */
  hostname: string;
  /** Server title, usually the closest metro area. */
  title: string;
  /** Services available. Current variant: proxy, proxy-https, vpn-ikev1, vpn-ikev2, vpn-l2tp. Earlier variant: proxy, vpn. */
  services: string[];
  location: Location;
  usage: Usage;
  /** Own limit of the server on this contract; null: the network limit. */
  limit_bytes: number | null;
  /** Whether its own limit is used up. */
  over_limit: boolean;
  /** When it was added to the contract. */
  added_at: number;
  nodes: {
    /** Nodes that serve it. */
    all: number;
    /** Those heard of lately. */
    live: number;
  };
  /** Exit IP addresses of the server. */
  ips: OwnExitIp[];
}

export interface OwnSession {
  /** Names it in paths. */
  id: number;
  /** Whether it is the one that asks. */
  current: boolean;
  /** When it began. */
  created_at: number;
  /** When it was last used, to the minute. */
  seen_at: number;
  /** When it ends, however much it is used. */
  expiry: number;
  /** Where it began. */
  address: string;
  /** What the browser called itself. */
  browser: string;
}

export interface PasswordAnew {
  /** The password once more. */
  password: string;
}

export interface PasswordChange {
  /** Needed where there is one. */
  current_password?: string;
  /** 12 to 200 characters, at least five of them different. */
  password: string;
}

export interface PastedAddresses {
  /** One address on each line, at most 1000. Blank lines do not count; what stands behind # is the note of the entry. */
  addresses: string;
  /** Username that connections from the address are assigned to. */
  user: string;
  /** When the entry expires, epoch seconds; at most 10 years from now. */
  expiry: number;
  /** What the entry is for. */
  note?: string;
  /** Only says what would come of each line, and adds nothing. */
  dry_run?: boolean;
}

export interface PastedLine {
  /** Number of the line. */
  line: number;
  /** The address; as it was written, where it is none. */
  ip: string;
  /** new: it is added; listed: the user has it already; repeated: a line before says the same; fault: it cannot be added, and so none is. */
  outcome: 'new' | 'listed' | 'repeated' | 'fault';
  /** Id of an entry. */
  id?: number;
  code?: ErrorCode;
  /** Of a fault: what is wrong. */
  message?: string;
}

export interface PendingSecondFactor {
  /** For the authenticator app, in base 32; shown only here. */
  secret: string;
  /** The same as otpauth URL, for a QR code. */
  url: string;
}

export interface PortScheme {
  /** Name of the scheme; it stays. */
  name: string;
  /** At least 1000 apart from one another. */
  bases: {
    /** The port of port base 0; its override port is 500 more. */
    base: number;
    /** What is served there: plain or over TLS. */
    service: 'proxy' | 'proxy-https';
  }[];
  /** How many accounts have it. */
  accounts: number;
  /** How many servers listen on it. */
  servers: number;
}

export interface PortSchemeChanges {
  /** At least 1000 apart from one another. */
  bases: {
    /** The port of port base 0; its override port is 500 more. */
    base: number;
    /** What is served there: plain or over TLS. */
    service: 'proxy' | 'proxy-https';
  }[];
}

export interface RecoveryCodes {
  /** Each signs in once, instead of a code of the app; shown only here. */
  recovery_codes: string[];
}

export interface Refusal {
  /** Identifies the row; it says nothing about the order. */
  id: string;
  /** The minute. */
  at: number;
  /** Why, by the word that clients get: `unknown_address`, `expired_token`, …; `other` for words of newer nodes. */
  reason: string;
  /** The IP address that they came from. */
  address: string;
  /** Server short name. */
  server: string;
  /** The node; for operators. */
  node?: string;
  /** proxy, proxy-https, or a VPN service. */
  service: string;
  /** The port of the server; null for a VPN. */
  port: number | null;
  /** Account that the credentials name, else the one that listed the address; null: none. */
  account: string | null;
  /** User that the credentials name; null: none. */
  user: string | null;
  /** How many in that minute. */
  count: number;
  /** The user for whom the account has the address on its authlist by now; null: none that you see. */
  listed_for: string | null;
  /** The limit that the reason is about, as it is now: connections, addresses, bytes, or the end as epoch seconds. Null: the user or contract has none, or the reason is another one. */
  limit: number | null;
  /** Whether the reason no longer holds: the address is listed, the user active again, the limit raised. Null: only the next connection shows it. */
  is_fixed: boolean | null;
}

export interface Removal {
  /** Names it when it is undone. */
  removal_id: number;
  /** Which list. */
  list: 'authlist' | 'overrides';
  /** How many entries it took away. */
  entries: number;
  /** When. */
  at: number;
  /** Whether it took entries that were chosen, not all. */
  chosen: boolean;
}

export interface RemovedEntries {
  /** Null where there was nothing to remove. */
  removal_id: number | null;
  /** How many entries are gone. */
  entries: number;
}

export interface RemovedServers {
  /** How many are off the contract. */
  removed: number;
}

export interface Restore {
  /** Which removal, from the list of removals. */
  removal_id: number;
}

export interface RestoreOutcome {
  /** Entries that are back, under their old ids. */
  restored: number;
  /** Entries that have expired since, or whose address is taken. */
  left_out: number;
}

export interface RevokedTokens {
  /** How many tokens. */
  revoked: number;
}

export interface SavedView {
  /** Names it in paths. */
  id: number;
  /** The address of the list in the console. */
  page: string;
  /** Unique on the page, for each person. */
  name: string;
  /** The filters, the order and the columns, as in the address. */
  query: string;
}

export interface SecondFactorCode {
  /** Six digits of the app. */
  code: string;
}

/** The password is right; send it again with `code`. */
export interface SecondFactorWanted {
  /** What `code` is expected to be of. */
  second_factor: 'totp';
}

export interface Server {
  /** Server short name; it stays. */
  name: string;
  /** Fully-qualified domain name of the server. */
  hostname: string;
  /** Server title, usually the closest metro area. */
  title: string;
  /** City that houses the server. */
  city: string;
  /** ISO-3166-1 alpha-2 country code. */
  country: string;
  /** Latitude. */
  latitude: number;
  /** Longitude. */
  longitude: number;
  /** Services available. */
  services: ('proxy' | 'proxy-https' | 'vpn-ikev1' | 'vpn-ikev2' | 'vpn-l2tp')[];
  /** Port schemes that it listens on; "default" for a new server. */
  port_schemes: string[];
  /** How many exit IPs it has. */
  ip_count: number;
  /** When it was added. */
  created_at: number;
  /** Its exit IPs, by status. */
  exits: {
    /** Those that work. */
    ok: number;
    /** Those that work poorly. */
    warn: number;
    /** Those that do not work. */
    crit: number;
    /** Those without a report of late. */
    unknown: number;
  };
  nodes: {
    /** Nodes that serve it. */
    all: number;
    /** Those heard of lately. */
    live: number;
    /** Live ones that take no new connections. */
    drained: number;
    /** Changes that a live one has not applied, of the one that is farthest behind; 10000 stands for that many or more. */
    lag: number;
  };
}

export interface ServerChanges {
  /** Fully-qualified domain name of the server. */
  hostname?: string;
  /** Server title, usually the closest metro area. */
  title?: string;
  /** City that houses the server. */
  city?: string;
  /** ISO-3166-1 alpha-2 country code. */
  country?: string;
  /** Latitude. */
  latitude?: number;
  /** Longitude. */
  longitude?: number;
  /** Services available. */
  services?: ('proxy' | 'proxy-https' | 'vpn-ikev1' | 'vpn-ikev2' | 'vpn-l2tp')[];
  /** Port schemes that it listens on; "default" for a new server. */
  port_schemes?: string[];
}

export interface ServerDetail {
  /** Server short name; it stays. */
  name: string;
  /** Fully-qualified domain name of the server. */
  hostname: string;
  /** Server title, usually the closest metro area. */
  title: string;
  /** City that houses the server. */
  city: string;
  /** ISO-3166-1 alpha-2 country code. */
  country: string;
  /** Latitude. */
  latitude: number;
  /** Longitude. */
  longitude: number;
  /** Services available. */
  services: ('proxy' | 'proxy-https' | 'vpn-ikev1' | 'vpn-ikev2' | 'vpn-l2tp')[];
  /** Port schemes that it listens on; "default" for a new server. */
  port_schemes: string[];
  /** How many exit IPs it has. */
  ip_count: number;
  /** When it was added. */
  created_at: number;
  /** Its exit IPs, by status. */
  exits: {
    /** Those that work. */
    ok: number;
    /** Those that work poorly. */
    warn: number;
    /** Those that do not work. */
    crit: number;
    /** Those without a report of late. */
    unknown: number;
  };
  nodes: {
    /** Nodes that serve it. */
    all: number;
    /** Those heard of lately. */
    live: number;
    /** Live ones that take no new connections. */
    drained: number;
    /** Changes that a live one has not applied, of the one that is farthest behind; 10000 stands for that many or more. */
    lag: number;
  };
  /** How many contracts it is on. */
  contracts: number;
  /** When the first certificate of a node with a VPN ends; null: no node reported one. */
  certificate_expiry: number | null;
  exit_ips: {
    /** Exit IP address. */
    ip: string;
    /** Value added to the bases of a port scheme to reach this IP. */
    port_base: number;
    /** ok, warn, crit or unknown. */
    status: string;
    /** Last status check; 0 if there was none. */
    status_time: number;
    /** The VPN services of the server at this address; none at one of IPv6. */
    vpn: {
      /** As clients begin. */
      service: 'vpn-ikev2' | 'vpn-ikev1' | 'vpn-l2tp';
      /** Server availability. */
      status: 'ok' | 'warn' | 'crit' | 'unknown';
      /** Last status check; 0 if there was none. */
      status_time: number;
    }[];
    /** Why no connection can leave from this address: a loopback or link-local one is no exit. */
    confined: string | null;
    geostatus: {
      /** Third-party geo-IP provider. */
      provider: string;
      /** ok, warn or crit. */
      status: string;
      /** Last location check. */
      status_time: number;
      /** Where it sees the IP. */
      country: string | null;
      /** How far off. */
      distance_km: number | null;
    }[];
  }[];
}

export interface ServerNames {
  /** Which servers, each once: at most 1000. */
  servers: string[];
}

export interface ServerPlace {
  /** City that houses the server. */
  city: string;
  /** ISO-3166-1 alpha-2 country code. */
  country: string;
  /** Latitude. */
  latitude: number;
  /** Longitude. */
  longitude: number;
  /** How many servers are there. */
  servers: number;
  /** How many of each state: the worse of their nodes and their exit IPs. */
  states: {
    /** Nodes live and up to date, exit IPs ok. */
    good: number;
    /** A node lags, is drained or offline, or an exit IP is warn. */
    warn: number;
    /** No node takes connections, or an exit IP is crit. */
    bad: number;
    /** No node or exit IP yet, or one is unknown. */
    neutral: number;
  };
  /** The name of the only one; null where there are several. */
  server: string | null;
}

export interface Session {
  /** Account name. */
  account: string;
  user: {
    /** Numeric user id. */
    id: number;
    /** User name. */
    name: string;
    /** Descriptive name. */
    display_name: string;
    /** Permissions. */
    flags: {
      /** May use the proxy network. */
      proxy: boolean;
      /** May see billing. */
      billing: boolean;
      /** May administer the account. */
      admin: boolean;
    };
  };
  /** Names the session in paths. */
  session_id: number;
  /** When it began. */
  created_at: number;
  /** When it ends, however much it is used. */
  expiry: number;
  /** Whether signing in takes a second factor. */
  second_factor: boolean;
  /** Whether the user has a password. */
  has_password: boolean;
  /** Whether the contract takes changes. */
  writable: boolean;
  contract: {
    /** Whether the operator has suspended it. */
    suspended: boolean;
    /** When it ends. */
    expiry: number;
  };
  /** The server's time. */
  now: number;
}

/** How the user signs in to the console. */
export interface SignInFacts {
  /** Whether a password is set. */
  has_password: boolean;
  /** Whether a second factor is in force. */
  second_factor: boolean;
  /** When the open invitation ends; null without one. */
  invited_until: number | null;
  /** When the user last signed in; null: never. */
  last_sign_in_at: number | null;
  /** Open sessions. */
  sessions: number;
}

export interface Usage {
  /** Bytes. Current variant: the limit of this server if detailed server billing applies, otherwise the network limit. Earlier variant: the server limit for the account. */
  limit: number;
  /** Bytes in the current billing period. */
  current: number;
  /** Bytes in the last 30 days. */
  last_30_days: number;
}

export interface UsageOverTime {
  /** Hours from here on are counted. */
  from: number;
  /** Hours before here are counted. */
  to: number;
  /** What the parts are. */
  by: string;
  /** Width of a step in seconds: 3600 or 86400. */
  step: number;
  /** The most usage first; then the others, if there are any. */
  parts: {
    /** Of the account or server, #id of a removed one; null: all others together. */
    name: string | null;
    /** Bytes in both directions. */
    total: number;
    /** In order of time. Steps without traffic are left out. */
    steps: {
      /** Start of the hour or day. */
      at: number;
      /** Bytes in both directions. */
      bytes: number;
    }[];
  }[];
}

export interface UsageReport {
  /** Hours from here on are counted. */
  from: number;
  /** Hours before here are counted. */
  to: number;
  /** What the rows are. */
  by: string;
  rows: {
    /** Start of the hour. Hours that were rolled up are one row, where their day (UTC) or the billing period within it begins. */
    hour?: number;
    /** Start of the day, UTC. */
    day?: number;
    /** Server name; #id of a removed one. */
    server?: string;
    /** User name. */
    user?: string;
    /** Bytes from the client. */
    up: number;
    /** Bytes to the client. */
    down: number;
    /** Both together. */
    total: number;
  }[];
  /** Bytes from the client. */
  up: number;
  /** Bytes to the client. */
  down: number;
  /** Both together. */
  total: number;
}

export interface UserLimitChanges {
  /** Bytes in a billing period; null: as the contract says. */
  limit_bytes?: number | null;
  /** What happens when these bytes are used up: nodes refuse the user until the next billing period, or the user only needs attention. */
  on_limit?: 'refuse' | 'notify';
  /** Connections at once, in the whole network; null: no limit. */
  max_connections?: number | null;
  /** Source addresses within `address_seconds`, an IPv6 address counted as its /64; null: no limit. */
  max_addresses?: number | null;
  /** How long a source address counts after its last connection. */
  address_seconds?: number;
  /** When the access to proxies and VPN ends; null: never. */
  active_until?: number | null;
  /** The services that the user may use; null: all. */
  services?: ('proxy' | 'vpn-ikev2' | 'vpn-ikev1' | 'vpn-l2tp')[] | null;
  /** The servers that the user may use; null: all, []: none. One that was removed from the network is not shown. */
  servers?: string[] | null;
}

/** Limits of the user, next to those of the contract. */
export interface UserLimits {
  /** Bytes in a billing period; null: as the contract says. */
  limit_bytes: number | null;
  /** What happens when these bytes are used up: nodes refuse the user until the next billing period, or the user only needs attention. */
  on_limit: 'refuse' | 'notify';
  /** Connections at once, in the whole network; null: no limit. */
  max_connections: number | null;
  /** Source addresses within `address_seconds`, an IPv6 address counted as its /64; null: no limit. */
  max_addresses: number | null;
  /** How long a source address counts after its last connection. */
  address_seconds: number;
  /** When the access to proxies and VPN ends; null: never. */
  active_until: number | null;
  /** The services that the user may use; null: all. */
  services: ('proxy' | 'vpn-ikev2' | 'vpn-ikev1' | 'vpn-l2tp')[] | null;
  /** The servers that the user may use; null: all, []: none. One that was removed from the network is not shown. */
  servers: string[] | null;
}

export interface UserSigningIn {
  /** Numeric user id. */
  id: number;
  /** Username the user authenticates with. */
  name: string;
  /** Descriptive name. */
  display_name: string;
  /** Whether the user is enabled. */
  active: boolean;
  /** Permissions. */
  flags: {
    /** May use the proxy network. */
    proxy: boolean;
    /** May see billing. */
    billing: boolean;
    /** May administer the account. */
    admin: boolean;
  };
  /** Increasing it invalidates all earlier tokens of that user. */
  token_version: number;
  limits: UserLimits;
  /** Usage, which `limit_bytes` is compared with. */
  period: {
    /** Start of the running billing period. */
    start: number;
    /** Its end, where the next one starts. */
    end: number;
    /** Bytes of the user in it. */
    usage: number;
  };
  /** Whether `limit_bytes` is used up. */
  over_limit: boolean;
  sign_in: SignInFacts;
}

export interface Verdict {
  /** Let through, asked for credentials, or turned away. */
  verdict: 'allow' | 'challenge' | 'deny';
  /** The HTTP status that the client would get. */
  status: number;
  /** How the user was known, or why not, in one word. */
  reason: string;
  /** What the client would be answered. */
  message: string;
  /** The record or rule that decided. */
  rule?: string;
  /** Account that the connection belongs to. */
  account?: string;
  /** Its user. */
  user?: string;
  /** The address that it would leave from. */
  exit_ip?: string;
  /** What it would connect to. */
  dial?: string;
  /** A request that the node itself sent through the exit, to the echo of its health checks. */
  checked?: {
    /** The address that was seen at the other end. */
    address?: string;
    /** How long it took. */
    milliseconds?: number;
    /** Why it did not come through. */
    fault?: string;
  };
  /** The node that answered. */
  node: string;
  /** What the node had applied when it answered. */
  revision: number;
}

export interface ViewedToken {
  /** The API token (ewa_…). */
  api_token: string;
}

export interface VpnLogin {
  /** VPN service that the client logs in to. */
  service: 'vpn-ikev2' | 'vpn-ikev1' | 'vpn-l2tp';
  /** User name of the VPN: user@account. */
  login: string;
  /** Address that it dials; the first exit when omitted. */
  exit_ip?: string;
  /** IP address that it comes from; one that the user does not use now when omitted. */
  from?: string;
}

export interface VpnProfile {
  /** User name to log in with, the same at all servers. */
  login: string;
  /** When the passwords end, in epoch seconds; null: with the token version. */
  expiry: number | null;
  /** Values to type, by server. */
  servers: {
    /** Server name. */
    server: string;
    /** VPN services of the server. */
    services: string[];
    /** Name by which the server shows who it is. */
    hostname: string;
    /** Address that the files dial. */
    exit_ip: string;
    /** All addresses that can be dialled; the one that is dialled is the exit. */
    exit_ips: string[];
    /** Password, of this server alone. */
    password: string;
    /** Shared key (PSK) of vpn-ikev1 and vpn-l2tp; null where the server has neither of them. */
    shared_key: string | null;
  }[];
  /** Files by which devices take the profile of vpn-ikev2, or of vpn-l2tp where a server has only that. Each holds all servers, but android: one file for each. */
  files: {
    /** For which devices it is. */
    format: 'apple' | 'windows' | 'android' | 'networkmanager' | 'strongswan';
    /** File name. */
    name: string;
    /** Of `content`: text, or the bytes of a signed file in base64. */
    encoding: 'utf-8' | 'base64';
    /** Content of the file. */
    content: string;
  }[];
}

/** The code of an error, for programs. */
export type ErrorCode =
  | 'bad_request'
  | 'invalid_field'
  | 'body_too_large'
  | 'headers_too_large'
  | 'request_timeout'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'precondition_failed'
  | 'too_many_requests'
  | 'internal_error'
  | 'unavailable'
  | 'other_session'
  | 'session_ended'
  | 'wrong_password'
  | 'wrong_code'
  | 'code_used_up'
  | 'second_factor_required'
  | 'password_needed'
  | 'throttled'
  | 'origin_rejected'
  | 'flag_needed'
  | 'contract_suspended'
  | 'contract_expired'
  | 'address_taken'
  | 'hostname_taken'
  | 'list_full'
  | 'unknown_user'
  | 'server_not_on_contract'
  | 'removal_gone'
  | 'name_taken'
  | 'last_admin'
  | 'port_taken'
  | 'unknown_port_scheme'
  | 'port_scheme_in_use'
  | 'port_scheme_missing'
  | 'unknown_server'
  | 'server_in_use'
  | 'not_viewable'
  | 'last_token'
  | 'inventory_invalid'
  | 'inventory_conflict'
  | 'invite_unknown'
  | 'node_token_unknown'
  | 'snapshot_needed'
  | 'row_invalid'
  | 'held_usage_full'
  | 'question_over'
  | 'no_live_node'
  | 'token_missing'
  | 'token_unknown'
  | 'token_expired'
  | 'token_read_only'
  | 'other_variant'
  | 'rate_limited'
  | 'too_many_streams'
  | 'maintenance'
  | 'database_lost'
  | 'idempotency_mismatch';

/** Method and path of each operation. */
export const operations = {
  console_get_facts: { method: 'GET', path: '/console' },
  console_get_address: { method: 'GET', path: '/console/address' },
  console_list_audit: { method: 'GET', path: '/console/audit' },
  console_list_authlist: { method: 'GET', path: '/console/authlist' },
  console_create_authlist_entry: { method: 'POST', path: '/console/authlist' },
  console_change_authlist_expiries: { method: 'PATCH', path: '/console/authlist' },
  console_remove_all_authlist_entries: { method: 'DELETE', path: '/console/authlist' },
  console_add_addresses: { method: 'POST', path: '/console/authlist/add' },
  console_remove_authlist_entries: { method: 'POST', path: '/console/authlist/remove' },
  console_restore_authlist: { method: 'POST', path: '/console/authlist/restore' },
  console_get_authlist_entry: { method: 'GET', path: '/console/authlist/{id}' },
  console_change_authlist_entry: { method: 'PATCH', path: '/console/authlist/{id}' },
  console_remove_authlist_entry: { method: 'DELETE', path: '/console/authlist/{id}' },
  console_list_connections: { method: 'GET', path: '/console/connections' },
  console_end_connections: { method: 'POST', path: '/console/connections/end' },
  console_get_contract: { method: 'GET', path: '/console/contract' },
  console_list_entries: { method: 'GET', path: '/console/entries' },
  console_events: { method: 'GET', path: '/console/events' },
  console_look_at_invite: { method: 'POST', path: '/console/invite' },
  console_accept_invite: { method: 'POST', path: '/console/invite/accept' },
  console_list_network: { method: 'GET', path: '/console/network' },
  console_list_network_places: { method: 'GET', path: '/console/network/places' },
  console_list_notices: { method: 'GET', path: '/console/notices' },
  console_list_overrides: { method: 'GET', path: '/console/overrides' },
  console_create_override: { method: 'POST', path: '/console/overrides' },
  console_change_override_expiries: { method: 'PATCH', path: '/console/overrides' },
  console_remove_all_overrides: { method: 'DELETE', path: '/console/overrides' },
  console_remove_overrides: { method: 'POST', path: '/console/overrides/remove' },
  console_restore_overrides: { method: 'POST', path: '/console/overrides/restore' },
  console_get_override: { method: 'GET', path: '/console/overrides/{id}' },
  console_change_override: { method: 'PATCH', path: '/console/overrides/{id}' },
  console_remove_override: { method: 'DELETE', path: '/console/overrides/{id}' },
  console_change_password: { method: 'PUT', path: '/console/password' },
  console_create_proxy_token: { method: 'POST', path: '/console/proxy-tokens' },
  console_list_refusals: { method: 'GET', path: '/console/refusals' },
  console_list_removals: { method: 'GET', path: '/console/removals' },
  console_begin_second_factor: { method: 'POST', path: '/console/second-factor' },
  console_confirm_second_factor: { method: 'PUT', path: '/console/second-factor' },
  console_remove_second_factor: { method: 'POST', path: '/console/second-factor/remove' },
  console_list_servers: { method: 'GET', path: '/console/servers' },
  console_add_servers: { method: 'POST', path: '/console/servers/add' },
  console_remove_servers: { method: 'POST', path: '/console/servers/remove' },
  console_get_server: { method: 'GET', path: '/console/servers/{server}' },
  console_add_server: { method: 'PUT', path: '/console/servers/{server}' },
  console_remove_server: { method: 'DELETE', path: '/console/servers/{server}' },
  console_explain_connection: { method: 'POST', path: '/console/servers/{server}/explain' },
  console_get_session: { method: 'GET', path: '/console/session' },
  console_sign_in: { method: 'POST', path: '/console/session' },
  console_sign_out: { method: 'DELETE', path: '/console/session' },
  console_enter_by_link: { method: 'POST', path: '/console/session/link' },
  console_list_sessions: { method: 'GET', path: '/console/sessions' },
  console_end_other_sessions: { method: 'DELETE', path: '/console/sessions' },
  console_end_session: { method: 'DELETE', path: '/console/sessions/{id}' },
  console_list_tokens: { method: 'GET', path: '/console/tokens' },
  console_create_token: { method: 'POST', path: '/console/tokens' },
  console_revoke_tokens: { method: 'POST', path: '/console/tokens/remove' },
  console_remove_token: { method: 'DELETE', path: '/console/tokens/{id}' },
  console_view_token: { method: 'POST', path: '/console/tokens/{id}/view' },
  console_get_usage: { method: 'GET', path: '/console/usage' },
  console_list_users: { method: 'GET', path: '/console/users' },
  console_create_user: { method: 'POST', path: '/console/users' },
  console_change_users: { method: 'PATCH', path: '/console/users' },
  console_end_sessions_of_users: { method: 'POST', path: '/console/users/end_sessions' },
  console_get_user: { method: 'GET', path: '/console/users/{user}' },
  console_change_user: { method: 'PATCH', path: '/console/users/{user}' },
  console_invite_user: { method: 'POST', path: '/console/users/{user}/invite' },
  console_end_user_sessions: { method: 'DELETE', path: '/console/users/{user}/sessions' },
  console_reset_user_sign_in: { method: 'DELETE', path: '/console/users/{user}/sign-in' },
  console_raise_token_version: { method: 'POST', path: '/console/users/{user}/token_version' },
  console_create_vpn_profile: { method: 'POST', path: '/console/users/{user}/vpn-profile' },
  console_list_views: { method: 'GET', path: '/console/views' },
  console_save_view: { method: 'PUT', path: '/console/views' },
  console_remove_view: { method: 'DELETE', path: '/console/views/{id}' },
  admin_list_accounts: { method: 'GET', path: '/admin/accounts' },
  admin_create_account: { method: 'POST', path: '/admin/accounts' },
  admin_change_accounts: { method: 'PATCH', path: '/admin/accounts' },
  admin_get_account: { method: 'GET', path: '/admin/accounts/{account}' },
  admin_change_account: { method: 'PATCH', path: '/admin/accounts/{account}' },
  admin_list_account_audit: { method: 'GET', path: '/admin/accounts/{account}/audit' },
  admin_list_account_authlist: { method: 'GET', path: '/admin/accounts/{account}/authlist' },
  admin_create_account_authlist_entry: {
    method: 'POST',
    path: '/admin/accounts/{account}/authlist',
  },
  admin_change_account_authlist_expiries: {
    method: 'PATCH',
    path: '/admin/accounts/{account}/authlist',
  },
  admin_remove_all_account_authlist_entries: {
    method: 'DELETE',
    path: '/admin/accounts/{account}/authlist',
  },
  admin_add_account_addresses: { method: 'POST', path: '/admin/accounts/{account}/authlist/add' },
  admin_remove_account_authlist_entries: {
    method: 'POST',
    path: '/admin/accounts/{account}/authlist/remove',
  },
  admin_restore_account_authlist: {
    method: 'POST',
    path: '/admin/accounts/{account}/authlist/restore',
  },
  admin_get_account_authlist_entry: {
    method: 'GET',
    path: '/admin/accounts/{account}/authlist/{id}',
  },
  admin_change_account_authlist_entry: {
    method: 'PATCH',
    path: '/admin/accounts/{account}/authlist/{id}',
  },
  admin_remove_account_authlist_entry: {
    method: 'DELETE',
    path: '/admin/accounts/{account}/authlist/{id}',
  },
  admin_list_account_connections: { method: 'GET', path: '/admin/accounts/{account}/connections' },
  admin_end_account_connections: {
    method: 'POST',
    path: '/admin/accounts/{account}/connections/end',
  },
  admin_get_account_contract: { method: 'GET', path: '/admin/accounts/{account}/contract' },
  admin_list_account_entries: { method: 'GET', path: '/admin/accounts/{account}/entries' },
  admin_list_account_network: { method: 'GET', path: '/admin/accounts/{account}/network' },
  admin_list_account_network_places: {
    method: 'GET',
    path: '/admin/accounts/{account}/network/places',
  },
  admin_list_account_notices: { method: 'GET', path: '/admin/accounts/{account}/notices' },
  admin_list_account_overrides: { method: 'GET', path: '/admin/accounts/{account}/overrides' },
  admin_create_account_override: { method: 'POST', path: '/admin/accounts/{account}/overrides' },
  admin_change_account_override_expiries: {
    method: 'PATCH',
    path: '/admin/accounts/{account}/overrides',
  },
  admin_remove_all_account_overrides: {
    method: 'DELETE',
    path: '/admin/accounts/{account}/overrides',
  },
  admin_remove_account_overrides: {
    method: 'POST',
    path: '/admin/accounts/{account}/overrides/remove',
  },
  admin_restore_account_overrides: {
    method: 'POST',
    path: '/admin/accounts/{account}/overrides/restore',
  },
  admin_get_account_override: { method: 'GET', path: '/admin/accounts/{account}/overrides/{id}' },
  admin_change_account_override: {
    method: 'PATCH',
    path: '/admin/accounts/{account}/overrides/{id}',
  },
  admin_remove_account_override: {
    method: 'DELETE',
    path: '/admin/accounts/{account}/overrides/{id}',
  },
  admin_list_account_refusals: { method: 'GET', path: '/admin/accounts/{account}/refusals' },
  admin_list_account_removals: { method: 'GET', path: '/admin/accounts/{account}/removals' },
  admin_list_account_servers: { method: 'GET', path: '/admin/accounts/{account}/servers' },
  admin_add_account_servers: { method: 'POST', path: '/admin/accounts/{account}/servers/add' },
  admin_remove_account_servers: {
    method: 'POST',
    path: '/admin/accounts/{account}/servers/remove',
  },
  admin_get_account_server: { method: 'GET', path: '/admin/accounts/{account}/servers/{server}' },
  admin_set_account_server: { method: 'PUT', path: '/admin/accounts/{account}/servers/{server}' },
  admin_remove_account_server: {
    method: 'DELETE',
    path: '/admin/accounts/{account}/servers/{server}',
  },
  admin_explain_account_connection: {
    method: 'POST',
    path: '/admin/accounts/{account}/servers/{server}/explain',
  },
  admin_list_account_tokens: { method: 'GET', path: '/admin/accounts/{account}/tokens' },
  admin_create_account_token: { method: 'POST', path: '/admin/accounts/{account}/tokens' },
  admin_revoke_account_tokens: { method: 'POST', path: '/admin/accounts/{account}/tokens/remove' },
  admin_remove_account_token: { method: 'DELETE', path: '/admin/accounts/{account}/tokens/{id}' },
  admin_view_account_token: { method: 'POST', path: '/admin/accounts/{account}/tokens/{id}/view' },
  admin_get_account_usage: { method: 'GET', path: '/admin/accounts/{account}/usage' },
  admin_list_account_users: { method: 'GET', path: '/admin/accounts/{account}/users' },
  admin_create_account_user: { method: 'POST', path: '/admin/accounts/{account}/users' },
  admin_change_account_users: { method: 'PATCH', path: '/admin/accounts/{account}/users' },
  admin_end_account_sessions_of_users: {
    method: 'POST',
    path: '/admin/accounts/{account}/users/end_sessions',
  },
  admin_get_account_user: { method: 'GET', path: '/admin/accounts/{account}/users/{user}' },
  admin_change_account_user: { method: 'PATCH', path: '/admin/accounts/{account}/users/{user}' },
  admin_erase_user: { method: 'POST', path: '/admin/accounts/{account}/users/{user}/erase' },
  admin_invite_user: { method: 'POST', path: '/admin/accounts/{account}/users/{user}/invite' },
  admin_end_user_sessions: {
    method: 'DELETE',
    path: '/admin/accounts/{account}/users/{user}/sessions',
  },
  admin_reset_user_sign_in: {
    method: 'DELETE',
    path: '/admin/accounts/{account}/users/{user}/sign-in',
  },
  admin_create_sign_in_link: {
    method: 'POST',
    path: '/admin/accounts/{account}/users/{user}/sign-in-link',
  },
  admin_raise_token_version: {
    method: 'POST',
    path: '/admin/accounts/{account}/users/{user}/token_version',
  },
  admin_create_vpn_profile: {
    method: 'POST',
    path: '/admin/accounts/{account}/users/{user}/vpn-profile',
  },
  admin_find_address: { method: 'GET', path: '/admin/addresses' },
  admin_list_audit: { method: 'GET', path: '/admin/audit' },
  admin_open_connections: { method: 'GET', path: '/admin/connections' },
  admin_end_connections: { method: 'POST', path: '/admin/connections/end' },
  admin_find_exit_uses: { method: 'POST', path: '/admin/connections/find' },
  admin_get_doctor: { method: 'GET', path: '/admin/doctor' },
  admin_events: { method: 'GET', path: '/admin/events' },
  admin_list_geo_statuses: { method: 'GET', path: '/admin/geo' },
  admin_check_geo: { method: 'POST', path: '/admin/geo/check' },
  admin_get_geofeed: { method: 'GET', path: '/admin/geofeed.csv' },
  admin_list_held_usage: { method: 'GET', path: '/admin/held_usage' },
  admin_remove_held_usage: { method: 'DELETE', path: '/admin/held_usage/{id}' },
  admin_accept_held_usage: { method: 'POST', path: '/admin/held_usage/{id}/accept' },
  admin_get_history: { method: 'GET', path: '/admin/history' },
  admin_export_inventory: { method: 'GET', path: '/admin/inventory' },
  admin_import_inventory: { method: 'POST', path: '/admin/inventory' },
  admin_export_inventory_csv: { method: 'GET', path: '/admin/inventory.csv' },
  admin_list_invites: { method: 'GET', path: '/admin/invites' },
  admin_create_invite: { method: 'POST', path: '/admin/invites' },
  admin_remove_invite: { method: 'DELETE', path: '/admin/invites/{invite}' },
  admin_get_maintenance: { method: 'GET', path: '/admin/maintenance' },
  admin_set_maintenance: { method: 'PUT', path: '/admin/maintenance' },
  admin_set_manifest: { method: 'PUT', path: '/admin/manifests/{manifest}' },
  admin_list_nodes: { method: 'GET', path: '/admin/nodes' },
  admin_drain_nodes: { method: 'PATCH', path: '/admin/nodes' },
  admin_get_node: { method: 'GET', path: '/admin/nodes/{id}' },
  admin_change_node: { method: 'PATCH', path: '/admin/nodes/{id}' },
  admin_remove_node: { method: 'DELETE', path: '/admin/nodes/{id}' },
  admin_network_notices: { method: 'GET', path: '/admin/notices' },
  admin_list_port_schemes: { method: 'GET', path: '/admin/port_schemes' },
  admin_create_port_scheme: { method: 'POST', path: '/admin/port_schemes' },
  admin_change_port_scheme: { method: 'PATCH', path: '/admin/port_schemes/{name}' },
  admin_remove_port_scheme: { method: 'DELETE', path: '/admin/port_schemes/{name}' },
  admin_list_refusals: { method: 'GET', path: '/admin/refusals' },
  admin_list_servers: { method: 'GET', path: '/admin/servers' },
  admin_create_server: { method: 'POST', path: '/admin/servers' },
  admin_change_servers: { method: 'PATCH', path: '/admin/servers' },
  admin_list_server_places: { method: 'GET', path: '/admin/servers/places' },
  admin_remove_servers: { method: 'POST', path: '/admin/servers/remove' },
  admin_get_server: { method: 'GET', path: '/admin/servers/{server}' },
  admin_change_server: { method: 'PATCH', path: '/admin/servers/{server}' },
  admin_remove_server: { method: 'DELETE', path: '/admin/servers/{server}' },
  admin_set_server_exit: { method: 'PUT', path: '/admin/servers/{server}/exits/{ip}' },
  admin_remove_server_exit: { method: 'DELETE', path: '/admin/servers/{server}/exits/{ip}' },
  admin_explain: { method: 'POST', path: '/admin/servers/{server}/explain' },
  admin_explain_login: { method: 'POST', path: '/admin/servers/{server}/explain-login' },
  admin_create_server_vpn_key: { method: 'POST', path: '/admin/servers/{server}/vpn_key' },
  admin_get_status: { method: 'GET', path: '/admin/status' },
  admin_list_tokens: { method: 'GET', path: '/admin/tokens' },
  admin_create_token: { method: 'POST', path: '/admin/tokens' },
  admin_revoke_tokens: { method: 'POST', path: '/admin/tokens/remove' },
  admin_remove_token: { method: 'DELETE', path: '/admin/tokens/{id}' },
  admin_list_usage: { method: 'GET', path: '/admin/usage' },
  admin_get_usage_over_time: { method: 'GET', path: '/admin/usage/over_time' },
  admin_list_views: { method: 'GET', path: '/admin/views' },
  admin_save_view: { method: 'PUT', path: '/admin/views' },
  admin_remove_view: { method: 'DELETE', path: '/admin/views/{id}' },
} as const;

/** The parameters of each operation, and its response. */
export interface Operations {
  console_get_facts: {
    given: object;
    response: ConsoleFacts;
  };
  console_get_address: {
    given: object;
    response: CallerAddress;
  };
  console_list_audit: {
    given: {
      query?: {
        search?: string;
        actor?: string;
        action?: string;
        since?: string;
        until?: string;
        before?: string;
        limit?: number;
      };
    };
    response: AuditEntry[];
  };
  console_list_authlist: {
    given: {
      query?: {
        limit?: number;
        after?: string;
        sort?: 'id' | 'ip' | 'user' | 'expiry' | 'last_used_at';
        order?: 'asc' | 'desc';
        search?: string;
        ends_before?: string;
        user?: string;
        state?: 'proven' | 'unproven' | 'waits' | 'idle' | 'in_use';
      };
    };
    response: OperatorAuthlistEntry[];
  };
  console_create_authlist_entry: {
    given: { body: NewNotedAuthlistEntry };
    response: OperatorAuthlistEntry;
  };
  console_change_authlist_expiries: {
    given: { body: EntryExpiries };
    response: ChangedEntries;
  };
  console_remove_all_authlist_entries: {
    given: object;
    response: RemovedEntries;
  };
  console_add_addresses: {
    given: { body: PastedAddresses };
    response: AddedAddresses;
  };
  console_remove_authlist_entries: {
    given: { body: ChosenEntries };
    response: RemovedEntries;
  };
  console_restore_authlist: {
    given: { body: Restore };
    response: RestoreOutcome;
  };
  console_get_authlist_entry: {
    given: { path: { id: number } };
    response: OperatorAuthlistEntry;
  };
  console_change_authlist_entry: {
    given: { path: { id: number }; body: ConsoleAuthlistEntryChanges };
    response: OperatorAuthlistEntry;
  };
  console_remove_authlist_entry: {
    given: { path: { id: number } };
    response: undefined;
  };
  console_list_connections: {
    given: {
      query?: {
        by?: 'user' | 'server' | 'address';
        user?: string;
        address?: string;
        exit_ip?: string;
        server?: string;
        limit?: number;
      };
    };
    response: OpenConnections;
  };
  console_end_connections: {
    given: { body: AccountEndOrder };
    response: EndedConnections;
  };
  console_get_contract: {
    given: object;
    response: ConsoleContract;
  };
  console_list_entries: {
    given: { query: { search: string } };
    response: FoundEntry[];
  };
  console_events: {
    given: object;
    response: string;
  };
  console_look_at_invite: {
    given: { body: OneTimeCode };
    response: ConsoleInvite;
  };
  console_accept_invite: {
    given: { body: InviteAcceptance };
    response: Session;
  };
  console_list_network: {
    given: {
      query?: {
        limit?: number;
        after?: string;
        sort?:
          | 'id'
          | 'name'
          | 'place'
          | 'ip_count'
          | 'state'
          | 'current'
          | 'last_30_days'
          | 'limit_bytes'
          | 'added_at';
        order?: 'asc' | 'desc';
        search?: string;
        server?: string;
        country?: string;
        service?: 'proxy' | 'proxy-https' | 'vpn-ikev1' | 'vpn-ikev2' | 'vpn-l2tp' | 'vpn';
        state?:
          | 'ok'
          | 'warn'
          | 'crit'
          | 'unknown'
          | 'not_connected'
          | 'no_node'
          | 'misplaced'
          | 'over_limit';
        places?: string;
        view?: 'contract' | 'others' | 'can_add' | 'all';
      };
    };
    response: AnyServer[];
  };
  console_list_network_places: {
    given: object;
    response: AccountServerPlace[];
  };
  console_list_notices: {
    given: object;
    response: Notices;
  };
  console_list_overrides: {
    given: {
      query?: {
        limit?: number;
        after?: string;
        sort?: 'id' | 'hostname' | 'ip' | 'server' | 'expiry';
        order?: 'asc' | 'desc';
        search?: string;
        ends_before?: string;
        server?: string;
        state?: 'pending' | 'active' | 'expiring' | 'expired' | 'current';
      };
    };
    response: ConsoleOverride[];
  };
  console_create_override: {
    given: { body: NewNotedOverride };
    response: ConsoleOverride;
  };
  console_change_override_expiries: {
    given: { body: EntryExpiries };
    response: ChangedEntries;
  };
  console_remove_all_overrides: {
    given: object;
    response: RemovedEntries;
  };
  console_remove_overrides: {
    given: { body: ChosenEntries };
    response: RemovedEntries;
  };
  console_restore_overrides: {
    given: { body: Restore };
    response: OverridesRestoreOutcome;
  };
  console_get_override: {
    given: { path: { id: number } };
    response: OverrideOnNodes;
  };
  console_change_override: {
    given: { path: { id: number }; body: ConsoleOverrideChanges };
    response: ConsoleOverride;
  };
  console_remove_override: {
    given: { path: { id: number } };
    response: undefined;
  };
  console_change_password: {
    given: { body: PasswordChange };
    response: undefined;
  };
  console_create_proxy_token: {
    given: { body: NewConsoleProxyToken };
    response: CreatedProxyToken;
  };
  console_list_refusals: {
    given: {
      query?: {
        user?: string;
        address?: string;
        server?: string;
        reason?:
          | 'unknown_address'
          | 'bad_token'
          | 'expired_token'
          | 'old_token_version'
          | 'stale'
          | 'inactive_user'
          | 'no_proxy_flag'
          | 'server_not_on_contract'
          | 'wrong_port'
          | 'no_service'
          | 'contract_expired'
          | 'contract_suspended'
          | 'over_limit'
          | 'destination_refused'
          | 'user_expired'
          | 'not_for_user'
          | 'user_limit_reached'
          | 'other_family'
          | 'too_many_connections'
          | 'too_many_addresses'
          | 'drained'
          | 'not_ready'
          | 'other';
        since?: string;
        until?: string;
        before?: string;
        limit?: number;
        own_address?: 'true';
      };
    };
    response: Refusal[];
  };
  console_list_removals: {
    given: object;
    response: Removal[];
  };
  console_begin_second_factor: {
    given: { body: PasswordAnew };
    response: PendingSecondFactor;
  };
  console_confirm_second_factor: {
    given: { body: SecondFactorCode };
    response: RecoveryCodes;
  };
  console_remove_second_factor: {
    given: { body: PasswordAnew };
    response: undefined;
  };
  console_list_servers: {
    given: {
      query?: {
        limit?: number;
        after?: string;
        sort?:
          | 'id'
          | 'name'
          | 'place'
          | 'ip_count'
          | 'state'
          | 'current'
          | 'last_30_days'
          | 'limit_bytes'
          | 'added_at';
        order?: 'asc' | 'desc';
        search?: string;
        server?: string;
        country?: string;
        service?: 'proxy' | 'proxy-https' | 'vpn-ikev1' | 'vpn-ikev2' | 'vpn-l2tp' | 'vpn';
        state?:
          | 'ok'
          | 'warn'
          | 'crit'
          | 'unknown'
          | 'not_connected'
          | 'no_node'
          | 'misplaced'
          | 'over_limit';
        places?: string;
      };
    };
    response: OwnServer[];
  };
  console_add_servers: {
    given: { body: ChosenServers };
    response: AddedServers;
  };
  console_remove_servers: {
    given: { body: ChosenServers };
    response: RemovedServers;
  };
  console_get_server: {
    given: { path: { server: string } };
    response: OwnServer;
  };
  console_add_server: {
    given: { path: { server: string } };
    response: OwnServer;
  };
  console_remove_server: {
    given: { path: { server: string } };
    response: undefined;
  };
  console_explain_connection: {
    given: { path: { server: string }; body: OwnConnection };
    response: ConnectionDecision;
  };
  console_get_session: {
    given: object;
    response: Session;
  };
  console_sign_in: {
    given: { body: Credentials };
    response: SecondFactorWanted | Session;
  };
  console_sign_out: {
    given: object;
    response: undefined;
  };
  console_enter_by_link: {
    given: { body: OneTimeCode };
    response: Session;
  };
  console_list_sessions: {
    given: object;
    response: OwnSession[];
  };
  console_end_other_sessions: {
    given: object;
    response: undefined;
  };
  console_end_session: {
    given: { path: { id: number } };
    response: undefined;
  };
  console_list_tokens: {
    given: {
      query?: {
        limit?: number;
        after?: string;
        sort?: 'id' | 'name' | 'created_at' | 'expiry' | 'last_used_at';
        order?: 'asc' | 'desc';
        search?: string;
        ends_before?: string;
        state?: 'active' | 'expired' | 'unused';
      };
    };
    response: AccountToken[];
  };
  console_create_token: {
    given: { body: NewOwnToken };
    response: CreatedAccountToken;
  };
  console_revoke_tokens: {
    given: { body: ChosenEntries };
    response: RevokedTokens;
  };
  console_remove_token: {
    given: { path: { id: number } };
    response: undefined;
  };
  console_view_token: {
    given: { path: { id: number }; body: PasswordAnew };
    response: ViewedToken;
  };
  console_get_usage: {
    given: {
      query?: {
        from?: number;
        to?: number;
        by?: 'hour' | 'day' | 'server' | 'user';
        server?: string;
        user?: string;
      };
    };
    response: UsageReport;
  };
  console_list_users: {
    given: {
      query?: {
        limit?: number;
        after?: string;
        sort?: 'id' | 'name' | 'flags' | 'last_sign_in_at';
        order?: 'asc' | 'desc';
        search?: string;
        state?: 'active' | 'inactive' | 'limit_reached' | 'invited';
        flag?: 'proxy' | 'billing' | 'admin';
      };
    };
    response: UserSigningIn[];
  };
  console_create_user: {
    given: { body: NewAccountUser };
    response: UserSigningIn;
  };
  console_change_users: {
    given: { body: ConsoleUsersChanges };
    response: ChangedEntries;
  };
  console_end_sessions_of_users: {
    given: { body: ChosenEntries };
    response: undefined;
  };
  console_get_user: {
    given: { path: { user: string } };
    response: UserSigningIn;
  };
  console_change_user: {
    given: { path: { user: string }; body: ConsoleUserChanges };
    response: UserSigningIn;
  };
  console_invite_user: {
    given: { path: { user: string }; body: PasswordAnew };
    response: HandedCode;
  };
  console_end_user_sessions: {
    given: { path: { user: string } };
    response: undefined;
  };
  console_reset_user_sign_in: {
    given: { path: { user: string } };
    response: undefined;
  };
  console_raise_token_version: {
    given: { path: { user: string } };
    response: UserSigningIn;
  };
  console_create_vpn_profile: {
    given: { path: { user: string }; body: NewVpnProfile };
    response: VpnProfile;
  };
  console_list_views: {
    given: object;
    response: SavedView[];
  };
  console_save_view: {
    given: { body: NewSavedView };
    response: SavedView;
  };
  console_remove_view: {
    given: { path: { id: number } };
    response: undefined;
  };
  admin_list_accounts: {
    given: {
      query?: {
        limit?: number;
        after?: string;
        sort?: 'id' | 'name' | 'plan' | 'expiry' | 'usage';
        order?: 'asc' | 'desc';
        search?: string;
        ends_before?: string;
        state?: 'active' | 'over' | 'ended' | 'ending' | 'suspended';
      };
    };
    response: Account[];
  };
  admin_create_account: {
    given: { body: NewAccount };
    response: CreatedAccount;
  };
  admin_change_accounts: {
    given: { body: AccountsChanges };
    response: ChangedEntries;
  };
  admin_get_account: {
    given: { path: { account: string } };
    response: Account;
  };
  admin_change_account: {
    given: { path: { account: string }; body: AccountChanges };
    response: Account;
  };
  admin_list_account_audit: {
    given: {
      path: { account: string };
      query?: {
        search?: string;
        actor?: string;
        action?: string;
        since?: string;
        until?: string;
        before?: string;
        limit?: number;
      };
    };
    response: AuditEntry[];
  };
  admin_list_account_authlist: {
    given: {
      path: { account: string };
      query?: {
        limit?: number;
        after?: string;
        sort?: 'id' | 'ip' | 'user' | 'expiry' | 'last_used_at';
        order?: 'asc' | 'desc';
        search?: string;
        ends_before?: string;
        user?: string;
        state?: 'proven' | 'unproven' | 'waits' | 'idle' | 'in_use';
      };
    };
    response: OperatorAuthlistEntry[];
  };
  admin_create_account_authlist_entry: {
    given: { path: { account: string }; body: NewNotedAuthlistEntry };
    response: OperatorAuthlistEntry;
  };
  admin_change_account_authlist_expiries: {
    given: { path: { account: string }; body: EntryExpiries };
    response: ChangedEntries;
  };
  admin_remove_all_account_authlist_entries: {
    given: { path: { account: string } };
    response: RemovedEntries;
  };
  admin_add_account_addresses: {
    given: { path: { account: string }; body: PastedAddresses };
    response: AddedAddresses;
  };
  admin_remove_account_authlist_entries: {
    given: { path: { account: string }; body: ChosenEntries };
    response: RemovedEntries;
  };
  admin_restore_account_authlist: {
    given: { path: { account: string }; body: Restore };
    response: RestoreOutcome;
  };
  admin_get_account_authlist_entry: {
    given: { path: { account: string; id: number } };
    response: OperatorAuthlistEntry;
  };
  admin_change_account_authlist_entry: {
    given: { path: { account: string; id: number }; body: OperatorAuthlistEntryChanges };
    response: OperatorAuthlistEntry;
  };
  admin_remove_account_authlist_entry: {
    given: { path: { account: string; id: number } };
    response: undefined;
  };
  admin_list_account_connections: {
    given: {
      path: { account: string };
      query?: {
        by?: 'user' | 'server' | 'address';
        user?: string;
        address?: string;
        exit_ip?: string;
        server?: string;
        limit?: number;
      };
    };
    response: OpenConnections;
  };
  admin_end_account_connections: {
    given: { path: { account: string }; body: AccountEndOrder };
    response: EndedConnections;
  };
  admin_get_account_contract: {
    given: { path: { account: string } };
    response: ConsoleContract;
  };
  admin_list_account_entries: {
    given: { path: { account: string }; query: { search: string } };
    response: FoundEntry[];
  };
  admin_list_account_network: {
    given: {
      path: { account: string };
      query?: {
        limit?: number;
        after?: string;
        sort?:
          | 'id'
          | 'name'
          | 'place'
          | 'ip_count'
          | 'state'
          | 'current'
          | 'last_30_days'
          | 'limit_bytes'
          | 'added_at';
        order?: 'asc' | 'desc';
        search?: string;
        server?: string;
        country?: string;
        service?: 'proxy' | 'proxy-https' | 'vpn-ikev1' | 'vpn-ikev2' | 'vpn-l2tp' | 'vpn';
        state?:
          | 'ok'
          | 'warn'
          | 'crit'
          | 'unknown'
          | 'not_connected'
          | 'no_node'
          | 'misplaced'
          | 'over_limit';
        places?: string;
        view?: 'contract' | 'others' | 'can_add' | 'all';
      };
    };
    response: AnyServer[];
  };
  admin_list_account_network_places: {
    given: { path: { account: string } };
    response: AccountServerPlace[];
  };
  admin_list_account_notices: {
    given: { path: { account: string } };
    response: Notices;
  };
  admin_list_account_overrides: {
    given: {
      path: { account: string };
      query?: {
        limit?: number;
        after?: string;
        sort?: 'id' | 'hostname' | 'ip' | 'server' | 'expiry';
        order?: 'asc' | 'desc';
        search?: string;
        ends_before?: string;
        server?: string;
        state?: 'pending' | 'active' | 'expiring' | 'expired' | 'current';
      };
    };
    response: ConsoleOverride[];
  };
  admin_create_account_override: {
    given: { path: { account: string }; body: NewNotedOverride };
    response: ConsoleOverride;
  };
  admin_change_account_override_expiries: {
    given: { path: { account: string }; body: EntryExpiries };
    response: ChangedEntries;
  };
  admin_remove_all_account_overrides: {
    given: { path: { account: string } };
    response: RemovedEntries;
  };
  admin_remove_account_overrides: {
    given: { path: { account: string }; body: ChosenEntries };
    response: RemovedEntries;
  };
  admin_restore_account_overrides: {
    given: { path: { account: string }; body: Restore };
    response: OverridesRestoreOutcome;
  };
  admin_get_account_override: {
    given: { path: { account: string; id: number } };
    response: OverrideOnNodes;
  };
  admin_change_account_override: {
    given: { path: { account: string; id: number }; body: ConsoleOverrideChanges };
    response: ConsoleOverride;
  };
  admin_remove_account_override: {
    given: { path: { account: string; id: number } };
    response: undefined;
  };
  admin_list_account_refusals: {
    given: {
      path: { account: string };
      query?: {
        user?: string;
        address?: string;
        server?: string;
        reason?:
          | 'unknown_address'
          | 'bad_token'
          | 'expired_token'
          | 'old_token_version'
          | 'stale'
          | 'inactive_user'
          | 'no_proxy_flag'
          | 'server_not_on_contract'
          | 'wrong_port'
          | 'no_service'
          | 'contract_expired'
          | 'contract_suspended'
          | 'over_limit'
          | 'destination_refused'
          | 'user_expired'
          | 'not_for_user'
          | 'user_limit_reached'
          | 'other_family'
          | 'too_many_connections'
          | 'too_many_addresses'
          | 'drained'
          | 'not_ready'
          | 'other';
        since?: string;
        until?: string;
        before?: string;
        limit?: number;
      };
    };
    response: Refusal[];
  };
  admin_list_account_removals: {
    given: { path: { account: string } };
    response: Removal[];
  };
  admin_list_account_servers: {
    given: {
      path: { account: string };
      query?: {
        limit?: number;
        after?: string;
        sort?:
          | 'id'
          | 'name'
          | 'place'
          | 'ip_count'
          | 'state'
          | 'current'
          | 'last_30_days'
          | 'limit_bytes'
          | 'added_at';
        order?: 'asc' | 'desc';
        search?: string;
        server?: string;
        country?: string;
        service?: 'proxy' | 'proxy-https' | 'vpn-ikev1' | 'vpn-ikev2' | 'vpn-l2tp' | 'vpn';
        state?:
          | 'ok'
          | 'warn'
          | 'crit'
          | 'unknown'
          | 'not_connected'
          | 'no_node'
          | 'misplaced'
          | 'over_limit';
        places?: string;
      };
    };
    response: OwnServer[];
  };
  admin_add_account_servers: {
    given: { path: { account: string }; body: ChosenServers };
    response: AddedServers;
  };
  admin_remove_account_servers: {
    given: { path: { account: string }; body: ChosenServers };
    response: RemovedServers;
  };
  admin_get_account_server: {
    given: { path: { account: string; server: string } };
    response: OwnServer;
  };
  admin_set_account_server: {
    given: { path: { account: string; server: string }; body: AccountServerSettings };
    response: OwnServer;
  };
  admin_remove_account_server: {
    given: { path: { account: string; server: string } };
    response: undefined;
  };
  admin_explain_account_connection: {
    given: { path: { account: string; server: string }; body: OwnConnection };
    response: ConnectionDecision;
  };
  admin_list_account_tokens: {
    given: {
      path: { account: string };
      query?: {
        limit?: number;
        after?: string;
        sort?: 'id' | 'name' | 'created_at' | 'expiry' | 'last_used_at';
        order?: 'asc' | 'desc';
        search?: string;
        ends_before?: string;
        state?: 'active' | 'expired' | 'unused';
      };
    };
    response: AccountToken[];
  };
  admin_create_account_token: {
    given: { path: { account: string }; body: NewAccountToken };
    response: CreatedAccountToken;
  };
  admin_revoke_account_tokens: {
    given: { path: { account: string }; body: ChosenEntries };
    response: RevokedTokens;
  };
  admin_remove_account_token: {
    given: { path: { account: string; id: number } };
    response: undefined;
  };
  admin_view_account_token: {
    given: { path: { account: string; id: number } };
    response: ViewedToken;
  };
  admin_get_account_usage: {
    given: {
      path: { account: string };
      query?: {
        from?: number;
        to?: number;
        by?: 'hour' | 'day' | 'server' | 'user';
        server?: string;
        user?: string;
      };
    };
    response: UsageReport;
  };
  admin_list_account_users: {
    given: {
      path: { account: string };
      query?: {
        limit?: number;
        after?: string;
        sort?: 'id' | 'name' | 'flags' | 'last_sign_in_at';
        order?: 'asc' | 'desc';
        search?: string;
        state?: 'active' | 'inactive' | 'limit_reached' | 'invited';
        flag?: 'proxy' | 'billing' | 'admin';
      };
    };
    response: UserSigningIn[];
  };
  admin_create_account_user: {
    given: { path: { account: string }; body: NewAccountUser };
    response: UserSigningIn;
  };
  admin_change_account_users: {
    given: { path: { account: string }; body: AccountUsersChanges };
    response: ChangedEntries;
  };
  admin_end_account_sessions_of_users: {
    given: { path: { account: string }; body: ChosenEntries };
    response: undefined;
  };
  admin_get_account_user: {
    given: { path: { account: string; user: string } };
    response: UserSigningIn;
  };
  admin_change_account_user: {
    given: { path: { account: string; user: string }; body: AccountUserChanges };
    response: UserSigningIn;
  };
  admin_erase_user: {
    given: { path: { account: string; user: string } };
    response: ErasedUser;
  };
  admin_invite_user: {
    given: { path: { account: string; user: string } };
    response: HandedCode;
  };
  admin_end_user_sessions: {
    given: { path: { account: string; user: string } };
    response: undefined;
  };
  admin_reset_user_sign_in: {
    given: { path: { account: string; user: string } };
    response: undefined;
  };
  admin_create_sign_in_link: {
    given: { path: { account: string; user: string }; body: NewSignInLink };
    response: HandedCode;
  };
  admin_raise_token_version: {
    given: { path: { account: string; user: string } };
    response: UserSigningIn;
  };
  admin_create_vpn_profile: {
    given: { path: { account: string; user: string }; body: NewVpnProfile };
    response: VpnProfile;
  };
  admin_find_address: {
    given: { query: { ip: string; limit?: number } };
    response: AddressUses;
  };
  admin_list_audit: {
    given: {
      query?: {
        account?: string;
        search?: string;
        actor?: string;
        action?: string;
        since?: string;
        until?: string;
        before?: string;
        limit?: number;
      };
    };
    response: AuditEntry[];
  };
  admin_open_connections: {
    given: {
      query?: {
        account?: string;
        by?: 'account' | 'user' | 'server' | 'address';
        user?: string;
        address?: string;
        exit_ip?: string;
        server?: string;
        limit?: number;
        node?: number;
      };
    };
    response: OpenConnections;
  };
  admin_end_connections: {
    given: { body: EndOrder };
    response: EndedConnections;
  };
  admin_find_exit_uses: {
    given: { body: ExitUseQuestion };
    response: ExitUses;
  };
  admin_get_doctor: {
    given: object;
    response: Doctor;
  };
  admin_events: {
    given: object;
    response: string;
  };
  admin_list_geo_statuses: {
    given: {
      query?: { server?: string; status?: 'ok' | 'warn' | 'crit'; after?: string; limit?: number };
    };
    response: GeoStatus[];
  };
  admin_check_geo: {
    given: object;
    response: GeoCheck;
  };
  admin_get_geofeed: {
    given: object;
    response: string;
  };
  admin_list_held_usage: {
    given: object;
    response: HeldUsage[];
  };
  admin_remove_held_usage: {
    given: { path: { id: number } };
    response: undefined;
  };
  admin_accept_held_usage: {
    given: { path: { id: number } };
    response: AcceptedUsage;
  };
  admin_get_history: {
    given: {
      query?: { from?: number; to?: number; server?: string; node?: number; step?: number };
    };
    response: History;
  };
  admin_export_inventory: {
    given: object;
    response: InventoryDocument;
  };
  admin_import_inventory: {
    given: {
      query?: { dry_run?: 'true' | 'false'; remove_missing?: 'true' | 'false' };
      body: Inventory;
    };
    response: InventoryOutcome;
  };
  admin_export_inventory_csv: {
    given: object;
    response: string;
  };
  admin_list_invites: {
    given: object;
    response: OpenInvite[];
  };
  admin_create_invite: {
    given: { body: NewInvite };
    response: Invite;
  };
  admin_remove_invite: {
    given: { path: { invite: string } };
    response: undefined;
  };
  admin_get_maintenance: {
    given: object;
    response: Maintenance;
  };
  admin_set_maintenance: {
    given: { body: Maintenance };
    response: Maintenance;
  };
  admin_set_manifest: {
    given: {
      path: { manifest: string };
      query?: { dry_run?: 'true' | 'false'; remove_all?: 'true' | 'false'; version?: string };
      body: ManifestSettings;
    };
    response: Manifest;
  };
  admin_list_nodes: {
    given: {
      query?: {
        limit?: number;
        after?: string;
        sort?:
          | 'id'
          | 'name'
          | 'server'
          | 'state'
          | 'version'
          | 'seen_at'
          | 'connections'
          | 'bytes_per_second';
        order?: 'asc' | 'desc';
        search?: string;
        state?: 'lost' | 'faulty' | 'lagging' | 'drained' | 'good';
      };
    };
    response: Node[];
  };
  admin_drain_nodes: {
    given: { body: DrainedNodes };
    response: ManyNodes;
  };
  admin_get_node: {
    given: { path: { id: number } };
    response: Node;
  };
  admin_change_node: {
    given: { path: { id: number }; body: NodeChanges };
    response: Node;
  };
  admin_remove_node: {
    given: { path: { id: number } };
    response: undefined;
  };
  admin_network_notices: {
    given: object;
    response: Notices;
  };
  admin_list_port_schemes: {
    given: object;
    response: PortScheme[];
  };
  admin_create_port_scheme: {
    given: { body: NewPortScheme };
    response: PortScheme;
  };
  admin_change_port_scheme: {
    given: { path: { name: string }; body: PortSchemeChanges };
    response: PortScheme;
  };
  admin_remove_port_scheme: {
    given: { path: { name: string } };
    response: undefined;
  };
  admin_list_refusals: {
    given: {
      query?: {
        account?: string;
        user?: string;
        address?: string;
        server?: string;
        reason?:
          | 'unknown_address'
          | 'bad_token'
          | 'expired_token'
          | 'old_token_version'
          | 'stale'
          | 'inactive_user'
          | 'no_proxy_flag'
          | 'server_not_on_contract'
          | 'wrong_port'
          | 'no_service'
          | 'contract_expired'
          | 'contract_suspended'
          | 'over_limit'
          | 'destination_refused'
          | 'user_expired'
          | 'not_for_user'
          | 'user_limit_reached'
          | 'other_family'
          | 'too_many_connections'
          | 'too_many_addresses'
          | 'drained'
          | 'not_ready'
          | 'other';
        since?: string;
        until?: string;
        before?: string;
        limit?: number;
        node?: number;
      };
    };
    response: Refusal[];
  };
  admin_list_servers: {
    given: {
      query?: {
        limit?: number;
        after?: string;
        sort?: 'id' | 'name' | 'title' | 'place' | 'ip_count' | 'nodes';
        order?: 'asc' | 'desc';
        search?: string;
        country?: string;
        service?: 'proxy' | 'proxy-https' | 'vpn-ikev1' | 'vpn-ikev2' | 'vpn-l2tp';
        port_scheme?: string;
        nodes?: 'bad' | 'drained' | 'warn' | 'neutral' | 'good';
        exits?: 'ok' | 'warn' | 'crit' | 'unknown' | 'misplaced';
        places?: string;
      };
    };
    response: Server[];
  };
  admin_create_server: {
    given: { body: NewServer };
    response: ServerDetail;
  };
  admin_change_servers: {
    given: { body: ManyServerChanges };
    response: ManyServers;
  };
  admin_list_server_places: {
    given: object;
    response: ServerPlace[];
  };
  admin_remove_servers: {
    given: { body: ServerNames };
    response: ManyServers;
  };
  admin_get_server: {
    given: { path: { server: string } };
    response: ServerDetail;
  };
  admin_change_server: {
    given: { path: { server: string }; body: ServerChanges };
    response: ServerDetail;
  };
  admin_remove_server: {
    given: { path: { server: string } };
    response: undefined;
  };
  admin_set_server_exit: {
    given: { path: { server: string; ip: string }; body: ExitIpSettings };
    response: ServerDetail;
  };
  admin_remove_server_exit: {
    given: { path: { server: string; ip: string } };
    response: undefined;
  };
  admin_explain: {
    given: { path: { server: string }; body: Connection };
    response: Verdict;
  };
  admin_explain_login: {
    given: { path: { server: string }; body: VpnLogin };
    response: Verdict;
  };
  admin_create_server_vpn_key: {
    given: { path: { server: string } };
    response: ServerDetail;
  };
  admin_get_status: {
    given: object;
    response: NetworkStatus;
  };
  admin_list_tokens: {
    given: {
      query?: {
        limit?: number;
        after?: string;
        sort?: 'id' | 'name' | 'created_at' | 'last_used_at';
        order?: 'asc' | 'desc';
        search?: string;
        state?: 'used' | 'unused';
      };
    };
    response: OperatorToken[];
  };
  admin_create_token: {
    given: { body: NewOperatorToken };
    response: CreatedOperatorToken;
  };
  admin_revoke_tokens: {
    given: { body: ChosenEntries };
    response: RevokedTokens;
  };
  admin_remove_token: {
    given: { path: { id: number } };
    response: undefined;
  };
  admin_list_usage: {
    given: { query?: { after?: string; limit?: number } };
    response: AccountUsage[];
  };
  admin_get_usage_over_time: {
    given: {
      query: {
        from?: number;
        to?: number;
        by: 'account' | 'server';
        each?: 'hour' | 'day';
        parts?: number;
      };
    };
    response: UsageOverTime;
  };
  admin_list_views: {
    given: object;
    response: SavedView[];
  };
  admin_save_view: {
    given: { body: NewSavedView };
    response: SavedView;
  };
  admin_remove_view: {
    given: { path: { id: number } };
    response: undefined;
  };
}
