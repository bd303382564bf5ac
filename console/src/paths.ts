// The addresses of the console. They are fragments of one page, so that the secrets of one-time
// links reach no log.

/** The name in a part of an address, as the functions below encode it: "a%40b" is a@b. */
export function nameIn(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The name that follows a path in the current one: "bob" of "/users/bob" below "/users". */
export function nameBelow(path: string, here: string): string | undefined {
  return here.startsWith(`${path}/`) ? nameIn(here.slice(path.length + 1)) : undefined;
}

/** A path with the state of its view: `addressOf(paths.authlist, { user: 'bob' })`. */
export function addressOf(path: string, state: URLSearchParams | Record<string, string>): string {
  const search = new URLSearchParams(state).toString();
  return search ? `${path}?${search}` : path;
}

export const paths = {
  overview: '/',
  servers: '/servers',
  server: (name: string, tab?: string) =>
    `/servers/${encodeURIComponent(name)}${tab ? `/${tab}` : ''}`,
  usage: '/usage',
  connections: '/connections',
  authlist: '/authlist',
  dns: '/dns',
  test: '/test',
  refusals: '/refusals',
  users: '/users',
  user: (name: string) => `/users/${encodeURIComponent(name)}`,
  tokens: '/tokens',
  activity: '/activity',
  signIn: '/sign-in',
  /** One-time links: an invitation, and a sign-in. */
  invite: (code: string) => `/invite/${code}`,
  enter: (code: string) => `/enter/${code}`,
  operator: {
    overview: '/operator',
    accounts: '/operator/accounts',
    account: (name: string, part?: string) =>
      `/operator/accounts/${encodeURIComponent(name)}${part ? `/${part}` : ''}`,
    servers: '/operator/servers',
    server: (name: string) => `/operator/servers/${encodeURIComponent(name)}`,
    nodes: '/operator/nodes',
    node: (id: number) => `/operator/nodes/${id}`,
    geofeed: '/operator/geo',
    usage: '/operator/usage',
    connections: '/operator/connections',
    addresses: '/operator/addresses',
    exit_uses: '/operator/exit-uses',
    test: '/operator/test',
    refusals: '/operator/refusals',
    audit: '/operator/audit',
    port_schemes: '/operator/port-schemes',
    tokens: '/operator/tokens',
    control_plane: '/operator/control-plane',
  },
} as const;

/** Former addresses of pages, with those of today. */
export const moved = { '/operator/authlist': paths.operator.addresses } as const;
