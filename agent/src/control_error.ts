// Why a request to the control plane failed, in words that the agent decides by.

/** The error of every failed request. */
export class ControlError extends Error {
  /** Of the response; undefined when there was none, or it broke off. */
  readonly status: number | undefined;
  /** The word to decide by. */
  readonly code: string | undefined;
  /** Names the part of the request that is wrong, such as `rows.12.at`. */
  readonly field: string | undefined;
  /** Whether the response was one of a control plane, and not of something between. */
  readonly isOurs: boolean;
  readonly retry_after_seconds: number | undefined;
  /** Epoch seconds, by the clock of the control plane; undefined when it did not tell. */
  readonly answered_at: number | undefined;

  constructor(
    message: string,
    about: {
      status?: number;
      code?: string | undefined;
      field?: string | undefined;
      isOurs?: boolean;
      retry_after_seconds?: number | undefined;
      answered_at?: number | undefined;
    } = {},
  ) {
    super(message);
    this.status = about.status;
    this.isOurs = about.isOurs ?? false;
    this.code = about.code;
    this.field = about.field;
    this.retry_after_seconds = about.retry_after_seconds;
    this.answered_at = about.answered_at;
  }
}
