// The configuration of a Squid, as text, and the paths of its files.
import { isIP, isIPv4, isIPv6 } from 'node:net';
import { routedIpv6 } from '../../address.ts';
import type { Config } from '../../config.ts';
import { connectionCaps, descriptorLimit, maxAccepted } from '../../connection_caps.ts';
import { statusOfFailure } from '../../failures.ts';
import { allReasons, statusOf } from '../../policy/denials.ts';
import type { Listener } from '../../policy/policy.ts';
import { refusedDestinations } from './destinations.ts';
import { headerLines } from './headers.ts';
import { meterFormatOf } from './meter_format.ts';
import { pageOf } from './pages.ts';

export interface SquidPaths {
  /**
   * Has the configuration, pages and script that Squid reads. Squid's user may not write here.
   */
  dir: string;
  conf: string;
  listeners: string;
  pid: string;
  errors: string;
  dial_script: string;
  /** Squid's user writes here. */
  logs: string;
  cache_log: string;
  meter_log: string;
  /** Only for agents. */
  seal_key: string;
  /**
   * For the decider: the rules, which it reads in addition to the policy, and the agent's socket.
   */
  rules: string;
  agent_socket: string;
}

export function squidPaths(dir: string): SquidPaths {
  return {
    dir,
    conf: `${dir}/squid.conf`,
    listeners: `${dir}/listeners.json`,
    pid: `${dir}/squid.pid`,
    errors: `${dir}/errors`,
    dial_script: `${dir}/dial.sed`,
    logs: `${dir}/logs`,
    cache_log: `${dir}/logs/cache.log`,
    meter_log: `${dir}/logs/meter.log`,
    seal_key: `${dir}/seal.key`,
    rules: `${dir}/rules.json`,
    agent_socket: `${dir}/agent.sock`,
  };
}

export interface ConfOptions {
  listeners: readonly Listener[];
  config: Pick<
    Config,
    | 'listen_host'
    | 'port_shift'
    | 'tls'
    | 'allowed'
    | 'dns_servers'
    | 'idle_seconds'
    | 'caps'
    | 'connection_log'
  >;
  paths: SquidPaths;
  /** The user that Squid runs as; undefined: the user that starts it. */
  user: string | undefined;
  /** The decider's program and its arguments. */
  decider: readonly string[];
  /** Differs for each certificate, so that a renewed one changes the configuration. */
  certificate: string | undefined;
  /** Addresses of this machine. */
  own_addresses: ReadonlySet<string>;
  /** Those of this machine, since Squid reads them only with its configuration. */
  name_servers: readonly string[];
}

/** Addresses that no machine has. Binding to them fails, so nothing leaves in the wrong family. */
const unusable = ['100::1', '240.0.0.1'];

