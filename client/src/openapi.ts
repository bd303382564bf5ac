// The records and operations of the account API: written by `npm run client-types` from docs/openapi.json.

export interface AuthlistEntry {
  /** Unique identifier used to manage the entry. */
  id: number;
  /** IP address. */
  ip: string;
  /** Username that connections from `ip` are assigned to. */
  user: string;
  /** Whether the associated user is an active proxy user. */
  user_active: boolean;
  /** When the entry expires. */
  expiry: number;
}

export interface AuthlistEntryChanges {
  /** IP address: one IPv4 or IPv6 address. */
  ip?: string;
  /** Username that connections from the address are assigned to. */
  user?: string;
  /** When the entry expires, epoch seconds; at most 10 years from now. */
  expiry?: number;
  /** Ignored. */
  id?: unknown;
  /** Ignored. */
  user_active?: unknown;
}

export interface Contract {
  /** Contract/account name. */
  name: string;
  /** Plan name. */
  plan: string;
  period: {
    /** Start of the running billing period. */
    start: number;
    /** Its end, where the next one starts. */
    end: number;
    /** Bytes of the whole network in this period. */
    usage: number;
    /** Bytes that the contract allows in a period. */
    limit: number;
  };
  /** When the contract ends. */
  expiry: number;
}

export interface ContractServer {
  /** Short server name. */
  server: string;
  /** Fully-qualified domain name of the server. */
  hostname: string;
  /** Server title, usually the closest metro area. Current variant only. */
  title?: string;
  /** Services available. Current variant: proxy, proxy-https, vpn-ikev1, vpn-ikev2, vpn-l2tp. Earlier variant: proxy, vpn. */
  services: string[];
  usage?: Usage;
  location?: Location;
  /** Exit IP addresses of the server. */
  ips: ExitIp[];
}

export interface ExitIp {
  /** Exit IP address. */
  ip: string;
  /** Value added to the account port scheme to reach this IP. */
  port_base: number;
  /** Server availability. */
  status: 'ok' | 'warn' | 'crit' | 'unknown';
  /** Last status check; 0 if there was none. */
  status_time: number;
  /** By third-party geo-IP provider. */
  geostatus?: {
    [name: string]: {
      /** ok, warn or crit. */
      status: string;
      /** Last location check. */
      status_time: number;
    };
  };
}

