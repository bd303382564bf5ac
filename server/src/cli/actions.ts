// The actions that most nouns share. `<name>` in a path or sentence stands for that argument.

import { UsageFault } from '../../../kit/src/cli/failures.ts';
import {
  type Column,
  counted,
  done,
  type Empty,
  record,
  table,
} from '../../../kit/src/cli/output.ts';
import type { Run } from './command.ts';

/** Lists all entries. */
export function listAt(path: string, columns: readonly Column[], empty: Empty): Run {
  return async (given, api) => table(await api.list(given.path(path)), columns, empty);
}

/** Shows one record. */
export function showAt(path: string, columns: readonly Column[]): Run {
  return async (given, api) => record(await api.get(given.path(path)), columns);
}

/** Creates what the argument `<name>` names, with the fields of the options. */
export function createAt(path: string, columns: readonly Column[], sentence?: string): Run {
  return async (given, api) => {
    const body = { name: given.word('name'), ...given.fields };
    return record(await api.post(given.path(path), body), columns, sentence);
  };
}

/** Changes the fields that the options give. Errors: a usage fault without any. */
export function changeAt(path: string, columns: readonly Column[], sentence: string): Run {
  return async (given, api) => {
    if (Object.keys(given.fields).length === 0) {
      throw new UsageFault(`${given.options.join(', ')}: expected at least one of them`);
    }
    return record(await api.patch(given.path(path), given.fields), columns, sentence);
  };
}

/** Removes, and reports it: in a sentence, and in `value` for programs. */
export function removeAt(path: string, sentence: string, value: Record<string, string>): Run {
  return async (given, api) => {
    await api.delete(given.path(path));
    const members = Object.entries(value).map(([name, text]) => [name, given.text(text)]);
    return done(given.text(sentence), Object.fromEntries(members));
  };
}

/** How many things a command makes, changes or removes: the verb, the count, and their noun. */
export type Count = [verb: string, count: number, noun?: string];

/** `Created 4, changed 1.`; of a dry run `Would create 4, change 1.` Counts of 0 are left out. */
export function countsInWords(counts: readonly Count[], isDryRun: boolean): string {
  const parts = counts
    .filter(([, count]) => count > 0)
    .map(([verb, count, noun]) => {
      const amount = noun === undefined ? String(count) : counted(count, noun);
      return `${isDryRun ? verb : verb.replace(/e?$/, 'ed')} ${amount}`;
    });
  if (parts.length === 0) return 'Nothing to change.';
  const text = `${isDryRun ? 'would ' : ''}${parts.join(', ')}.`;
  return text.charAt(0).toUpperCase() + text.slice(1);
}
