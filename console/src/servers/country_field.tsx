// The choice of a country out of those that places are in.
import { country } from '../format.ts';
import { SelectField } from '../ui/ui.ts';

interface CountryFieldProps {
  /** Codes, in any order and as often as there are places. */
  of: readonly string[];
  /** The text of the choice of none of them. */
  all: string;
  value: string;
  onInput: (code: string) => void;
}

export function CountryField({ of, all, ...field }: CountryFieldProps) {
  const countries = [...new Set(of)]
    .map((value) => ({ value, text: country(value) }))
    .sort((one, other) => one.text.localeCompare(other.text, 'en'));
  return (
    <SelectField
      label="Country"
      name="country"
      {...field}
      options={[{ value: '', text: all }, ...countries]}
    />
  );
}
