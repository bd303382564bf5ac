// The passphrase of a backup of the keys: typed without echo, or read from a file; never an
// argument, since other users can list those.
import { Failure, UsageFault } from '../../../kit/src/cli/failures.ts';
import { readInputLine } from '../../../kit/src/cli/input.ts';
import { askSecret, isTerminal } from '../../../kit/src/cli/question.ts';
import { readPrivate } from '../../../kit/src/private_files.ts';
import { minPassphraseLength } from '../keys/keys_backup.ts';

/**
 * Reads the passphrase from `file` (`-`: standard input; one final line ending is dropped), or asks
 * for it, twice when it `isNew`.
 * Errors: a usage fault without a terminal or a file; a failure when it is too short, differs, or
 * is missing.
 */
export async function readPassphrase(file: string | undefined, isNew: boolean): Promise<string> {
  const passphrase = file === undefined ? await ask(isNew) : readFrom(file);
  if (isNew && passphrase.length < minPassphraseLength) {
    throw new Failure(
      `The passphrase is too short; expected ${minPassphraseLength} characters or more.`,
    );
  }
  return passphrase;
}

function readFrom(file: string): string {
  if (file === '-') return readInputLine(file);
  try {
    return readPrivate(file).replace(/\r?\n$/, '');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Failure(code ? `The passphrase file ${file} cannot be read (${code}).` : message);
  }
}

async function ask(isNew: boolean): Promise<string> {
  if (!isTerminal()) {
    throw new UsageFault(
      'A passphrase is needed: name a file that holds it with --passphrase-file, or - for standard input.',
    );
  }
  const first = await askSecret('Passphrase of the backup');
  if (isNew && (await askSecret('The same again')) !== first) {
    throw new Failure('The two passphrases differ; nothing was written.');
  }
  return first;
}
