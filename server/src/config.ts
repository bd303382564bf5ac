// Settings: reads the environment into a checked configuration and reports every fault at once.
// Nothing else reads the environment.
import { join, resolve } from 'node:path';
import {
  type AcmeSettings,
  acmeFolder,
  certificateFile,
  isName,
  readAcme,
} from '../../kit/src/acme/settings.ts';
import type { Network } from '../../kit/src/address.ts';
import { addressText } from '../../kit/src/listening.ts';
import {
  type Environment,
  type ListenAddress,
  logLevels,
  type Settings,
  settingsOf,
  settingsOrFaults,
} from '../../kit/src/settings.ts';
import { usualConnections } from './bounds/descriptors.ts';
import type { GeoipSource } from './values/geoip.ts';

export interface Config {
  listen: ListenAddress;
  admin_listen: ListenAddress;
  /** The same object as `listen` unless set; then agents have their own listener. */
  node_listen: ListenAddress;
  metrics_listen: ListenAddress | undefined;
  /** Names of the accounts that have their own metrics. */
  metrics_accounts: string[];
  /** Origin under which people reach the console, such as https://proxies.example. */
  public_url: string;
  /** Origin under which nodes reach their interface. */
  node_url: string;
  data_dir: string;
  /** Folder of agent packages for machines that become nodes; it may be missing. */
  packages_dir: string;
  database_url: string;
  keys_file: string;
  admin_token_file: string;
  /** The folder in which a container gets its secrets; all users of the container may read them. */
  mounted_secrets: string | undefined;
  /** Undefined: the server makes no backups by itself. */
  backups: { folder: string; every_seconds: number; keep: number; verify: boolean } | undefined;
  /** With ACME, the files that it writes. */
  tls: { cert_file: string; key_file: string } | undefined;
  acme: AcmeSettings | undefined;
  tls_terminated: boolean;
  trusted_proxies: Network[];
  variants: 'both' | 'current' | 'earlier';
  addresses: 'any' | 'public';
  api_tokens: 'viewable' | 'once';
  /**
   * The principals that may put servers of the network on a contract: its own admins too, or only
   * the operator.
   */
  contract_servers: 'account' | 'operator';
  /** Whether an authlist entry has to be verified by a call from its address. */
  authlist_proof: 'off' | 'prefer' | 'require';
  max_authlist_entries: number;
  max_overrides: number;
  max_users: number;
  max_api_tokens: number;
  conflicts_per_hour: number;
  restored_entries_per_hour: number;
  server_additions_per_hour: number;
  writes_per_day: number;
  idempotency_keys_per_day: number;
  rate_limit_per_minute: number;
  health_stale_seconds: number;
  node_lost_seconds: number;
  /** Bytes per second that a node may report, in both directions, unless it has its own limit. */
  node_max_bytes_per_second: number;
  /** In the order in which a provider's files are searched. */
  geoip: GeoipSource[];
  geofeed: 'public' | 'off';
  changes_kept_seconds: number;
  audit_kept_seconds: number;
  /** 0: refusals are not stored. */
  refusals_kept_seconds: number;
  /** 0: forever. */
  usage_hours_kept_seconds: number;
  /** 0: forever. */
  usage_days_kept_seconds: number;
  audit_records_per_account: number;
  cache_bytes: number;
  max_connections: number;
  /** Undefined: the default limit, and none for loopback. */
  max_connections_per_address: number | undefined;
  request_seconds: number;
  unread_seconds: number;
  unread_bytes: number;
  stop_seconds: number;
  log_level: string;
  log_requests: 'all' | 'changes';
  /** Device and inode of the journal's stream, which systemd passes to its services. */
  journal_stream: string | undefined;
  /** A sentence for each variable that looks like a setting but is none. */
  unknown_settings: string[];
}

/** Each account has a handful of time series, and is read at each scrape. */
const maxMetricsAccounts = 200;

/** Settings of the server and its command line, not those of the agent and of the demo. */
const ownNames = /^exitward_(?!agent_|demo_|test_)/i;

