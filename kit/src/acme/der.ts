// DER, written: the elements that certificates and requests for them consist of.

/** One DER element: its tag, its length, its content. */
export function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

export const sequence = (...parts: Buffer[]) => der(0x30, ...parts);
export const set = (...parts: Buffer[]) => der(0x31, ...parts);
export const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
export const octets = (content: Buffer) => der(0x04, content);
export const bits = (content: Buffer) => der(0x03, Buffer.from([0]), content);

/** A certificate in DER, as PEM. */
export function pemOf(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(/.{1,64}/g);
  return `-----BEGIN CERTIFICATE-----\n${lines?.join('\n')}\n-----END CERTIFICATE-----\n`;
}
