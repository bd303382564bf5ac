// One of a few options: radio buttons side by side that look like buttons.
import { useId } from 'preact/hooks';

interface ChoiceProps<V extends string> {
  /** The name of the choice; hidden visually unless `shown`. */
  label: string;
  shown?: boolean;
  options: ReadonlyArray<{ value: V; text: string }>;
  value: V;
  onSelect: (value: V) => void;
}

export function Choice<V extends string>({
  label,
  shown = false,
  options,
  value,
  onSelect,
}: ChoiceProps<V>) {
  const name = useId();
  return (
    <fieldset class="choice">
      <legend class={shown ? undefined : 'visually-hidden'}>{label}</legend>
      <div class="choice-options">
        {options.map((option) => (
          <label key={option.value}>
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === value}
              onChange={() => onSelect(option.value)}
            />
            <span>{option.text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