/** The configuration. Errors: a value that Squid's syntax cannot express, by name. */
export function squidConf(options: ConfOptions): string {
  const { listeners, config, paths, user, decider, certificate, name_servers } = options;
  for (const word of [...Object.values(paths), ...decider, ...Object.values(config.tls ?? {})]) {
    if (/[\s"'\\#]/.test(word)) {
      throw new Error(`${JSON.stringify(word)} holds a space or a quote, which Squid cannot read.`);
    }
  }
  const exits = groupByExit(listeners);
  const refused = refusedDestinations(
    [...options.own_addresses, ...exits.map(([exit_ip]) => exit_ip)],
    config.allowed,
  );
  const lines = [
    '# Written by exitward-agent, which replaces it when the ports change.',
    ...(certificate === undefined ? [] : [`# certificate ${certificate}`]),
    ...exits.flatMap(([, group]) => group.map((listener) => portLine(listener, config))),
    ...(user === undefined ? [] : [`cache_effective_user ${user}`]),
    // The agent writes it, see instance.ts.
    'pid_filename none',
    `coredump_dir ${paths.logs}`,
    `cache_log ${paths.cache_log}`,
    `error_directory ${paths.errors}`,
    'visible_hostname exitward',
    ...fixed,
    ...capLines(config),

    // Only the decider grants access. Its denials have their reason as a note.
    'external_acl_type decide ttl=0 negative_ttl=0 cache=0 grace=0 children-max=1 children-startup=1' +
      ` children-idle=1 concurrency=2000 queue-size=${longestQueue}` +
      ` %>a %>p %>lp %METHOD %#DST %PORT %#>ha{Proxy-Authorization} %>la ${decider.join(' ')}`,
    'acl decided external decide',
    'acl connect method CONNECT',
    'acl http proto HTTP',
    'acl refused note reason_',
    'acl probe note probe_ 1',
    // A request that the decider let in but Squid rejects is not billed.
    'acl bad_destination annotate_transaction reason_=destination_refused account_=0',
    'acl undecided annotate_transaction reason_=not_ready account_=0',
    'acl unreadable annotate_transaction reason_=bad_token',
    'http_access deny !connect !http bad_destination',
    // Squid would echo the request.
    'acl traced method TRACE',
    'acl last_hop req_header Max-Forwards ^[[:space:]]*0+[[:space:]]*$',
    'acl not_forwarded annotate_transaction reason_=unsupported',
    'http_access deny traced last_hop not_forwarded',
    // Squid would apply it to its own cache.
    'acl purge method PURGE',
    'http_access deny purge not_forwarded',
    `deny_info ${statusOfFailure('unsupported')}:ERR_UNSUP_REQ not_forwarded`,
    // In the decider's question these would look like a missing header.
    'acl blank req_header Proxy-Authorization ^[[:space:]]*-?[[:space:]]*$',
    'http_access deny blank unreadable',
    `deny_info ${statusOf('bad_token')}:${pageOf('bad_token')} unreadable`,
    // If the decider dies during a question, there is no response, and Squid evaluates no further
    // line.
    'acl asked annotate_transaction asked_=1',
    'http_access allow asked decided',
    `deny_info ${statusOf('not_ready')}:${pageOf('not_ready')} decided`,
    ...allReasons.flatMap((reason) => [
      `acl refused_${reason} note reason_ ${reason}`,
      `http_access deny refused_${reason}`,
      `deny_info ${statusOf(reason)}:${pageOf(reason)} refused_${reason}`,
    ]),
    'http_access deny undecided',
    `deny_info ${statusOf('not_ready')}:${pageOf('not_ready')} undecided`,
    ...headerLines,

    // The destination: the dialled address is checked after an override and after DNS, with every
    // address of a name.
    'acl has_dial note dial_',
    `url_rewrite_program /usr/bin/sed -u -E -f ${paths.dial_script}`,
    `url_rewrite_children 1 startup=1 idle=1 concurrency=2000 queue-size=${longestQueue}`,
    // Passed unescaped: with escaped brackets, an IPv6 address would become a name.
    'url_rewrite_extras "%\'note{dial_}"',
    'url_rewrite_access allow has_dial',
    'url_rewrite_access deny all',
    'url_rewrite_host_header off',
    // If the script failed, or died during the question, the host was not replaced, and must not be
    // dialled.
    'acl replaced note replaced_ 1',
    'adapted_http_access deny has_dial !replaced undecided',
    `acl private dst ${refused.join(' ')}`,
    'adapted_http_access deny private !probe bad_destination',
    // A name that has no address now must not have one when it is dialled.
    'acl resolves dst all',
    'acl unresolved annotate_transaction account_=0 reason_=unresolved',
    'adapted_http_access deny !resolves unresolved',
    'deny_info 502:ERR_DNS_FAIL unresolved',
    'acl bad_family annotate_transaction reason_=other_family account_=0',
    ...familyLines(exits, config.allowed),
    `deny_info ${statusOf('other_family')}:${pageOf('other_family')} bad_family`,
    'adapted_http_access allow all',
    `deny_info ${statusOf('destination_refused')}:${pageOf('destination_refused')} bad_destination`,
    ...(config.dns_servers.length === 0
      ? [`# name servers ${name_servers.join(' ')}`]
      : [`dns_nameservers ${config.dns_servers.map(nameServer).join(' ')}`]),

    // The source: the exit of the port, and no address at all in the other family.
    ...exits.flatMap(([exit_ip, group], index) => [
      `acl exit_${index} myportname ${group.map(({ port }) => `p${port}`).join(' ')}`,
      `tcp_outgoing_address ${exit_ip} exit_${index}`,
    ]),
    ...unusable.map((ip) => `tcp_outgoing_address ${ip}`),

    `logformat meter ${meterFormatOf(config.connection_log)}`,
    // On a full disk, lines are lost instead of all connections.
    `access_log stdio:${paths.meter_log} logformat=meter on-error=drop`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Limits on connections that clients leave open. The decider has those of users and accounts. */
function capLines({ caps, idle_seconds }: ConfOptions['config']): string[] {
  return [
    `max_filedescriptors ${descriptorLimit()}`,
    // Per full address, before a request is read. The agent limits a /64 of IPv6.
    'client_db on',
    `client_ip_max_connections ${maxAccepted(connectionCaps(caps))}`,
    // For tunnels and for silent destinations. Keep-alive detects peers that are gone (see
    // portLine).
    `read_timeout ${idle_seconds} seconds`,
  ];
}

/** Denies destinations that have no address of the exit's family, and are not yet denied. */
function familyLines(
  exits: ReadonlyArray<readonly [exit_ip: string, Listener[]]>,
  allowed: Config['allowed'],
): string[] {
  const allowed6 = allowed.filter(([base]) => base.kind() === 'ipv6');
  const families = [
    // In halves: Squid thinks that the whole range includes IPv6.
    { name: 'ipv4', networks: ['0.0.0.0/1', '128.0.0.0/1'], isOf: isIPv4 },
    {
      name: 'ipv6',
      networks: [routedIpv6, ...allowed6.map(([base, bits]) => `${base.toString()}/${bits}`)],
      isOf: isIPv6,
    },
  ];
  return families.flatMap(({ name, networks, isOf }) => {
    const ports = exits.flatMap(([exit_ip, group]) => (isOf(exit_ip) ? group : []));
    if (ports.length === 0) return [];
    return [
      `acl from_${name} myportname ${ports.map(({ port }) => `p${port}`).join(' ')}`,
      `acl to_${name} dst ${networks.join(' ')}`,
      `adapted_http_access deny from_${name} !to_${name} !probe bad_family`,
    ];
  });
}

/** Most requests that wait for a helper; there are fewer connections than this. */
const longestQueue = 65_536;

/** The lines that are the same on every node. */
const fixed = [
  // Squid only carries traffic: it caches nothing, and answers no requests about itself.
  'cache deny all',
  'cache_mem 0 MB',
  'memory_pools_limit 16 MB',
  'cachemgr_passwd disable all',
  'global_internal_static off',
  // By default it has the client's hostname, which Squid would look up for every connection.
  'store_id_extras "%>a"',
  'pinger_enable off',
  'digest_generation off',
  'hosts_file none',
  'logfile_rotate 0',
  // Its debug output about questions to the decider contains clients' credentials.
  'debug_options ALL,1 82,0',
  // GET and HEAD may have a body. A target with a space could be read in two ways.
  'request_entities on',
  'uri_whitespace deny',
  // A connection to an origin serves one request: the next one may be another account's.
  'server_persistent_connections off',
  'client_lifetime 365 days',
  'half_closed_clients off',
  'request_timeout 1 minute',
  'request_start_timeout 20 seconds',
  'client_idle_pconn_timeout 1 minute',
  'connect_timeout 30 seconds',
  'shutdown_lifetime 1 second',
  // Short, so that changes of names take effect. Not 0, since the checked address must still be
  // cached when it is dialled.
  'positive_dns_ttl 5 minutes',
  'negative_dns_ttl 5 seconds',
  // Limits silent servers to five seconds: Squid doubles the interval each time, and checks the
  // time only then.
  'dns_retransmit_interval 500 milliseconds',
  'dns_timeout 2800 milliseconds',
];

/**
 * Divides the listeners among Squids, at most `maxListeners` each. Those of one exit stay together,
 * at the Squid that already has the exit and its connections. A part may be empty.
 */
export function divideListeners(
  listeners: Iterable<Listener>,
  maxListeners: number,
  before: ReadonlyArray<ReadonlySet<string>> = [],
): Listener[][] {
  const parts: Listener[][] = before.map(() => []);
  const fits = (part: Listener[], group: Listener[]) =>
    part.length === 0 || part.length + group.length <= maxListeners;
  const place = (part: Listener[] | undefined, group: Listener[]) => {
    if (!part || !fits(part, group)) return false;
    part.push(...group);
    return true;
  };
  const homeless = groupByExit(listeners).flatMap(([exit_ip, group]) => {
    const home = before.findIndex((exits) => exits.has(exit_ip));
    return place(parts[home], group) ? [] : [group];
  });
  for (const group of homeless) {
    if (!parts.some((part) => place(part, group))) parts.push([...group]);
  }
  return parts;
}

/** In the order of exits and ports, so that the same listeners always give the same text. */
function groupByExit(listeners: Iterable<Listener>): Array<[exit_ip: string, Listener[]]> {
  const exits = new Map<string, Listener[]>();
  for (const listener of [...listeners].sort((a, b) => a.port - b.port)) {
    const group = exits.get(listener.exit_ip);
    if (group) group.push(listener);
    else exits.set(listener.exit_ip, [listener]);
  }
  return [...exits];
}

function portLine({ port, tls }: Listener, config: ConfOptions['config']): string {
  const host = config.listen_host;
  const at = `${host === undefined ? '' : `${isIPv6(host) ? `[${host}]` : host}:`}${port + config.port_shift}`;
  const shared = `${at} name=p${port} tcpkeepalive=60,30,4`;
  if (!tls) return `http_port ${shared}`;
  if (!config.tls) throw new Error(`port ${port}: there is no certificate for it.`);
  const { cert_file, key_file } = config.tls;
  return `https_port ${shared} tls-cert=${cert_file} tls-key=${key_file} options=NO_SSLv3,NO_TLSv1,NO_TLSv1_1`;
}

/** Squid asks only on the usual port. */
function nameServer(text: string): string {
  const [, ip6, port6] = /^\[(.*)\]:(\d+)$/.exec(text) ?? [];
  const [, ip4, port4] = /^([\d.]+):(\d+)$/.exec(text) ?? [];
  const ip = ip6 ?? ip4 ?? text;
  const port = Number(port6 ?? port4 ?? 53);
  if (port === 53 && isIP(ip) !== 0) return ip;
  throw new Error(
    `EXITWARD_AGENT_DNS_SERVERS: ${text} is not valid; Squid asks name servers on port 53 only.`,
  );
}
