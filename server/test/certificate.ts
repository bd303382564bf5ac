// Certificates, made for each test: no key is kept in the repository.
import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { isIP } from 'node:net';
import { bits, der, octets, oid, pemOf, sequence, set } from '../../kit/src/acme/der.ts';
import { systemClock } from '../src/clock.ts';

const text = (tag: number, value: string) => der(tag, Buffer.from(value));

const commonName = oid('550403');
const subjectAltName = oid('551d11');
const basicConstraints = oid('551d13');
/** By the type of the key that signs, always with SHA-256. */
const signatures = {
  ec: sequence(oid('2a8648ce3d040302')),
  rsa: sequence(oid('2a864886f70d01010b'), der(0x05)),
};
type Algorithm = keyof typeof signatures;

export interface KeyPair {
  cert: string;
  key: string;
}

/** An authority as the issuer of certificates. */
interface Issuer {
  name: string;
  key: string;
}

interface Content {
  name: string;
  /** UTCTimes. */
  begins: string;
  ends: string;
  /** Its name; its own is that of a certificate that names itself. */
  issuer: string;
  extensions: Buffer[];
  algorithm?: Algorithm;
  /** The key that signs; without it the certificate's own. */
  signer?: KeyObject;
}

function issue({ name, begins, ends, issuer, extensions, algorithm, signer }: Content): KeyPair {
  const { privateKey, publicKey } =
    algorithm === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const by = signer ?? privateKey;
  const signature = signatures[by.asymmetricKeyType as Algorithm];
  const named = (common: string) => sequence(set(sequence(commonName, text(0x0c, common))));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    signature,
    named(issuer),
    sequence(text(0x17, begins), text(0x17, ends)),
    named(name),
    publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, sequence(...extensions)),
  );
  return {
    cert: pemOf(sequence(body, signature, bits(sign('sha256', body, by)))),
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  };
}

/** Hostnames, and IPv4 addresses and the loopback of IPv6. */
const alternatives = (...names: string[]) =>
  sequence(subjectAltName, octets(sequence(...names.map(alternative))));

function alternative(name: string): Buffer {
  if (isIP(name) === 0) return text(0x82, name);
  const bytes = isIP(name) === 4 ? name.split('.').map(Number) : [...Array(15).fill(0), 1];
  return der(0x87, Buffer.from(bytes));
}

const isAuthority = sequence(
  basicConstraints,
  der(0x01, Buffer.from([0xff])),
  octets(sequence(der(0x01, Buffer.from([0xff])))),
);

interface Lasting {
  algorithm?: Algorithm;
  /** From now. */
  days?: number;
  issuer?: Issuer;
  /** It may issue others, and is of no host. */
  authority?: boolean;
}

/** A new key and a certificate of one hostname or address; without an issuer it signs itself. */
export function issueCertificate(
  name: string,
  { algorithm, days = 90, issuer, authority = false }: Lasting = {},
): KeyPair {
  const now = systemClock.now();
  return issue({
    ...{ name, algorithm },
    begins: utcTime(now),
    ends: utcTime(now + days * 86_400),
    issuer: issuer?.name ?? name,
    signer: issuer && createPrivateKey(issuer.key),
    // A client trusts one that signs itself as an authority.
    extensions: [
      ...(authority ? [] : [alternatives(name)]),
      ...(authority || !issuer ? [isAuthority] : []),
    ],
  });
}

const utcTime = (seconds: number) =>
  `${new Date(seconds * 1000).toISOString().slice(2, 19).replaceAll(/\D/g, '')}Z`;

interface Wanted {
  /** UTCTimes. */
  begins?: string;
  ends?: string;
  /** Without it, the certificate names itself as its issuer. */
  issuer?: string;
  hostname?: string;
}

/**
 * A new key and a certificate for it, as PEM; `name` is whom it names. Its own key signs it,
 * whatever issuer it names.
 */
export function newCertificate(
  name: string,
  {
    begins = '200101000000Z',
    ends = '491231235959Z',
    issuer = name,
    hostname = 'localhost',
  }: Wanted = {},
): KeyPair {
  const extensions = [alternatives('127.0.0.1', hostname)];
  return issue({ name, begins, ends, issuer, extensions });
}
