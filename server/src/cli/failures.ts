// Failures of requests and files, in addition to those of every command line.
import { Failure } from '../../../kit/src/cli/failures.ts';

/** A failure that a server reports for a field of the request. */
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
      `${file} cannot be applied; nothing was changed.${faults.map((message) => `\n- ${message}`).join('')}`,
    );
  }
}
