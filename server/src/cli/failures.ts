// Failures of requests and files, in addition to those of every command line.
import { Failure } from '../../../kit/src/cli/failures.ts';
import type { Choice } from './given.ts';

/** A failure that a server reports for a field of the request. */
export class ApiFailure extends Failure {
  readonly field: string | undefined;
  /** All faults, where there are several. */
  readonly faults: ReadonlyArray<{ field: string; message: string }> | undefined;

  constructor({ message, field, faults }: Pick<ApiFailure, 'message' | 'field' | 'faults'>) {
    super(message);
    this.field = field;
    this.faults = faults;
  }

  /** The same, with the option in front that sets the field, in whichever record of a list. */
  as(choices: readonly Choice[]): Failure {
    const { field = '', message } = this;
    const ofRecord = field.replace(/^\w+\.\d+\./, '');
    const [flags = ''] =
      choices.find(([, , set]) =>
        [field, ofRecord].some((name) => set && `${name}.`.startsWith(`${set}.`)),
      ) ?? [];
    const [option] = /--[\w-]+/.exec(flags) ?? [];
    return option ? new Failure(message.replace(`${field}:`, `${option}:`)) : this;
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