/**
 * Reads the settings (all in docs/configuration.md, in the same order). An empty environment is
 * valid. Errors: one SettingsFault whose message lists every fault, a line each.
 */
export function readConfig(env: Environment): Config {
  const settings = settingsOf(env);
  const listeners = readListeners(settings);
  const storage = readStorage(settings);
  const tls = readTls(settings, listeners.listen.host, storage.data_dir);
  const urls = readUrls(settings, listeners, tls);
  checkReach(settings, listeners, tls);
  // Settings of the command line in the same file are no mistake.
  readAccess(settings, listeners.admin_listen);
  const config = {
    ...listeners,
    ...urls,
    ...storage,
    backups: readBackups(settings, storage.database_url),
    ...tls,
    acme: tls.acme && { ...tls.acme, names: certifiedNames(settings, tls.acme, urls.public_url) },
    ...readAccountRules(settings),
    ...readConnectionBounds(settings),
    ...readNodeRules(settings),
    ...readGeo(settings),
    ...readRunning(settings),
    journal_stream: env.JOURNAL_STREAM,
  };
  return { ...config, unknown_settings: settings.check(ownNames) };
}

/** The sentences of `unknown_settings`; none while there are faults, which come first. */
export function unknownSettings(env: Environment): string[] {
  const [config] = settingsOrFaults(() => readConfig(env));
  return config?.unknown_settings ?? [];
}

function readListeners(settings: Settings) {
  const { text, listenAddress } = settings;
  const listen = listenAddress('EXITWARD_LISTEN', { host: '127.0.0.1', port: 8080 });
  return {
    listen,
    admin_listen: readAdminListen(settings),
    node_listen: listenAddress('EXITWARD_NODE_LISTEN', listen),
    metrics_listen:
      text('EXITWARD_METRICS_LISTEN', '') === 'off'
        ? undefined
        : listenAddress('EXITWARD_METRICS_LISTEN', { host: '127.0.0.1', port: 9464 }),
    metrics_accounts: readMetricsAccounts(settings),
  };
}

function readAdminListen({ listenAddress }: Settings): ListenAddress {
  return listenAddress('EXITWARD_ADMIN_LISTEN', { host: '127.0.0.1', port: 8081 });
}

function readMetricsAccounts({ text, fault }: Settings): string[] {
  const names = text('EXITWARD_METRICS_ACCOUNTS', '').split(',').filter(Boolean);
  const accounts = [...new Set(names.map((name) => name.trim()))];
  if (accounts.length <= maxMetricsAccounts) return accounts;
  fault('EXITWARD_METRICS_ACCOUNTS', `at most ${maxMetricsAccounts} names of accounts`);
  return [];
}

type Listeners = ReturnType<typeof readListeners>;
type Tls = ReturnType<typeof readTls>;

/** Where people and nodes reach the server; by default at its own listeners. */
function readUrls(settings: Settings, { listen, node_listen }: Listeners, tls: Tls) {
  const scheme = tls.tls || tls.tls_terminated ? 'https' : 'http';
  const originOf = (at: ListenAddress) => `${scheme}://${addressText(at)}`;
  const public_url = readOrigin(settings, 'EXITWARD_PUBLIC_URL', originOf(listen));
  const listenerOfNodes = node_listen === listen ? public_url : originOf(node_listen);
  return { public_url, node_url: readOrigin(settings, 'EXITWARD_NODE_URL', listenerOfNodes) };
}

function readOrigin({ optional, fault }: Settings, name: string, fallback: string): string {
  const value = optional(name);
  if (value === undefined) return fallback;
  const url = URL.parse(value);
  const isSafe =
    url?.protocol === 'https:' ||
    (url?.protocol === 'http:' && isLoopback(url.hostname.replace(/[[\]]/g, '')));
  const { pathname, search, hash, username, password } = url ?? {};
  if (url && isSafe && pathname === '/' && !(search || hash || username || password)) {
    return url.origin;
  }
  fault(name, 'https and a host, such as https://proxies.example');
  return fallback;
}

