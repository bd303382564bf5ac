// Checks whether proxy access tokens are genuine, by the public keys alone.
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { PublicKey, TokenClaims } from '../../../kit/src/node_interface.ts';

const maxRemembered = 10_000;
/** The last character carries two bits. Other spellings of the same signature are not accepted. */
const format = /^ewt_([\w-]{1,400})\.([\w-]{85}[AQgw])$/;

export class TokenReader {
  #keys = new Map<string, KeyObject>();
  /**
   * Claims of tokens with a verified signature, newest last. A verification costs as much as a
   * hundred look-ups.
   */
  #remembered = new Map<string, TokenClaims>();

  /** Replaces the keys, and forgets the claims that older keys verified. */
  replaceKeys(keys: PublicKey[]): void {
    this.#keys = new Map(
      keys.map(({ kid, public_key: x }) => [
        kid,
        createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }),
      ]),
    );
    this.#remembered.clear();
  }

  /** Whether tokens signed by this key are still accepted. */
  knows(kid: string): boolean {
    return this.#keys.has(kid);
  }

  /** The claims of a genuine token, undefined for anything else. */
  read(token: string): TokenClaims | undefined {
    const remembered = this.#remembered.get(token);
    if (remembered) return remembered;
    const claims = this.#verify(token);
    // Only genuine tokens are remembered, so that guesses cannot displace them.
    if (claims) {
      this.#remembered.set(token, claims);
      if (this.#remembered.size > maxRemembered) {
        this.#remembered.delete(this.#remembered.keys().next().value as string);
      }
    }
    return claims;
  }

  #verify(token: string): TokenClaims | undefined {
    const [, payload, signature] = format.exec(token) ?? [];
    if (!payload || !signature) return undefined;
    const claims = readPayload(payload);
    const key = claims && this.#keys.get(claims.kid);
    if (!key) return undefined;
    const genuine = verify(null, Buffer.from(payload), key, Buffer.from(signature, 'base64url'));
    return genuine ? claims : undefined;
  }
}

function readPayload(payload: string): TokenClaims | undefined {
  let values: unknown;
  try {
    values = JSON.parse(Buffer.from(payload, 'base64url').toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(values) || values.length !== 6 || values[0] !== 1) return undefined;
  const [, kid, account, user, token_version, expiry] = values;
  const numbers = [account, user, token_version, expiry];
  if (typeof kid !== 'string' || !numbers.every(Number.isSafeInteger)) return undefined;
  return { kid, account, user, token_version, expiry };
}
