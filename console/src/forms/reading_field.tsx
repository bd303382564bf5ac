// A choice whose options are still being read: it takes no typing that they would replace.
import { explain } from '../api/sentences.ts';
import { SelectField } from '../ui/ui.ts';

interface ReadingFieldProps {
  label: string;
  name: string;
  /** The name of the options, for "Reading the servers …". */
  what: string;
  /** Why it could not be read. */
  error: unknown;
  /** The value that is chosen already; none: the form cannot be sent yet. */
  known: string | undefined;
}

export function ReadingField({ label, name, what, error, known }: ReadingFieldProps) {
  const state = error ? `Could not read ${what}.` : `Reading ${what} …`;
  return (
    <SelectField
      label={label}
      name={name}
      value={known ?? ''}
      required
      options={[known === undefined ? { value: '', text: state } : { value: known, text: known }]}
      hint={error ? `${state} ${explain(error).sentence}` : known !== undefined && state}
    />
  );
}
