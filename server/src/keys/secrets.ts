// The keys of the network at work: they seal, hash, sign, veil, and derive keys for the VPN. They
// come from a file (keys_file.ts) and are never in the database.
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from 'node:crypto';
import { unavailable } from '../errors.ts';

/** The content of the keys file. Each key is in base64url. */
export interface KeysFile {
  seal: string;
  hash: string;
  /** Further hashing keys, each applied on top of the hashes of the older ones. */
  hash_next?: string[];
  signing: Array<{ kid: string; private_key: string }>;
}

export interface ProxyTokenClaims {
  account_id: number;
  user_id: number;
  token_version: number;
  /** Epoch seconds; the token holds while now < expiry. */
  expiry: number;
}

export interface PublicKey {
  kid: string;
  /** Raw Ed25519 public key, base64url (the `x` of its JWK). */
  public_key: string;
}

/** A key in the forms that Node uses, made once and not for each call. */
interface SigningKey extends PublicKey {
  key: KeyObject;
  verifying: KeyObject;
}

/**
 * The keyed hashes under which a text may be stored: with the active keys, with one fewer, and with
 * one more.
 */
export type Hashes = readonly [inUse: string, before: string, after: string];

const veiledKinds = ['version', 'audit', 'refusal'] as const;
type VeiledKind = (typeof veiledKinds)[number];

export class Secrets {
  readonly #seal: KeyObject;
  /** The VPN keys of servers are derived from it. */
  readonly #vpn: KeyObject;
  /** Numbers of the network are veiled with it. */
  readonly #veil: KeyObject;
  /** The hashing keys, each applied on top of the hash of the older ones. */
  #hash: KeyObject[];
  #hashKeysInUse = 1;
  #signing: SigningKey[];
  readonly #reread: () => KeysFile;
  /** Identifies these keys without revealing anything about them; stored in the database. */
  readonly key_id: string;

