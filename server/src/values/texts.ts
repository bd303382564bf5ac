// Texts that people write and others read: a plan, a title, a name to show.
import { invalidField } from '../errors.ts';

/**
 * The text, unless it is blank; `before`: the stored one, which may be older than this check.
 * Errors: 400 naming the field.
 */
export function visibleText(field: string, text: string, before?: string): string {
  if (text.trim() === '' && text !== before) {
    throw invalidField(field, 'is blank; expected a text.');
  }
  return text;
}
