// The options of calls, in addition to their own arguments.

/** The options of every call. */
export interface CallOptions {
  /** Ends the call, also between two attempts; it then fails with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Instead of the client's own, for each attempt. */
  timeoutSeconds?: number;
  /** Instead of the client's own. */
  retries?: number;
  /** The `traceparent` header (W3C Trace Context) of the call; the server logs the trace id. */
  traceparent?: string | undefined;
}

/** The further options of creating. */
export interface CreateOptions extends CallOptions {
  /**
   * The `Idempotency-Key`, instead of a random one: with a key that you keep, a program that starts
   * again can repeat the call and gets the first response. 1 to 255 visible ASCII characters.
   */
  idempotencyKey?: string;
}

/** The further options of changing and removing. */
export interface ChangeOptions extends CallOptions {
  /** Only if this is still the version (see `etagOf`), else PreconditionFailedError. */
  ifMatch?: string;
}

/** How long a change may wait for the proxy machines. */
export interface WaitOptions {
  /** The response comes when every live machine has applied the change, or after this time. */
  waitSeconds?: number;
}
