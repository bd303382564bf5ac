// The ways in which a command does not succeed, each with its exit code.

/** A failure that its message explains: exit code 1. */
export class Failure extends Error {}

/** A failure that a server reports. */
export class RequestFailure extends Failure {
  /** Of HTTP. */
  readonly status: number;
  /** The field of the request that it is about, with which the message begins. */
  readonly field: string | undefined;
  /** All faults, where there are several. */
  readonly faults: ReadonlyArray<{ field: string; message: string }> | undefined;

  constructor(
    status: number,
    { message, field, faults }: Pick<RequestFailure, 'message'> & Partial<RequestFailure>,
  ) {
    super(message);
    this.status = status;
    this.field = field;
    this.faults = faults;
  }
}

/** A command line that was not understood: exit code 2. */
export class UsageFault extends Error {}