export interface Index {
  /** Contract/account name. */
  name: string;
  /** The variant of the interface that this request speaks. */
  variant: 'current' | 'earlier';
  /** The version of the interface. */
  version: 'v0';
  /** Paths of this variant, by what they list. */
  links: {
    [name: string]: string;
  };
  /** The port scheme of the account. */
  ports: {
    /** Plus an exit IP's `port_base`: the port that leads to it. */
    base: number;
    /** What is served there: plain or over TLS. */
    service: 'proxy' | 'proxy-https';
  }[];
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

export interface NetworkServer {
  /** Fully-qualified domain name of the server. */
  hostname: string;
  /** Server title, usually the closest metro area. Current variant only. */
  title?: string;
  /** Number of exit IP addresses available. */
  ip_count: number;
  /** Services available. Current variant: proxy, proxy-https, vpn-ikev1, vpn-ikev2, vpn-l2tp. Earlier variant: proxy, vpn. */
  services: string[];
  location?: Location;
}

export interface NewAuthlistEntry {
  /** IP address; the one that the request comes from when omitted. */
  ip?: string;
  /** Username that connections from the address are assigned to. */
  user: string;
  /** When the entry expires, epoch seconds; at most 10 years from now. */
  expiry: number;
}

export interface NewOverride {
  /** Short name of a server that is on the contract. */
  server: string;
  /** Hostname to override. */
  hostname: string;
  /** IP address the hostname resolves to. */
  ip: string;
  /** When the entry expires, epoch seconds; at most 10 years from now. */
  expiry: number;
}

export interface NewProxyToken {
  /** A user name or user id. The user must have the proxy flag. */
  user: number | string;
  /** Token lifetime in seconds; the contract default when omitted. */
  expire?: number;
}

export interface Override {
  /** Unique identifier used to manage the entry. */
  id: number;
  /** Short name of the proxy server where the entry is active. */
  server: string;
  /** Hostname that is overridden. */
  hostname: string;
  /** IP address the hostname resolves to. */
  ip: string;
  /** When the entry expires. */
  expiry: number;
  /** Whether it is wanted, and applied by the nodes of the server. */
  status: 'pending' | 'active' | 'expiring' | 'expired';
}

export interface OverrideChanges {
  /** Short name of a server that is on the contract. */
  server?: string;
  /** Hostname to override. */
  hostname?: string;
  /** IP address the hostname resolves to. */
  ip?: string;
  /** When the entry expires, epoch seconds; at most 10 years from now. */
  expiry?: number;
  /** Ignored. */
  id?: unknown;
  /** Ignored. */
  status?: unknown;
}

export interface ProxyToken {
  /** Opaque proxy access token. */
  token: string;
}

export interface Usage {
  /** Bytes. Current variant: the limit of this server if detailed server billing applies, otherwise the network limit. Earlier variant: the server limit for the account. */
  limit: number;
  /** Bytes in the current billing period. */
  current: number;
  /** Bytes in the last 30 days. */
  last_30_days: number;
}

export interface User {
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
  get_index: { method: 'GET', path: '/v0' },
  get_contract: { method: 'GET', path: '/v0/contract' },
  list_authlist_entries: { method: 'GET', path: '/v0/contract/ip-authlist' },
  create_authlist_entry: { method: 'POST', path: '/v0/contract/ip-authlist' },
  remove_all_authlist_entries: { method: 'DELETE', path: '/v0/contract/ip-authlist' },
  get_authlist_entry: { method: 'GET', path: '/v0/contract/ip-authlist/{id}' },
  change_authlist_entry: { method: 'PATCH', path: '/v0/contract/ip-authlist/{id}' },
  remove_authlist_entry: { method: 'DELETE', path: '/v0/contract/ip-authlist/{id}' },
  list_overrides: { method: 'GET', path: '/v0/contract/overrides' },
  create_override: { method: 'POST', path: '/v0/contract/overrides' },
  remove_all_overrides: { method: 'DELETE', path: '/v0/contract/overrides' },
  get_override: { method: 'GET', path: '/v0/contract/overrides/{id}' },
  change_override: { method: 'PATCH', path: '/v0/contract/overrides/{id}' },
  remove_override: { method: 'DELETE', path: '/v0/contract/overrides/{id}' },
  list_contract_servers: { method: 'GET', path: '/v0/contract/servers' },
  get_contract_server: { method: 'GET', path: '/v0/contract/servers/{server}' },
  list_whitelist_entries: { method: 'GET', path: '/v0/contract/whitelist' },
  create_whitelist_entry: { method: 'POST', path: '/v0/contract/whitelist' },
  remove_all_whitelist_entries: { method: 'DELETE', path: '/v0/contract/whitelist' },
  get_whitelist_entry: { method: 'GET', path: '/v0/contract/whitelist/{id}' },
  change_whitelist_entry: { method: 'PATCH', path: '/v0/contract/whitelist/{id}' },
  remove_whitelist_entry: { method: 'DELETE', path: '/v0/contract/whitelist/{id}' },
  list_servers: { method: 'GET', path: '/v0/servers' },
  list_users: { method: 'GET', path: '/v0/users' },
  create_proxy_token: { method: 'POST', path: '/v0/users/token' },
} as const;

/** The parameters of each operation, and its response. */
export interface Operations {
  get_index: {
    given: object;
    response: Index;
  };
  get_contract: {
    given: object;
    response: Contract;
  };
  list_authlist_entries: {
    given: { query?: { ip?: string; user?: string } };
    response: AuthlistEntry[];
  };
  create_authlist_entry: {
    given: { body: NewAuthlistEntry };
    response: AuthlistEntry;
  };
  remove_all_authlist_entries: {
    given: object;
    response: undefined;
  };
  get_authlist_entry: {
    given: { path: { id: number } };
    response: AuthlistEntry;
  };
  change_authlist_entry: {
    given: { path: { id: number }; body: AuthlistEntryChanges };
    response: AuthlistEntry;
  };
  remove_authlist_entry: {
    given: { path: { id: number } };
    response: undefined;
  };
  list_overrides: {
    given: { query?: { ip?: string; server?: string } };
    response: Override[];
  };
  create_override: {
    given: { body: NewOverride };
    response: Override;
  };
  remove_all_overrides: {
    given: object;
    response: undefined;
  };
  get_override: {
    given: { path: { id: number } };
    response: Override;
  };
  change_override: {
    given: { path: { id: number }; body: OverrideChanges };
    response: Override;
  };
  remove_override: {
    given: { path: { id: number } };
    response: undefined;
  };
  list_contract_servers: {
    given: { query?: { detail?: string; server?: string } };
    response: ContractServer[];
  };
  get_contract_server: {
    given: { path: { server: string }; query?: { detail?: string } };
    response: ContractServer;
  };
  list_whitelist_entries: {
    given: { query?: { ip?: string; user?: string } };
    response: AuthlistEntry[];
  };
  create_whitelist_entry: {
    given: { body: NewAuthlistEntry };
    response: AuthlistEntry;
  };
  remove_all_whitelist_entries: {
    given: object;
    response: undefined;
  };
  get_whitelist_entry: {
    given: { path: { id: number } };
    response: AuthlistEntry;
  };
  change_whitelist_entry: {
    given: { path: { id: number }; body: AuthlistEntryChanges };
    response: AuthlistEntry;
  };
  remove_whitelist_entry: {
    given: { path: { id: number } };
    response: undefined;
  };
  list_servers: {
    given: { query?: { detail?: string } };
    response: NetworkServer[];
  };
  list_users: {
    given: object;
    response: User[];
  };
  create_proxy_token: {
    given: { body: NewProxyToken };
    response: ProxyToken;
  };
}
