// When is a node revoked? Not by one refusal: a proxy in front that loses the token for a moment must not stop it.

const least_refusals = 3;
const least_seconds = 30;
/** Between tries while the token is refused. */
const doubtful_delay_seconds = 11;
const revoked_delay_seconds = 60;

export class Revocation {
  readonly #steady: () => number;
  #refusals = 0;
  /** Steady seconds. */
  #since = 0;
  /** Set by whoever has drawn the consequences. */
  isRevoked = false;

  constructor(steady: () => number) {
    this.#steady = steady;
  }

  /** How long to wait before the token is tried again. */
  get delay_seconds(): number {
    const most = this.isRevoked ? revoked_delay_seconds : doubtful_delay_seconds;
    return most * (0.95 + Math.random() / 10);
  }

  /** The token was taken. */
  noteAccepted(): void {
    this.#refusals = 0;
    this.isRevoked = false;
  }

  /** The control plane said that it does not know the token. Answers whether it is time to believe it. */
  noteRefused(): boolean {
    if (this.#refusals === 0) this.#since = this.#steady();
    this.#refusals += 1;
    const isLong = this.#steady() - this.#since >= least_seconds;
    return !this.isRevoked && this.#refusals >= least_refusals && isLong;
  }
}
