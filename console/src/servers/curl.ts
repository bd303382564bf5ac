// Commands that fetch a page through a proxy, ready to paste into a shell.

export interface Through {
  host: string;
  port: number;
  /** `proxy`: unencrypted; `proxy-https`: over TLS. */
  service: string;
  /** Undefined: the address of the client is on the authlist. */
  credentials?: { user: string; token: string };
}

/** Host and port as in a URL. */
export function placeOf({ host, port }: Through): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The proxy as a URL, without credentials. */
export function proxyUrl(through: Through): string {
  return `${through.service === 'proxy-https' ? 'https' : 'http'}://${placeOf(through)}`;
}

/** The `curl` command for one page through the proxy. */
export function curlThrough(through: Through, url: string): string {
  const { credentials } = through;
  // The page comes first: it differs, and long tokens would hide it.
  return [
    'curl',
    shell(url),
    '-x',
    shell(proxyUrl(through)),
    ...(credentials ? ['-U', shell(`${credentials.user}:${credentials.token}`)] : []),
  ].join(' ');
}

/** A word, quoted for a shell. */
export function shell(word: string): string {
  return /^[\w./:@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
