// A choice from a list that may be long: a select for a short list, else a text field with matches
// from the server.
import { useEffect, useId, useState } from 'preact/hooks';
import { explain } from '../api/sentences.ts';
import { useTyped } from '../typed.ts';
import { Field, SelectField } from '../ui/ui.ts';
import { ReadingField } from './reading_field.tsx';

interface Choice {
  value: string;
  text: string;
}

/** The choices that the server finds for a text. */
export interface Choices {
  /** At most `maxChoices`; undefined until they are read. */
  options: readonly Choice[] | undefined;
  /** Whether the list has no others. */
  isWhole: boolean;
  error: unknown;
}

/** The number of choices that are requested at once. */
export const maxChoices = 20;

interface SuggestProps {
  label: string;
  name: string;
  /** The name of the list, for "Loading the servers …". */
  listName: string;
  value: string;
  /** The text of `value`, where people type texts: values such as ids mean nothing to them. */
  valueText?: string;
  /** Called for a choice, not for a text that is still being typed. */
  onInput: (value: string) => void;
  /** Choices before those of the list: "All users", or a present one that is no longer on it. */
  others?: readonly Choice[];
  required?: boolean;
  hint?: string;
  /** Finds choices; for an empty text the first ones of the list. */
  useChoices: (search: string) => Choices;
}

export function SuggestField(props: SuggestProps) {
  const {
    label,
    name,
    listName,
    value,
    onInput,
    others = [],
    required = false,
    hint: defaultHint = '',
    valueText,
  } = props;
  const [search, setSearch] = useState('');
  const first = props.useChoices('');
  const matching = props.useChoices(first.isWhole ? '' : search);
  const [, setTyped] = useTyped(search, setSearch);
  const shown = valueText ?? value;
  const [text, setText] = useState(shown);
  useEffect(() => setText(shown), [shown]);
  const id = useId();
  if (!first.options) {
    const canBeEmpty = !required && others.some((choice) => choice.value === '');
    return (
      <ReadingField
        {...{ label, name, listName, required: !canBeEmpty }}
        error={first.error}
        known={value || undefined}
      />
    );
  }
  const error = first.error ?? matching.error;
  const hint = error ? `Couldn’t load ${listName}. ${explain(error).sentence}` : defaultHint;
  if (first.isWhole) {
    const choices = [...others, ...first.options];
    // A choice in the address that no longer exists stays among the options.
    const isKnown = value === '' || choices.some((choice) => choice.value === value);
    const options = isKnown ? choices : [...choices, { value, text: value }];
    return <SelectField {...{ label, name, value, onInput, required, hint, options }} />;
  }
  const options = matching.options ?? first.options;
  const typedOf = (choice: Choice) => (valueText === undefined ? choice.value : choice.text);
  const choiceValueOf = (typed: string) =>
    typed === '' ? '' : options.find((choice) => typedOf(choice) === typed)?.value;
  return (
    <Field {...{ label, name, hint }}>
      {(given) => (
        <>
          <input
            {...given}
            type="text"
            list={id}
            value={text}
            onInput={({ currentTarget: { value: typed } }) => {
              setText(typed);
              setTyped(typed);
              const selected = choiceValueOf(typed);
              if (selected !== undefined) onInput(selected);
            }}
            onChange={({ currentTarget }) => {
              const selected =
                choiceValueOf(currentTarget.value) ??
                (valueText === undefined ? currentTarget.value : undefined);
              if (selected !== undefined) onInput(selected);
            }}
            required={required}
            placeholder={others.find((other) => other.value === '')?.text}
            autocomplete="off"
            spellcheck={false}
          />
          <datalist id={id}>
            {options.map((option) => (
              <option key={option.value} value={typedOf(option)}>
                {option.text}
              </option>
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}
