// Decides when a node counts as revoked. One rejection is not enough: a proxy in front that loses
// the token for a moment must not stop the node.

const least_rejections = 3;
const least_seconds = 30;
/** Between attempts while the token is rejected. */
const doubtful_delay_seconds = 11;
const revoked_delay_seconds = 60;

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
    const maxSeconds = this.isRevoked ? revoked_delay_seconds : doubtful_delay_seconds;
    return maxSeconds * (0.95 + Math.random() / 10);
  }

  /** The token was accepted. */
  noteAccepted(): void {
    this.#rejections = 0;
    this.isRevoked = false;
  }

  /** The control plane does not know the token. Returns whether it is time to believe that. */
  noteRejected(): boolean {
    if (this.#rejections === 0) this.#since = this.#steady();
    this.#rejections += 1;
    const isLong = this.#steady() - this.#since >= least_seconds;
    return !this.isRevoked && this.#rejections >= least_rejections && isLong;
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
