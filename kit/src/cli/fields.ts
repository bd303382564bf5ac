// The fields of a request that the options of a command set, and errors about a field in the words
// of its command line: by the option or argument that a person typed.
import type { Command } from './command.ts';
import { Failure, RequestFailure, UsageFault } from './failures.ts';
import type { Option, Options } from './options.ts';
import { secondsInWords, timeInWords } from './values.ts';

/** The fields that these options set, those inside of others there: `limits.max_connections`. */
export function fieldsIn(
  options: Options,
  values: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, { field, value: placeholder }] of Object.entries(options)) {
    const value = values[name];
    // A switch that is not given is false. An option with a value may be false by its value.
    if (field === undefined || value === undefined || (!placeholder && value === false)) continue;
    setField(fields, field.split('.'), value);
  }
  return fields;
}

function setField(
  fields: Record<string, unknown>,
  [name = '', ...inner]: readonly string[],
  value: unknown,
): void {
  if (inner.length === 0) fields[name] = value;
  else {
    fields[name] ??= {};
    setField(fields[name] as Record<string, unknown>, inner, value);
  }
}

/** The same fields as a query string: `?account=acme`, or nothing. */
export function queryOf(fields: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams(fields as Record<string, string>);
  return query.size === 0 ? '' : `?${query}`;
}

type Words = Pick<Command<never>, 'options' | 'arguments'>;

/** `--address-window` for the field `limits.address_seconds`, also of a record in a list. */
function namedFor(field: string, words: Words): [name: string, option?: Option] | undefined {
  const fields = [field, field.replace(/^\w+\.\d+\./, '')];
  const isSet = (set: string) => fields.some((name) => `${name}.`.startsWith(`${set}.`));
  const options = Object.entries(words.options ?? {});
  const [name, option] =
    options.find(([, option]) => option.field !== undefined && isSet(option.field)) ??
    options.find(([name, option]) => option.field === undefined && isSet(asField(name))) ??
    [];
  if (name !== undefined) return [`--${name}`, option];
  const [argument] =
    Object.entries(words.arguments ?? {}).find(([name, { field }]) =>
      isSet(field ?? asField(name)),
    ) ?? [];
  return argument === undefined ? undefined : [`<${argument}>`];
}

const asField = (name: string) => name.replaceAll('-', '_');

/**
 * An error of a server about fields that a command line set: it names the options. The message
 * begins with the fields; others in it are between backticks. A request that can't be right is a
 * command line that was not understood. Any other error stays as it is.
 */
export function inOptions(error: unknown, words: Words): unknown {
  if (!(error instanceof RequestFailure)) return error;
  const faults = error.faults ?? [error];
  const sentences = faults.map(({ message, field }) => sentenceOf(message, field, words));
  if (sentences.every((sentence) => sentence === undefined)) return error;
  const message = sentences.map((text, at) => text ?? faults[at]?.message).join('\n- ');
  return error.status === 400 ? new UsageFault(message) : new Failure(message);
}

/** Undefined: no option or argument sets the field. */
function sentenceOf(message: string, field: string | undefined, words: Words): string | undefined {
  const [fields = ''] = /^[a-z][\w.]*(?:, [a-z][\w.]*)*(?=: )/.exec(message) ?? [];
  const named = fields.split(', ').map((name) => namedFor(name, words));
  if (fields === '' || (field ?? fields) !== fields || named.includes(undefined)) return undefined;
  const names = named.flatMap((name) => name?.[0] ?? []).join(', ');
  const sentence = message
    .slice(fields.length)
    .replace(/`([\w.]+)`/g, (text, other: string) => namedFor(other, words)?.[0] ?? text);
  const isTime = named.some((name) => name?.[1]?.value === '<time>');
  return names + (isTime ? withTimes(withSpans(sentence)) : withSpans(sentence));
}

/** Spans and times as a person writes them, in place of seconds. */
const withSpans = (sentence: string) =>
  sentence.replace(/\b(\d{1,12}) seconds\b/g, (_, seconds) => secondsInWords(Number(seconds)));
const withTimes = (sentence: string) =>
  sentence
    .replace(/\b\d{9,12}\b/g, (seconds) => timeInWords(Number(seconds)))
    .replace('epoch seconds', 'a time');
