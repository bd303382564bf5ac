// The X.509 structures that ACME needs: certificate requests and self-signed certificates.
import { createHash, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';
import { bits, der, octets, oid, pemOf, sequence, set } from './der.ts';

const isTrue = Buffer.from([0x01, 0x01, 0xff]);

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const commonName = oid('550403');
const subjectAltName = oid('551d11');
const extensionRequest = oid('2a864886f70d01090e');
/** id-pe-acmeIdentifier (RFC 8737, 3). */
const acmeIdentifier = oid('2b0601050507011f');

/** GeneralizedTime holds years past 2049, too. */
function timeOf(seconds: number): Buffer {
  const text = new Date(seconds * 1000).toISOString().replace(/[-:T]|\.\d+/g, '');
  return der(0x18, Buffer.from(text));
}

/** Names as the subject alternative names of a certificate. */
const alternatives = (names: readonly string[]) =>
  sequence(
    subjectAltName,
    octets(sequence(...names.map((name) => der(0x82, Buffer.from(name, 'latin1'))))),
  );

const publicPart = (key: KeyObject) => Buffer.from(key.export({ format: 'der', type: 'spki' }));

function signed(body: Buffer, key: KeyObject): Buffer {
  return sequence(body, ecdsaWithSha256, bits(sign('sha256', body, key)));
}

export interface KeyPairOf {
  /** P-256. */
  privateKey: KeyObject;
  publicKey: KeyObject;
}

/** A request for a certificate for these names (PKCS #10, RFC 2986), in DER. */
export function certificateRequest(names: readonly string[], keys: KeyPairOf): Buffer {
  const attribute = sequence(extensionRequest, set(sequence(alternatives(names))));
  const version = der(0x02, Buffer.from([0]));
  const body = sequence(version, sequence(), publicPart(keys.publicKey), der(0xa0, attribute));
  return signed(body, keys.privateKey);
}

export interface SelfSigned {
  names: readonly string[];
  keys: KeyPairOf;
  /** Epoch seconds. */
  not_before: number;
  not_after: number;
  /** Makes it the response to a tls-alpn-01 challenge (RFC 8737). */
  key_authorization?: string;
}

/** A certificate that its own key signs, as PEM. */
export function selfSigned(options: SelfSigned): string {
  const { names, keys, not_before, not_after, key_authorization } = options;
  const digest = createHash('sha256').update(key_authorization ?? '');
  const identifier = sequence(acmeIdentifier, isTrue, octets(octets(digest.digest())));
  const extensions = [alternatives(names), ...(key_authorization ? [identifier] : [])];
  const subject = sequence(set(sequence(commonName, der(0x0c, Buffer.from('Exitward')))));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    // Positive, without a leading zero.
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    ecdsaWithSha256,
    subject,
    sequence(timeOf(not_before), timeOf(not_after)),
    subject,
    publicPart(keys.publicKey),
    der(0xa3, sequence(...extensions)),
  );
  return pemOf(signed(body, keys.privateKey));
}

/** The facts of a certificate. */
export interface CertificateFacts {
  names: string[];
  /** Epoch seconds, both. */
  not_before: number;
  not_after: number;
  is_self_signed: boolean;
  fingerprint: string;
}

/** The facts of the first certificate in a PEM text. Errors: the text has none. */
export function readFacts(pem: string): CertificateFacts {
  const certificate = new X509Certificate(pem);
  const { subjectAltName: written = '', validFrom, validTo, fingerprint256 } = certificate;
  const names = [...written.matchAll(/(?:^|, )(?:DNS|IP Address):([^,]+)/g)];
  return {
    names: names.map(([, name = '']) => name.toLowerCase()),
    not_before: Date.parse(validFrom) / 1000,
    not_after: Date.parse(validTo) / 1000,
    is_self_signed:
      certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey),
    fingerprint: fingerprint256,
  };
}
