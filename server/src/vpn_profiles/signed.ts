// Signed files: CMS SignedData (RFC 5652) around a file, with which a device shows its origin.
import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { ObjectIdentifier, OctetString, UTCTime } from 'asn1js';
import {
  Attribute,
  Certificate,
  ContentInfo,
  EncapsulatedContentInfo,
  IssuerAndSerialNumber,
  SignedAndUnsignedAttributes,
  SignedData,
  SignerInfo,
} from 'pkijs';
import { certificatesOf } from '../../../kit/src/certificate.ts';
import type { Certificate as KeyPair } from '../tls/certificate.ts';

const digest = 'SHA-256';
const curves: Record<string, string> = {
  prime256v1: 'P-256',
  secp384r1: 'P-384',
  secp521r1: 'P-521',
};

/**
 * The file inside its signature, in DER; undefined for a type of key that devices do not know.
 * `now`: epoch seconds.
 */
export async function signed(
  content: Buffer,
  { cert, key }: KeyPair,
  now: number,
): Promise<Buffer | undefined> {
  const algorithm = algorithmOf(createPrivateKey(key));
  if (!algorithm) return undefined;
  const chain = certificatesOf(cert.toString()).map((pem) =>
    Certificate.fromBER(bytes(new X509Certificate(pem).raw)),
  );
  const [certificate] = chain as [Certificate];
  const { issuer, serialNumber } = certificate;
  const data = new SignedData({
    version: 1,
    encapContentInfo: new EncapsulatedContentInfo({
      eContentType: ContentInfo.DATA,
      eContent: new OctetString({ valueHex: bytes(content) }),
    }),
    signerInfos: [
      new SignerInfo({
        version: 1,
        sid: new IssuerAndSerialNumber({ issuer, serialNumber }),
        // In the order that DER requires.
        signedAttrs: new SignedAndUnsignedAttributes({
          type: 0,
          attributes: [
            attribute('1.2.840.113549.1.9.3', new ObjectIdentifier({ value: ContentInfo.DATA })),
            attribute('1.2.840.113549.1.9.5', new UTCTime({ valueDate: new Date(now * 1000) })),
            attribute('1.2.840.113549.1.9.4', new OctetString({ valueHex: digestOf(content) })),
          ],
        }),
      }),
    ],
    certificates: chain,
  });
  const signingKey = createPrivateKey(key).toCryptoKey(algorithm, false, ['sign']);
  await data.sign(signingKey, 0, digest);
  const whole = new ContentInfo({
    contentType: ContentInfo.SIGNED_DATA,
    content: data.toSchema(true),
  });
  return Buffer.from(whole.toSchema().toBER());
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject) {
  if (asymmetricKeyType === 'rsa') return { name: 'RSASSA-PKCS1-v1_5', hash: digest };
  const namedCurve = curves[asymmetricKeyDetails?.namedCurve ?? ''];
  return namedCurve === undefined ? undefined : { name: 'ECDSA', namedCurve };
}

function attribute(type: string, value: ObjectIdentifier | OctetString | UTCTime): Attribute {
  return new Attribute({ type, values: [value] });
}

const digestOf = (content: Buffer) => bytes(createHash('sha256').update(content).digest());

/** Only the buffer's own bytes: a buffer may be a part of a larger one. */
function bytes(buffer: Buffer): ArrayBuffer {
  return new Uint8Array(buffer).buffer;
}
