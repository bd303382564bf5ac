// Failures of files, in addition to those of every command line.
import { Failure } from '../../../kit/src/cli/failures.ts';

/** A file that cannot be applied, with all its faults. */
export class FaultyFile extends Failure {
  constructor(file: string, faults: readonly string[]) {
    super(
      `${file} cannot be applied; nothing was changed.${faults.map((message) => `\n- ${message}`).join('')}`,
    );
  }
}
