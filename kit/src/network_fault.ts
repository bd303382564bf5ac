// Why another machine was not reached, in words: those of Node and OpenSSL are for programmers.

const unknownAuthority =
  'its certificate is from an authority unknown here; for an authority of your own, set NODE_EXTRA_CA_CERTS to the file of its certificate';

/** By code: a clause that follows the name of what was to be reached. */
const clauses: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed without an answer',
  EPIPE: 'the connection was closed without an answer',
  UND_ERR_SOCKET: 'the connection was closed without an answer',
  ETIMEDOUT: 'no connection was made in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection was made in time',
  EHOSTUNREACH: 'this machine has no route to it',
  ENETUNREACH: 'this machine has no route to it',
  ENOTFOUND: 'its name has no address',
  EAI_AGAIN: 'its name could not be looked up',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; check the clock',
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'its certificate is self-signed; to trust it, set NODE_EXTRA_CA_CERTS to its file',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: `${unknownAuthority}; or it sends the certificate without the intermediate one`,
};

/** A clause such as `the connection was refused (ECONNREFUSED)`, of an error of fetch or http. */
export function networkFault(error: unknown): string {
  // fetch puts the reason into the cause.
  const { cause = error, name } = error as Error;
  const { code, message } = cause as NodeJS.ErrnoException;
  if (name === 'TimeoutError') return 'there was no answer in time';
  if (message === 'bad port') return 'HTTP clients refuse to use this port';
  if (typeof code !== 'string') return message || 'the connection failed';
  const clause = clauses[code] ?? clauseOf(code);
  return clause ? `${clause} (${code})` : message || code;
}

function clauseOf(code: string): string | undefined {
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) return 'it does not speak TLS there';
  return code.startsWith('HPE_') ? 'it does not speak HTTP there' : undefined;
}
