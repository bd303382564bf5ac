// The agent's settings: reads the environment, returns a checked configuration, and reports every
// fault at once. Nothing else reads the environment.
import { isIP, isIPv4 } from 'node:net';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import {
  type AcmeSettings,
  acmeFolder,
  certificateFile,
  readAcme,
} from '../../kit/src/acme/settings.ts';
import { canonicalAddress, type Network, parseNetworks } from '../../kit/src/address.ts';
import {
  type Environment,
  type ListenAddress,
  logLevels,
  parseListenAddress,
  type Settings,
  settingsOf,
  settingsOrFaults,
} from '../../kit/src/settings.ts';
import type { CapSettings } from './connection_caps.ts';
import type { PortRange } from './policy/decision.ts';

export interface Config {
  /** Holds the node's token, the policy and the usage journal. */
  state_dir: string;
  engine: 'squid' | 'embedded';
  /** The address to listen on; undefined: all addresses of the machine. */
  listen_host: string | undefined;
  /** Added to every port of the port scheme. */
  port_shift: number;
  /** With ACME, the files that it maintains. */
  tls: { cert_file: string; key_file: string } | undefined;
  acme: AcmeSettings | undefined;
  connect_ports: PortRange[];
  http_ports: PortRange[];
  /** Private and reserved addresses that the operator allows. */
  allowed: Network[];
  /** Name servers to ask; empty: those of the machine. */
  dns_servers: string[];
  staleness_seconds: number;
  on_revoke: 'close' | 'leave';
  poll_seconds: number;
  report_seconds: number;
  health_seconds: number;
  /** The URL that responds with the client's address; undefined: the control plane's own. */
  echo_url: string | undefined;
  guard: 'off' | 'nftables';
  squid: string;
  vpn: VpnSettings;
  caps: CapSettings;
  connection_log: ConnectionLogSettings;
  /** A tunnel without traffic ends after this long. */
  idle_seconds: number;
  /** Squid ignores more than 128. */
  listeners_per_squid: number;
  /** Undefined: no metrics. */
  metrics_listen: ListenAddress | undefined;
  log_level: string;
  /** Device and inode of the journal's stream, as systemd passes them to its programs. */
  journal_stream: string | undefined;
  /** A sentence for each variable that looks like a setting but is not one. */
  unknown_settings: string[];
}

/** The log of who used which exit. */
export interface ConnectionLogSettings {
  /** `sources`: without destinations. */
  mode: 'off' | 'sources' | 'destinations';
  /** A day's file is removed this many days after its end. */
  days: number;
  max_bytes: number;
}

export interface VpnSettings {
  /** off: no VPN runs, whatever services the server has. */
  mode: 'on' | 'off';
  charon: string;
  xl2tpd: string;
  /** The part that encrypts the packets. */
  ipsec: 'kernel' | 'userspace';
  /** The addresses of clients inside the tunnels. */
  pool: Network;
  /** The same for IPv6, which is not routed anywhere; CIDR. */
  pool6: string;
  /** The name servers that clients get. */
  dns: string[];
}

/** Also matches a misspelt `AGENT`. */
const ownNames = /^exitward_ag/i;

/**
 * Reads the settings (all in docs/configuration.md). An empty environment is fine. Errors: one
 * SettingsFault whose message lists every fault, one per line.
 */
