// Requests that name many records at once, all or none: their words, and what they have in common.
import { Type } from 'typebox';
import { invalidField } from '../errors.ts';
import { Integer, Named } from '../http/fields.ts';

export const maxAtOnce = 1000;
export const Ids = Named('ChosenEntries', {
  ids: Type.Array(Integer('Id of an entry.', 1), {
    description: `Which entries, each once: at most ${maxAtOnce}.`,
    minItems: 1,
    maxItems: maxAtOnce,
    uniqueItems: true,
  }),
});
/** The 404 of a request that names many records. */
export const oneIsMissing = (records: string) =>
  `One of the ${records} is not there, as \`field\` says; nothing was done.`;
export const Changed = Named('ChangedEntries', { changed: Integer('How many.') });
/** The response to the revocation of many tokens. */
export const Revoked = Named('RevokedTokens', { revoked: Integer('How many tokens.') });

/** Errors: 400 naming the first repeated one. */
export function rejectRepeated(
  keys: ReadonlyArray<number | string>,
  fieldOf: (at: number) => string,
): void {
  const seen = new Set<number | string>();
  for (const [at, key] of keys.entries()) {
    if (seen.has(key)) throw invalidField(fieldOf(at), 'given twice; expected each once.');
    seen.add(key);
  }
}
