// Decides when a node counts as revoked. One rejection is not enough: a proxy in front that loses
// the token for a moment must not stop the node.

const minRejections = 3;
const minSeconds = 30;
/** The delay between attempts while the token is rejected. */
const doubtfulDelaySeconds = 11;
const revokedDelaySeconds = 60;

export class Revocation {
  readonly #steady: () => number;
  #rejections = 0;
  /** Steady seconds. */
  #since = 0;
  /** Set by the link once it has acted on the revocation. */
  isRevoked = false;

  constructor(steady: () => number) {
    this.#steady = steady;
  }

  /** How long to wait before the next attempt. */
  get delay_seconds(): number {
    const maxSeconds = this.isRevoked ? revokedDelaySeconds : doubtfulDelaySeconds;
    return maxSeconds * (0.95 + Math.random() / 10);
  }

  /** The token was accepted. */
  noteAccepted(): void {
    this.#rejections = 0;
    this.isRevoked = false;
  }

  /** The control plane does not know the token. Returns whether the node counts as revoked. */
  noteRejected(): boolean {
    if (this.#rejections === 0) this.#since = this.#steady();
    this.#rejections += 1;
    const isLong = this.#steady() - this.#since >= minSeconds;
    return !this.isRevoked && this.#rejections >= minRejections && isLong;
  }
}

/** The snapshot that a removed server would get. */
export async function* emptySnapshot(): AsyncGenerator<string> {
  const lines = [
    { kind: 'snapshot', epoch: 'revoked', revision: 0 },
    { kind: 'server', value: null },
    { kind: 'keys', value: [] },
    { kind: 'end', records: 2 },
  ];
  for (const line of lines) yield `${JSON.stringify(line)}\n`;
}