export function readConfig(env: Environment): Config {
  const settings = settingsOf(env);
  const { text, choice, whole, optionalWhole } = settings;
  const listen_host = readListenHost(settings);
  const state_dir = resolve(text('EXITWARD_AGENT_STATE_DIR', defaultStateDir(env)));
  const cap = (name: string) => optionalWhole(name, 1, 1_000_000);
  const config = {
    state_dir,
    engine: choice('EXITWARD_AGENT_ENGINE', ['squid', 'embedded'], 'squid'),
    listen_host,
    port_shift: whole('EXITWARD_AGENT_PORT_SHIFT', 0, -65_000, 65_000),
    ...readTls(settings, listen_host, state_dir),
    connect_ports: readPorts(settings, 'EXITWARD_AGENT_CONNECT_PORTS', '80,443,8080,8443'),
    http_ports: readPorts(settings, 'EXITWARD_AGENT_HTTP_PORTS', '80,1024-65535'),
    allowed: settings.networks('EXITWARD_AGENT_ALLOW_DESTINATIONS'),
    dns_servers: readNameServers(settings),
    staleness_seconds: whole('EXITWARD_AGENT_STALENESS_SECONDS', 86_400, 20, 10 ** 9),
    on_revoke: choice('EXITWARD_AGENT_ON_REVOKE', ['close', 'leave'], 'close'),
    poll_seconds: whole('EXITWARD_AGENT_POLL_SECONDS', 1, 1, 60),
    report_seconds: whole('EXITWARD_AGENT_REPORT_SECONDS', 3, 1, 60),
    health_seconds: whole('EXITWARD_AGENT_HEALTH_SECONDS', 60, 1, 600),
    echo_url: readEchoUrl(settings),
    guard: choice('EXITWARD_AGENT_GUARD', ['off', 'nftables'], 'off'),
    squid: text('EXITWARD_AGENT_SQUID', '/usr/sbin/squid'),
    vpn: readVpn(settings),
    listeners_per_squid: whole('EXITWARD_AGENT_LISTENERS_PER_SQUID', 126, 1, 128),
    caps: {
      all: cap('EXITWARD_AGENT_MAX_CONNECTIONS'),
      account: cap('EXITWARD_AGENT_MAX_CONNECTIONS_PER_ACCOUNT'),
      user: cap('EXITWARD_AGENT_MAX_CONNECTIONS_PER_USER'),
      address: cap('EXITWARD_AGENT_MAX_CONNECTIONS_PER_ADDRESS'),
    },
    connection_log: {
      mode: choice('EXITWARD_AGENT_CONNECTION_LOG', ['off', 'sources', 'destinations'], 'off'),
      days: whole('EXITWARD_AGENT_CONNECTION_LOG_DAYS', 30, 1, 366),
      max_bytes: whole('EXITWARD_AGENT_CONNECTION_LOG_MB', 2048, 1, 1_000_000) * 2 ** 20,
    },
    // The minimum for which a NAT keeps an idle connection (RFC 5382, 5).
    idle_seconds: whole('EXITWARD_AGENT_IDLE_SECONDS', 7440, 1, 86_400 * 365),
    metrics_listen: readMetricsListen(settings),
    log_level: choice('EXITWARD_AGENT_LOG_LEVEL', logLevels, 'info'),
    journal_stream: env.JOURNAL_STREAM,
  };
  return { ...config, unknown_settings: settings.check(ownNames) };
}

/** The sentences of `unknown_settings`; empty if other settings are wrong, which come first. */
export function unknownSettings(env: Environment): string[] {
  const [config] = settingsOrFaults(() => readConfig(env));
  return config?.unknown_settings ?? [];
}

function readListenHost({ text, fault }: Settings): string | undefined {
  const host = text('EXITWARD_AGENT_LISTEN_HOST', '*');
  if (host === '*') return undefined;
  if (isIP(host) === 0) {
    fault('EXITWARD_AGENT_LISTEN_HOST', 'an address of this machine, or * for all');
  }
  return host;
}

function readTls(settings: Settings, host: string | undefined, state_dir: string) {
  const files = settings.certificate('EXITWARD_AGENT_TLS_CERT', 'EXITWARD_AGENT_TLS_KEY');
  const acme = readAcme({
    settings,
    names: {
      contact: 'EXITWARD_AGENT_ACME',
      names: 'EXITWARD_AGENT_ACME_NAMES',
      directory: 'EXITWARD_AGENT_ACME_DIRECTORY',
      challenge: 'EXITWARD_AGENT_ACME_CHALLENGE',
      listen: 'EXITWARD_AGENT_ACME_LISTEN',
    },
    host,
    answers_itself: false,
  });
  if (acme && files) {
    settings.faults.push('EXITWARD_AGENT_ACME and EXITWARD_AGENT_TLS_CERT: set one of the two.');
  }
  const certificate = resolve(state_dir, acmeFolder, certificateFile);
  if (acme) return { acme, tls: { cert_file: certificate, key_file: certificate } };
  const tls = files && { cert_file: resolve(files.cert_file), key_file: resolve(files.key_file) };
  return { acme, tls };
}