  /** `reread`: the keys as the file has them now. */
  constructor(file: KeysFile, reread = () => file) {
    this.#reread = reread;
    this.#seal = secretKeyOf(file.seal);
    this.#hash = hashKeysOf(file);
    this.#signing = signingKeysOf(file);
    const symmetric = [this.#seal, ...this.#hash];
    if (symmetric.some((key) => key.symmetricKeySize !== 32) || this.#signing.length === 0) {
      throw new Error('a key is missing or has the wrong length');
    }
    this.key_id = createHash('sha256')
      .update(this.#seal.export())
      .update(this.#hash[0]?.export() ?? '')
      .digest('hex')
      .slice(0, 16);
    const derived = (name: string) =>
      createSecretKey(createHmac('sha256', this.#seal).update(name).digest());
    this.#vpn = derived('exitward vpn 1');
    this.#veil = derived('exitward veil 1');
  }

  /** The keyed hash under which a token is stored. */
  hashToken(token: string): string {
    return layered(token, this.#hash.slice(0, this.#hashKeysInUse));
  }

  /**
   * The keyed hashes under which a token is looked up. During a rotation some stored hashes are not
   * renewed yet, and another process may already use the new key.
   */
  hashesOf(token: string): Hashes {
    const used = this.#hashKeysInUse;
    const before = layered(token, this.#hash.slice(0, Math.max(1, used - 1)));
    const layers = Math.max(1, used - 1);
    const inUse = layered(before, this.#hash.slice(layers, used), layers);
    return [inUse, before, layered(inUse, this.#hash.slice(used, used + 1), used)];
  }

  /** A stored hash, renewed with all active keys. */
  renewedHash(stored: string): string {
    const layers = Number(/^(\d+)\./.exec(stored)?.[1] ?? 1);
    return layered(stored, this.#hash.slice(layers, this.#hashKeysInUse), layers);
  }

  /** How many hashing keys are used for new hashes. */
  get hash_keys_in_use(): number {
    return this.#hashKeysInUse;
  }

  /**
   * The ids of the hashing keys after the first. An id identifies the key without revealing
   * anything about it.
   */
  hashKeyIds(): string[] {
    return this.#hash.slice(1).map(idOfKey);
  }

  /**
   * Uses these keys, after the first, for new hashes. False when the file does not have them in
   * this order.
   */
  useHashKeys(ids: readonly string[]): boolean {
    const hasIds = () => ids.every((id, at) => this.hashKeyIds()[at] === id);
    if (!hasIds()) this.#readAgain();
    if (!hasIds()) return false;
    this.#hashKeysInUse = ids.length + 1;
    return true;
  }

  /**
   * The key from which the VPN passwords of one server are derived, in base64url. Only the server's
   * nodes get it. A higher generation is another key, which does not follow from the earlier ones.
   */
  vpnKey({ id, vpn_generation }: { id: number; vpn_generation: number }): string {
    const name = vpn_generation === 0 ? `server ${id}` : `server ${id} ${vpn_generation}`;
    return createHmac('sha256', this.#vpn).update(name).digest('base64url');
  }

  /**
   * A number that the whole network counts, as an account sees it: equal numbers have equal texts,
   * and a text says nothing else about its number.
   */
  veil(kind: VeiledKind, account_id: number, number: number): string {
    // A single block of AES is a permutation of its values, which is all that is wanted here.
    const block = Buffer.alloc(16);
    block.writeUInt8(veiledKinds.indexOf(kind), 0);
    block.writeUIntBE(account_id, 2, 6);
    block.writeBigUInt64BE(BigInt(number), 8);
    const cipher = createCipheriv('aes-256-ecb', this.#veil, null).setAutoPadding(false);
    return cipher.update(block).toString('base64url');
  }

  /** The number of a veiled text; undefined for any text that `veil` did not make for it. */
  unveil(kind: VeiledKind, account_id: number, text: string): number | undefined {
    if (!/^[\w-]{21}[AQgw]$/.test(text)) return undefined;
    const decipher = createDecipheriv('aes-256-ecb', this.#veil, null).setAutoPadding(false);
    const number = Number(decipher.update(text, 'base64url').readBigUInt64BE(8));
    const isOurs = Number.isSafeInteger(number) && this.veil(kind, account_id, number) === text;
    return isOurs ? number : undefined;
  }

  /** AES-256-GCM, bound to `context` so that a sealed value cannot be moved to another record. */
  seal(text: string, context: string): string {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#seal, nonce).setAAD(Buffer.from(context));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
  }

  /** Errors: throws when the value was sealed with other keys or for another record. */
  unseal(sealed: string, context: string): string {
    const bytes = Buffer.from(sealed, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', this.#seal, bytes.subarray(0, 12))
      .setAAD(Buffer.from(context))
      .setAuthTag(bytes.subarray(12, 28));
    return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8');
  }

  /**
   * A proxy access token: `ewt_` + base64url of `[1, kid, account, user, token_version, expiry]` +
   * `.` + base64url of its Ed25519 signature. Nodes verify it with only the public key. `wanted`
   * names the key; by default the last one of the file. Errors: 503 when the keys file does not
   * have it.
   */
  signProxyToken(claims: ProxyTokenClaims, wanted?: string): string {
    if (wanted !== undefined) this.rereadFor([wanted]);
    const { kid, key } = this.#find(wanted);
    const { account_id, user_id, token_version, expiry } = claims;
    const payload = Buffer.from(
      JSON.stringify([1, kid, account_id, user_id, token_version, expiry]),
    ).toString('base64url');
    return `ewt_${payload}.${sign(null, Buffer.from(payload), key).toString('base64url')}`;
  }

  /** The claims of a genuine proxy access token; null for any other text. */
  readProxyToken(token: string): (ProxyTokenClaims & { kid: string }) | null {
    const [, payload = '', signature = ''] =
      /^ewt_([\w-]{1,400})\.([\w-]{85}[AQgw])$/.exec(token) ?? [];
    const isSigned = this.#signing.some(({ verifying }) =>
      verify(null, Buffer.from(payload), verifying, Buffer.from(signature, 'base64url')),
    );
    if (!isSigned) return null;
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as unknown[];
    const [, kid, account_id, user_id, token_version, expiry] = claims as [
      number,
      string,
      ...number[],
    ];
    return { kid, account_id, user_id, token_version, expiry } as ProxyTokenClaims & {
      kid: string;
    };
  }

  /** The keys with which nodes verify proxy access tokens. */
  publicKeys(): PublicKey[] {
    return this.#signing.map(({ kid, public_key }) => ({ kid, public_key }));
  }

  /**
   * The names of all keys that are rotated: the signing keys, and the hashing keys after the first.
   */
  heldKeys(): string[] {
    return [...this.#signing.map(({ kid }) => kid), ...this.hashKeyIds()];
  }

  /** Reads the file again when one of these keys is missing: it may have been added. */
  rereadFor(names: readonly string[]): void {
    const held = this.heldKeys();
    if (!names.every((name) => held.includes(name))) this.#readAgain();
  }

  #readAgain(): void {
    try {
      const file = this.#reread();
      if (new Secrets(file).key_id !== this.key_id) return;
      this.#signing = signingKeysOf(file);
      const hash = hashKeysOf(file);
      // Never fewer than before, since stored hashes use them.
      if (hash.length >= this.#hash.length) this.#hash = hash;
    } catch {
      // The file is being replaced, or is gone: the keys that were read stay valid.
    }
  }

  #find(kid = this.#signing.at(-1)?.kid) {
    const signingKey = this.#signing.find((candidate) => candidate.kid === kid);
    if (signingKey) return signingKey;
    throw unavailable(`The keys file of this process lacks the signing key ${kid}; copy it here.`);
  }
}

const secretKeyOf = (text: string) => createSecretKey(text, 'base64url');

function hashKeysOf({ hash, hash_next = [] }: KeysFile): KeyObject[] {
  return [hash, ...hash_next].map(secretKeyOf);
}

const idOfKey = (key: KeyObject) =>
  `hash-${createHash('sha256').update('hashing key').update(key.export()).digest('hex').slice(0, 8)}`;

/**
 * A hash with these keys applied one by one, of which `layers` are applied already; with none it is
 * a text. A hash of several layers begins with their number: `2.`, then the hash.
 */
function layered(stored: string, keys: readonly KeyObject[], layers = 0): string {
  let hash = layers > 1 ? stored.slice(stored.indexOf('.') + 1) : stored;
  for (const key of keys) hash = createHmac('sha256', key).update(hash).digest('base64url');
  const all = layers + keys.length;
  return all > 1 ? `${all}.${hash}` : hash;
}

function signingKeysOf(file: KeysFile): SigningKey[] {
  return file.signing.map(({ kid, private_key }) => {
    const der = Buffer.from(private_key, 'base64url');
    const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    const verifying = createPublicKey(key);
    return { kid, key, verifying, public_key: verifying.export({ format: 'jwk' }).x as string };
  });
}
