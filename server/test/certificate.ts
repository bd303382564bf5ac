// Self-signed certificates for 127.0.0.1, made for each test: no key is kept in the repository.
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** One DER element: its tag, its length, its content. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: Buffer[]) => der(0x30, ...parts);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const text = (tag: number, value: string) => der(tag, Buffer.from(value));

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const commonName = oid('550403');
const subjectAltName = oid('551d11');

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
): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const named = (common: string) => sequence(der(0x31, sequence(commonName, text(0x0c, common))));
  const alternatives = sequence(der(0x87, Buffer.from([127, 0, 0, 1])), text(0x82, hostname));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    named(issuer),
    sequence(text(0x17, begins), text(0x17, ends)),
    named(name),
    publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, sequence(sequence(subjectAltName, der(0x04, alternatives)))),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey));
  const lines = sequence(body, ecdsaWithSha256, signature)
    .toString('base64')
    .match(/.{1,64}/g);
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines?.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  };
}