/** Tokens cross no network unencrypted. */
function checkReach(
  { faults }: Settings,
  { listen, admin_listen, node_listen }: Listeners,
  { tls, tls_terminated }: Tls,
): void {
  if (tls || tls_terminated) return;
  const carryTokens = {
    EXITWARD_LISTEN: listen,
    EXITWARD_ADMIN_LISTEN: admin_listen,
    // Named after the setting that it comes from.
    ...(node_listen === listen ? {} : { EXITWARD_NODE_LISTEN: node_listen }),
  };
  for (const [name, at] of Object.entries(carryTokens)) {
    if (isLoopback(at.host)) continue;
    faults.push(
      `${name}: ${addressText(at)} is reachable from other machines and would carry tokens in the clear; set EXITWARD_ACME, or EXITWARD_TLS_CERT and EXITWARD_TLS_KEY, or EXITWARD_TLS_TERMINATED=yes when a proxy in front terminates TLS.`,
    );
  }
}

function readStorage({ text, optional, faults }: Settings) {
  const data_dir = resolve(text('EXITWARD_DATA_DIR', 'data'));
  const inData = (name: string, file: string) => resolve(text(name, resolve(data_dir, file)));
  const database_url = text('EXITWARD_DATABASE_URL', `sqlite:${resolve(data_dir, 'exitward.db')}`);
  if (!/^(sqlite:.+|postgres(ql)?:\/\/.+)$/.test(database_url)) {
    // The value may hold a password, so it is not repeated.
    faults.push(
      'EXITWARD_DATABASE_URL: expected sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE.',
    );
  } else if (isUnescaped(database_url)) {
    faults.push(
      'EXITWARD_DATABASE_URL: cannot be read; expected special characters of the password as %40 (@), %2F (/), %3F (?), %23 (#) or %25 (%).',
    );
  }
  return {
    data_dir,
    database_url,
    keys_file: inData('EXITWARD_KEYS_FILE', 'keys.json'),
    admin_token_file: inData('EXITWARD_ADMIN_TOKEN_FILE', 'admin-token'),
    packages_dir: inData('EXITWARD_PACKAGES_DIR', 'packages'),
    mounted_secrets: optional('EXITWARD_MOUNTED_SECRETS'),
  };
}

/**
 * Whether a PostgreSQL URL has special characters in its password as they are: the rest of it then
 * looks like a host, a database or a parameter.
 */