function readPorts({ text, fault }: Settings, name: string, fallback: string): PortRange[] {
  const ranges = text(name, fallback).split(',').map(parsePorts);
  if (ranges.every((range) => range !== undefined)) return ranges;
  fault(name, 'ports and ranges such as 443,8000-8999');
  return [];
}

function readNameServers({ optional, fault }: Settings): string[] {
  const servers = optional('EXITWARD_AGENT_DNS_SERVERS')?.split(',') ?? [];
  const addresses = servers.map((server) => server.trim());
  if (!addresses.every(isNameServer)) {
    fault('EXITWARD_AGENT_DNS_SERVERS', 'addresses such as 9.9.9.9,[2620:fe::fe]:53');
  }
  return addresses;
}

function readEchoUrl({ optional, fault }: Settings): string | undefined {
  const url = optional('EXITWARD_AGENT_ECHO_URL');
  if (url !== undefined && !/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
    fault('EXITWARD_AGENT_ECHO_URL', 'an http or https URL that answers the address of its caller');
  }
  return url;
}

function readVpn(settings: Settings): VpnSettings {
  const { text, choice } = settings;
  return {
    mode: choice('EXITWARD_AGENT_VPN', ['on', 'off'], 'on'),
    charon: text('EXITWARD_AGENT_CHARON', '/usr/sbin/charon-systemd'),
    xl2tpd: text('EXITWARD_AGENT_XL2TPD', '/usr/sbin/xl2tpd'),
    ipsec: choice('EXITWARD_AGENT_VPN_IPSEC', ['kernel', 'userspace'], 'kernel'),
    pool: readVpnPool(settings),
    pool6: 'fd65:7877:6172:64::/97',
    dns: readVpnDns(settings),
  };
}

function readVpnPool({ text, fault }: Settings): Network {
  const fallback = '100.80.0.0/12';
  try {
    const [network, ...others] = parseNetworks(text('EXITWARD_AGENT_VPN_POOL', fallback));
    if (network?.[0].kind() === 'ipv4' && network[1] <= 28 && others.length === 0) return network;
  } catch {
    // Reported below.
  }
  fault('EXITWARD_AGENT_VPN_POOL', `an IPv4 network of at least 16 addresses, such as ${fallback}`);
  return parseNetworks(fallback)[0] as Network;
}

function readVpnDns({ text, fault }: Settings): string[] {
  const servers = text('EXITWARD_AGENT_VPN_DNS', '9.9.9.9,149.112.112.112').split(',');
  const addresses = servers.map((server) => server.trim());
  if (!addresses.every((address) => isIPv4(address))) {
    fault('EXITWARD_AGENT_VPN_DNS', 'IPv4 addresses such as 9.9.9.9,149.112.112.112');
  }
  return addresses;
}

function readMetricsListen({ text, fault }: Settings): ListenAddress | undefined {
  const value = text('EXITWARD_AGENT_METRICS_LISTEN', '127.0.0.1:9465');
  if (value === 'off') return undefined;
  const address = parseListenAddress(value);
  if (address && isIP(address.host) !== 0) return address;
  fault('EXITWARD_AGENT_METRICS_LISTEN', 'off, or an address and a port such as 127.0.0.1:9465');
  return undefined;
}

/** An address, with or without a port; IPv6 with a port is in brackets. */
function isNameServer(text: string): boolean {
  const [, ipv6, ipv4, port = '53'] = /^(?:\[([^\]]*:[^\]]*)\]|([\d.]+)):(\d+)$/.exec(text) ?? [];
  return canonicalAddress(ipv6 ?? ipv4 ?? text) !== undefined && parsePorts(port) !== undefined;
}

function parsePorts(text: string): PortRange | undefined {
  const match = /^\s*(\d{1,5})(?:-(\d{1,5}))?\s*$/.exec(text);
  if (!match) return undefined;
  const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])];
  return first >= 1 && first <= last && last <= 65_535 ? { first, last } : undefined;
}

/** The usual place for the state of a service, or of a user. */
function defaultStateDir(env: Environment): string {
  if (process.getuid?.() === 0) return '/var/lib/exitward-agent';
  return resolve(env.XDG_STATE_HOME || resolve(homedir(), '.local/state'), 'exitward-agent');
}
