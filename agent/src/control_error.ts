// Why a request to the control plane failed, in a form that the agent can decide by.

/** The error of every failed request. */
export class ControlError extends Error {
  /** The status of the response; undefined if there was none, or it broke off. */
  readonly status: number | undefined;
  /** The code to decide by. */
  readonly code: string | undefined;
  /** The part of the request that is wrong, such as `rows.12.at`. */
  readonly field: string | undefined;
  /** Whether the response came from a control plane, and not from something in between. */
  readonly isOurs: boolean;
  readonly retry_after_seconds: number | undefined;
  /** Epoch seconds by the control plane's clock; undefined if it sent no time. */
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
