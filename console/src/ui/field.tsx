// The fields of forms: a label, a control, a hint, and its error.
import { type ComponentChildren, createContext, type JSX, type Ref } from 'preact';
import { useContext, useId, useRef } from 'preact/hooks';
import type { Fault } from './explain.ts';

/** The errors of the form around it. */
export const FieldFaults = createContext<readonly Fault[]>([]);

/** The error of a field, in a sentence; undefined: none. */
export const useFieldFault = (name: string): string | undefined =>
  useContext(FieldFaults).find(({ field }) => field === name)?.sentence;

export interface FieldProps {
  label: string;
  /** Its name in the body of the request: errors with that name are shown here. */
  name: string;
  hint?: ComponentChildren;
}

interface Described {
  id: string;
  name: string;
  'aria-describedby': string | undefined;
  'aria-invalid': 'true' | undefined;
}

/** Label, hint and error around any control; `children` gets the attributes for the control. */
export function Field({
  label,
  name,
  hint,
  children,
}: FieldProps & { children: (given: Described) => ComponentChildren }) {
  const { given, below } = useDescription(name, hint);
  return (
    <div class="field">
      <label for={given.id}>{label}</label>
      {children(given)}
      {below}
    </div>
  );
}

/** The attributes for a control, and its hint and error, which are below it. */
function useDescription(name: string, hint: ComponentChildren) {
  const id = useId();
  const wrong = useFieldFault(name);
  const described = [hint && `${id}-hint`, wrong && `${id}-fault`].filter(Boolean).join(' ');
  const given: Described = {
    id,
    name,
    'aria-describedby': described || undefined,
    'aria-invalid': wrong ? 'true' : undefined,
  };
  const below = (
    <>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {wrong && (
        <p class="fault" id={`${id}-fault`}>
          {wrong}
        </p>
      )}
    </>
  );
  return { given, below };
}

type Input = Omit<JSX.IntrinsicElements['input'], 'name' | 'label'>;

export function TextField({ label, name, hint, ...rest }: FieldProps & Input) {
  return (
    <Field label={label} name={name} hint={hint}>
      {(given) => <input type="text" autocomplete="off" spellcheck={false} {...rest} {...given} />}
    </Field>
  );
}

interface LinesProps extends FieldProps, Omit<JSX.IntrinsicElements['textarea'], 'name' | 'label'> {
  /** The element, for a page that sets the cursor. */
  field?: Ref<HTMLTextAreaElement>;
  /** Numbers of lines with problems. */
  marked?: readonly number[];
}

/** A text with many items, one per line; where its value is given, the lines have numbers. */
export function LinesField({ label, name, hint, field, marked = [], ...rest }: LinesProps) {
  const gutter = useRef<HTMLOListElement>(null);
  const { value } = rest;
  const numbers = typeof value === 'string' ? value.split('\n').length : 0;
  const follow = ({ currentTarget }: Event) => {
    if (gutter.current) gutter.current.scrollTop = (currentTarget as HTMLElement).scrollTop;
  };
  return (
    <Field label={label} name={name} hint={hint}>
      {(given) => (
        <div class={numbers > 0 ? 'numbered mono' : undefined}>
          {numbers > 0 && (
            <ol aria-hidden="true" ref={gutter}>
              {Array.from({ length: numbers }, (_, at) => (
                <li key={at} class={marked.includes(at + 1) ? 'fault' : undefined}>
                  {at + 1}
                </li>
              ))}
            </ol>
          )}
          <textarea
            class="mono"
            required
            spellcheck={false}
            {...(numbers > 0 && { wrap: 'off', onScroll: follow })}
            {...rest}
            ref={field}
            {...given}
          />
        </div>
      )}
    </Field>
  );
}

type SearchProps = FieldProps & Omit<Input, 'onInput'> & { onInput: (value: string) => void };

/** Filters a list while typing. */
export function SearchField({ onInput, ...rest }: SearchProps) {
  return (
    <TextField type="search" {...rest} onInput={(event) => onInput(event.currentTarget.value)} />
  );
}

interface SelectProps extends FieldProps {
  options: ReadonlyArray<{ value: string; text: string }>;
  value?: string;
  onInput?: (value: string) => void;
  /** The initial choice, if the page does not set it. */
  initial?: string;
  required?: boolean;
}

export function SelectField(props: SelectProps) {
  const { label, name, hint, options, initial, value, onInput, required } = props;
  return (
    <Field label={label} name={name} hint={hint}>
      {(given) => (
        <select
          {...given}
          required={required}
          value={value}
          onInput={(event) => onInput?.(event.currentTarget.value)}
        >
          {options.map((option) => (
            <option
              key={option.value}
              value={option.value}
              selected={option.value === (value ?? initial)}
            >
              {option.text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Options from texts by their values, each with a capital letter. */
export const optionsIn = (texts: Record<string, string | { text: string }>) =>
  Object.entries(texts).map(([value, content]) => {
    const text = typeof content === 'string' ? content : content.text;
    return { value, text: text.charAt(0).toUpperCase() + text.slice(1) };
  });

/** Whether a text, for example from the address, is one of these names. */
export const isOneOf = <T extends object>(these: T, text: string): text is keyof T & string =>
  Object.hasOwn(these, text);

/**
 * Options whose text is the value; `all`: the text of the first one, which selects none of them.
 */
export function optionsOf(values: Iterable<string>, all?: string) {
  const options = [...values].map((value) => ({ value, text: value }));
  return all === undefined ? options : [{ value: '', text: all }, ...options];
}

export function CheckField({ label, name, hint, ...rest }: FieldProps & Input) {
  const { given, below } = useDescription(name, hint);
  return (
    <div class="check-field">
      <input type="checkbox" {...rest} {...given} />
      <label for={given.id}>{label}</label>
      {below}
    </div>
  );
}
