// The select of a country among those with places.
import { country } from '../format.ts';
import { SelectField } from '../ui/ui.ts';

interface CountryFieldProps {
  /** Country codes in any order, with repeats. */
  codes: readonly string[];
  /** The text of the option for all countries. */
  all: string;
  value: string;
  onInput: (code: string) => void;
}

export function CountryField({ codes, all, ...field }: CountryFieldProps) {
  const countries = [...new Set(codes)]
    .map((value) => ({ value, text: country(value) }))
    .sort((a, b) => a.text.localeCompare(b.text, 'en'));
  return (
    <SelectField
      label="Country"
      name="country"
      {...field}
      options={[{ value: '', text: all }, ...countries]}
    />
  );
}
