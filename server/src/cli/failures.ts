// The ways in which a command does not succeed, each with its exit code.

/** A failure that its message explains: exit code 1. */
export class Failure extends Error {}

/** A failure that a server told of a field of the request. */
export class ApiFailure extends Failure {
  readonly field: string | undefined;

  constructor(message: string, field: string | undefined) {
    super(message);
    this.field = field;
  }
}

/** A file that cannot be applied, with all its faults. */
export class FaultyFile extends Failure {
  constructor(file: string, faults: readonly string[]) {
    super(
      `${file} cannot be applied; nothing was changed.${faults.map((one) => `\n- ${one}`).join('')}`,
    );
  }
}

/** The network is not as a file says, which was told: exit code 3. */
export class Differs extends Error {}

/** It was told with the output that something is wrong: exit code 1, and no more words. */
export class Told extends Error {}

/** A command line that was not understood: exit code 2. */
export class UsageFault extends Error {}
