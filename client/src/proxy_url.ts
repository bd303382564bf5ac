// The address of a proxy, as programs expect it: http://user:token@host:port.

/** The part of a server's record that is needed, from `client.contract.servers`. */
export interface ProxyServer {
  hostname: string;
  ips: ReadonlyArray<{ ip: string; port_base: number }>;
}

export interface ProxyUrlOptions {
  server: ProxyServer;
  /** The address of the exit IP to use; default: the server's first. */
  exit?: string;
  /** The user's name. Leave it and `token` out when your address is on the authlist. */
  user?: string;
  /** A proxy access token of that user, from `client.users.createToken`. */
  token?: string;
  /** Whether to use custom DNS entries: the override port, 500 higher. */
  override?: boolean;
  /** `proxy-https` uses TLS to the proxy, and the URL begins with `https:`. */
  service?: 'proxy' | 'proxy-https';
  /**
   * The base of the account's port scheme, one of `client.index()`; default: 10000, or 12000 for
   * `proxy-https`.
   */
  basePort?: number;
}

const overrideOffset = 500;
const defaultBasePorts = { proxy: 10_000, 'proxy-https': 12_000 };

/**
 * The URL of an exit IP's proxy. The port is the base of the port scheme, plus the exit IP's
 * `port_base`, plus 500 for the override port.
 * Errors: RangeError for an exit that the server does not have, or a port that does not exist.
 *
 * @example
 * ```ts
 * const server = await client.contract.servers.get('fra1');
 * const url = proxyUrl({ server, exit: '192.0.2.2', user: 'alice', token: 'ewt_secret' });
 * console.log(url); // http://alice:ewt_secret@fra1.exitward.example:10002
 * console.log(proxyUrl({ server, override: true })); // http://fra1.exitward.example:10501
 * ```
 */
export function proxyUrl({
  server,
  exit,
  user,
  token,
  override = false,
  service = 'proxy',
  basePort = defaultBasePorts[service],
}: ProxyUrlOptions): string {
  const exitIp = exit === undefined ? server.ips[0] : server.ips.find(({ ip }) => ip === exit);
  if (!exitIp) {
    const exitIps = server.ips.map(({ ip }) => ip).join(', ') || 'none';
    throw new RangeError(
      `exit: ${server.hostname} has no exit IP ${exit ?? ''}; it has ${exitIps}`,
    );
  }
  if ((user === undefined) !== (token === undefined)) {
    throw new TypeError('user, token: expected both, or neither');
  }
  const port = basePort + exitIp.port_base + (override ? overrideOffset : 0);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new RangeError(`basePort: ${basePort} makes ${port}, which is not a port`);
  }
  const pair =
    user === undefined || token === undefined
      ? ''
      : `${encodeURIComponent(user)}:${encodeURIComponent(token)}@`;
  return `${service === 'proxy' ? 'http' : 'https'}://${pair}${server.hostname}:${port}`;
}
