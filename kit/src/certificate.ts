// A certificate and its key: do they belong together, do clients that verify it accept it, and is
// it time for another one?
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { duplexPair } from 'node:stream';
import { connect, createSecureContext, getCACertificates, TLSSocket } from 'node:tls';

/** In PEM; the rest of the chain follows the certificate. */
export interface KeyPair {
  cert: string | Buffer;
  key: string | Buffer;
}

/**
 * Where Debian keeps the authorities that the machine trusts, its operator's own included.
 * OpenSSL's own way to them would read each of 300 files.
 */
const storeFile = '/etc/ssl/certs/ca-certificates.crt';
const longestNoticeSeconds = 14 * 86_400;
/** Their times are judged by the program's own clock, and reported elsewhere. */
const timeCodes = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);

/** In epoch seconds. */
export interface Validity {
  not_before: number;
  not_after: number;
}

/** From the dates as Node writes them. */
export function validityOf(from: string, until: string): Validity {
  return { not_before: Date.parse(from) / 1000, not_after: Date.parse(until) / 1000 };
}

/**
 * Epoch seconds from which a certificate ends soon: if it has not been renewed by then, it will not
 * be by itself. ACME renews after two thirds of a life, which may be six days.
 */
export function renewalDue({ not_before, not_after }: Validity): number {
  return Math.floor(not_after - Math.min(longestNoticeSeconds, (not_after - not_before) / 6));
}

/** Errors: they cannot be served together; the message is a clause that says why. */
export function requirePair({ cert, key }: KeyPair): void {
  try {
    // The context of a server takes a certificate and a key of different algorithms.
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
      throw new Error('the key is not that of the certificate');
    }
    createSecureContext({ cert, key });
  } catch (error) {
    throw new Error((error as Error).message.replace(/^error:[^:]*:[^:]*::?/, ''));
  }
}

/** Whether clients that verify a pair accept it, judged again after each change. */
export class Trust {
  #judged = '';
  #rejection: string | undefined;

  /** Why they reject the last pair, as a clause; undefined: they accept it. */
  get rejection(): string | undefined {
    return this.#rejection;
  }

  /** Judges a pair for the name or address that clients dial. */
  async judge(pair: KeyPair, host: string): Promise<void> {
    const store = await stat(storeFile).catch(() => undefined);
    const state = `${pair.cert}\n${host}\n${store?.mtimeMs}`;
    if (state === this.#judged) return;
    this.#rejection = await rejectionOf(pair, host);
    this.#judged = state;
  }
}

/** By a handshake with itself, so that OpenSSL judges as it does in clients. */
async function rejectionOf(pair: KeyPair, host: string): Promise<string | undefined> {
  const store = await readFile(storeFile, 'latin1').catch(() => undefined);
  const ca = [...getCACertificates('default'), ...(store === undefined ? [] : [store])];
  const [near, far] = duplexPair();
  const server = new TLSSocket(far, { isServer: true, secureContext: createSecureContext(pair) });
  const client = connect({ socket: near, host, ca, rejectUnauthorized: false });
  try {
    await once(client, 'secureConnect');
    // A code, whatever its type says.
    const code = client.authorizationError as unknown as string | undefined;
    return code ? clauseOf(code, pair, host) : disorderOf(pair);
  } finally {
    client.destroy();
    server.destroy();
  }
}

function clauseOf(code: string, pair: KeyPair, host: string): string | undefined {
  const { issuer, subjectAltName, subject } = new X509Certificate(pair.cert);
  if (timeCodes.has(code)) return undefined;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = (subjectAltName ?? subject).replaceAll(/(DNS|IP Address):/g, '');
    return `it is for ${names}, not for ${host}`;
  }
  if (code === 'DEPTH_ZERO_SELF_SIGNED_CERT') return 'it is signed by itself';
  if (/ISSUER|LEAF_SIGNATURE|SELF_SIGNED/.test(code)) {
    const authority = issuer.replaceAll('\n', ', ');
    return `nothing links it to an authority that this machine trusts; its issuer is ${authority}`;
  }
  return code;
}

/** OpenSSL sorts a chain; not all clients do. */
function disorderOf({ cert }: KeyPair): string | undefined {
  const chain = certificatesOf(cert.toString()).map((pem) => new X509Certificate(pem));
  const isSorted = chain.every((certificate, at) => {
    const issuer = chain[at + 1];
    return issuer === undefined || certificate.checkIssued(issuer);
  });
  return isSorted ? undefined : 'the certificates in its file are not in order';
}

/** The certificates of a PEM text, one by one. */
export function certificatesOf(pem: string): string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
}
