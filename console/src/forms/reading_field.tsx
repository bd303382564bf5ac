// A select whose options are still being read: it accepts no input, which they would replace.
import { explain } from '../api/sentences.ts';
import { SelectField } from '../ui/ui.ts';

interface ReadingFieldProps {
  label: string;
  name: string;
  /** The name of the options, for "Loading the servers …". */
  listName: string;
  /** The error of reading them. */
  error: unknown;
  /** The value that is selected already; undefined: the form cannot be sent yet. */
  known: string | undefined;
  /** Whether the form needs a value; a filter doesn’t. */
  required?: boolean;
}

export function ReadingField(props: ReadingFieldProps) {
  const { label, name, listName, error, known: value, required = true } = props;
  const state = error ? `Couldn’t load ${listName}.` : `Loading ${listName} …`;
  return (
    <SelectField
      label={label}
      name={name}
      value={value ?? ''}
      required={required}
      options={[value === undefined ? { value: '', text: state } : { value, text: value }]}
      hint={error ? `${state} ${explain(error).sentence}` : value !== undefined && state}
    />
  );
}