function isUnescaped(database_url: string): boolean {
  if (database_url.startsWith('sqlite:')) return false;
  const afterHost = database_url.replace(/^postgres(ql)?:\/\/[^/?#]*/, '');
  return !URL.canParse(database_url) || afterHost.includes('@');
}

function readBackups({ optional, whole, choice, faults }: Settings, database_url: string) {
  const folder = optional('EXITWARD_BACKUP_DIR');
  const backups = {
    every_seconds: whole('EXITWARD_BACKUP_EVERY_SECONDS', 86_400, 60, 366 * 86_400),
    keep: whole('EXITWARD_BACKUP_KEEP', 14, 1, 10_000),
    verify: choice('EXITWARD_BACKUP_VERIFY', ['yes', 'no'], 'yes') === 'yes',
  };
  if (folder === undefined) return undefined;
  if (!database_url.startsWith('sqlite:')) {
    faults.push(
      'EXITWARD_BACKUP_DIR: backups by the server are for SQLite; on PostgreSQL schedule pg_dump, see docs/postgresql.md.',
    );
  }
  return { folder: resolve(folder), ...backups };
}

function readTls(settings: Settings, host: string, data_dir: string) {
  const { flag, faults } = settings;
  const acme = readAcme({
    settings,
    names: {
      contact: 'EXITWARD_ACME',
      names: 'EXITWARD_ACME_NAMES',
      directory: 'EXITWARD_ACME_DIRECTORY',
      challenge: 'EXITWARD_ACME_CHALLENGE',
      listen: 'EXITWARD_ACME_LISTEN',
    },
    host,
    answers_itself: true,
  });
  const files = settings.certificate('EXITWARD_TLS_CERT', 'EXITWARD_TLS_KEY');
  const tls_terminated = flag('EXITWARD_TLS_TERMINATED');
  if (acme && (files || tls_terminated)) {
    faults.push(
      'EXITWARD_ACME: the certificate comes by ACME, from the files of EXITWARD_TLS_CERT, or is that of a proxy in front (EXITWARD_TLS_TERMINATED); set one of the three.',
    );
  }
  const certificate = join(data_dir, acmeFolder, certificateFile);
  return {
    acme,
    tls: acme ? { cert_file: certificate, key_file: certificate } : files,
    tls_terminated,
    trusted_proxies: settings.networks('EXITWARD_TRUSTED_PROXIES'),
  };
}

/** Names that a certificate authority can check: by default that of the public URL. */
function certifiedNames({ faults }: Settings, acme: AcmeSettings, public_url: string): string[] {
  if (acme.names) return acme.names;
  const { hostname } = new URL(public_url);
  if (!isName(hostname)) {
    faults.push(
      'EXITWARD_PUBLIC_URL: ACME needs the DNS name that leads here, such as https://proxies.example; or set EXITWARD_ACME_NAMES.',
    );
  }
  return [hostname];
}

function readAccountRules({ choice, whole }: Settings) {
  return {
    variants: choice('EXITWARD_VARIANTS', ['both', 'current', 'earlier'], 'both'),
    addresses: choice('EXITWARD_ADDRESSES', ['any', 'public'], 'any'),
    api_tokens: choice('EXITWARD_API_TOKENS', ['viewable', 'once'], 'viewable'),
    contract_servers: choice('EXITWARD_CONTRACT_SERVERS', ['account', 'operator'], 'account'),
    authlist_proof: choice('EXITWARD_AUTHLIST_PROOF', ['off', 'prefer', 'require'], 'prefer'),
    max_authlist_entries: whole('EXITWARD_MAX_AUTHLIST_ENTRIES', 100_000, 1),
    max_overrides: whole('EXITWARD_MAX_OVERRIDES', 100_000, 1),
    max_users: whole('EXITWARD_MAX_USERS', 10_000, 1),
    max_api_tokens: whole('EXITWARD_MAX_API_TOKENS', 100, 1),
    writes_per_day: whole('EXITWARD_WRITES_PER_DAY', 1_000_000, 1),
    idempotency_keys_per_day: whole('EXITWARD_IDEMPOTENCY_KEYS_PER_DAY', 250_000, 0),
    restored_entries_per_hour: whole('EXITWARD_RESTORED_ENTRIES_PER_HOUR', 500_000, 1),
    server_additions_per_hour: whole('EXITWARD_SERVER_ADDITIONS_PER_HOUR', 500, 1),
    conflicts_per_hour: whole('EXITWARD_CONFLICTS_PER_HOUR', 1000, 1),
    rate_limit_per_minute: whole('EXITWARD_RATE_LIMIT_PER_MINUTE', 0, 0),
  };
}

function readConnectionBounds({ whole, optionalWhole }: Settings) {
  return {
    max_connections: whole('EXITWARD_MAX_CONNECTIONS', usualConnections(), 16),
    max_connections_per_address: optionalWhole('EXITWARD_MAX_CONNECTIONS_PER_ADDRESS', 1),
    request_seconds: whole('EXITWARD_REQUEST_SECONDS', 10, 1, 3600),
    unread_seconds: whole('EXITWARD_UNREAD_SECONDS', 30, 1, 3600),
    unread_bytes: whole('EXITWARD_UNREAD_BYTES', 64 * 1024 * 1024, 0),
  };
}

function readNodeRules({ whole }: Settings) {
  return {
    health_stale_seconds: whole('EXITWARD_HEALTH_STALE_SECONDS', 900, 10),
    node_lost_seconds: whole('EXITWARD_NODE_LOST_SECONDS', 45, 30),
    node_max_bytes_per_second: whole('EXITWARD_NODE_MAX_BYTES_PER_SECOND', 2_500_000_000, 1),
    changes_kept_seconds: whole('EXITWARD_CHANGES_KEPT_SECONDS', 7 * 86_400, 60),
  };
}

function readGeo({ text, choice, fault }: Settings) {
  const geoip: GeoipSource[] = [];
  for (const pair of text('EXITWARD_GEOIP', '').split(',').filter(Boolean)) {
    const [, provider, file] = /^\s*([A-Za-z0-9][A-Za-z0-9._-]{0,62})=(\S.*?)\s*$/.exec(pair) ?? [];
    if (provider && file) geoip.push({ provider, file: resolve(file) });
    else fault('EXITWARD_GEOIP', 'PROVIDER=FILE, or several separated by commas');
  }
  return { geoip, geofeed: choice('EXITWARD_GEOFEED', ['off', 'public'], 'off') };
}

function readRunning({ choice, whole, wholeOrNone }: Settings) {
  // A node may report usage that is 40 days old, and the API shows the last 30 days by hour.
  const minUsageSeconds = 41 * 86_400;
  const usageSeconds = (name: string, days: number) =>
    wholeOrNone(name, days * 86_400, minUsageSeconds);
  return {
    refusals_kept_seconds: whole('EXITWARD_REFUSALS_KEPT_SECONDS', 7 * 86_400, 0),
    audit_kept_seconds: whole('EXITWARD_AUDIT_KEPT_SECONDS', 400 * 86_400, 86_400),
    audit_records_per_account: whole('EXITWARD_AUDIT_RECORDS_PER_ACCOUNT', 1_000_000, 1),
    usage_hours_kept_seconds: usageSeconds('EXITWARD_USAGE_HOURS_KEPT_SECONDS', 92),
    usage_days_kept_seconds: usageSeconds('EXITWARD_USAGE_DAYS_KEPT_SECONDS', 400),
    cache_bytes: whole('EXITWARD_CACHE_BYTES', 32 * 1024 * 1024, 0),
    stop_seconds: whole('EXITWARD_STOP_SECONDS', 10, 0, 3600),
    log_level: choice('EXITWARD_LOG_LEVEL', logLevels, 'info'),
    log_requests: choice('EXITWARD_LOG_REQUESTS', ['all', 'changes'], 'changes'),
  };
}

/** How the command line reaches a running server. */
export interface OperatorAccess {
  /** Undefined: read it from the file, which a server on this machine writes. */
  admin_url: string | undefined;
  admin_url_file: string;
  /** Where a server with these settings listens for operators. */
  usual_admin_url: string;
  /** Send the token over plain http to another machine as well. */
  admin_insecure: boolean;
  /** Undefined: read it from the file. */
  admin_token: string | undefined;
  admin_token_file: string;
  /** The folder in which a container gets its secrets; all users of the container may read them. */
  mounted_secrets: string | undefined;
}

/** The file in the data folder that has the operators' URL of its server. */
export function adminUrlFile(data_dir: string): string {
  return resolve(data_dir, 'admin-url');
}

/** Reads the settings of the command line; it ignores the rest of the environment. */
export function readOperatorAccess(env: Environment): OperatorAccess {
  const settings = settingsOf(env);
  return readAccess(settings, readAdminListen(settings));
}

function readAccess({ text, optional }: Settings, admin_listen: ListenAddress): OperatorAccess {
  const data_dir = text('EXITWARD_DATA_DIR', 'data');
  const token_file = text('EXITWARD_ADMIN_TOKEN_FILE', resolve(data_dir, 'admin-token'));
  // Operators' own listener has TLS on other addresses alone.
  const scheme = isLoopback(admin_listen.host) ? 'http' : 'https';
  return {
    admin_url: optional('EXITWARD_ADMIN_URL'),
    admin_url_file: adminUrlFile(data_dir),
    usual_admin_url: `${scheme}://${addressText(admin_listen)}`,
    admin_insecure: text('EXITWARD_ADMIN_INSECURE', 'no') === 'yes',
    admin_token: optional('EXITWARD_ADMIN_TOKEN'),
    admin_token_file: resolve(token_file),
    mounted_secrets: optional('EXITWARD_MOUNTED_SECRETS'),
  };
}

/** The name or address in a URL. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}

/** True for an address that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
