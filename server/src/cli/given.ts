// The values of a command line: arguments by name, options, and the fields of a request's body or
// query.
import { UsageFault } from '../../../kit/src/cli/failures.ts';

/**
 * An option: its flags (`--limit <size>`), the field of the request's body or query that it sets
 * (`expiry`, or `limits.services` inside of another), and the function that parses its text.
 * Errors of `parse`: a usage fault, which is prefixed with the option's name.
 */
export type Choice = readonly [
  flags: string,
  description: string,
  field?: string,
  parse?: (text: string) => unknown,
];

/**
 * The parsed value of a text. Errors: the reader's usage fault, prefixed with the argument's name.
 */
function readValue<T>(name: string, read: (text: string) => T, text: string): T {
  try {
    return read(text);
  } catch (error) {
    if (error instanceof UsageFault) throw new UsageFault(`${name}: ${error.message}`);
    throw error;
  }
}

/** Sets a field, or one inside of another. */
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

export class Given {
  /** The values of the options that name a field. */
  readonly fields: Record<string, unknown> = {};
  /** The options that set a field: `--limit`. */
  readonly options: readonly string[];
  readonly #words: Readonly<Record<string, string | string[] | undefined>>;
  readonly #options: Readonly<Record<string, unknown>>;

  constructor(words: object, options: object, choices: readonly Choice[]) {
    this.#words = words as Record<string, string>;
    const named = choices.map(([flags, , field]) => {
      const [, name = '', value] = /--([\w-]+)( <)?/.exec(flags) ?? [];
      return { name, field, isSwitch: value === undefined };
    });
    this.options = named.filter(({ field }) => field).map(({ name }) => `--${name}`);
    const valued = new Set(named.filter(({ isSwitch }) => !isSwitch).map(({ name }) => name));
    // A switch that is not given is false. An option with a value, such as --active, may be false
    // by its value.
    this.#options = Object.fromEntries(
      Object.entries(options).filter(([name, value]) => value !== false || valued.has(name)),
    );
    for (const { name, field } of named) {
      if (field && this.has(name)) setField(this.fields, field.split('.'), this.#options[name]);
    }
  }

  /** An argument or option, as it was written. */
  word(name: string): string {
    return String(this.#words[name] ?? this.#options[name]);
  }
  /** A sentence in which these values replace their names: `Node <id> is revoked.` */
  text(template: string): string {
    return template.replace(/<(\w+)>/g, (_, name: string) => this.word(name));
  }
  /** The path of a URL, in the same way: `/accounts/<account>`. */
  path(template: string): string {
    return template.replace(/<(\w+)>/g, (_, name: string) => encodeURIComponent(this.word(name)));
  }
  /** An argument, parsed. Errors: a usage fault that names it. */
  parsed<T>(name: string, read: (text: string) => T): T {
    return readValue(`<${name}>`, read, this.word(name));
  }
  /** An argument that may be given several times. Errors: a usage fault that names it. */
  parsedAll<T>(name: string, read: (text: string) => T): T[] {
    const words = [this.#words[name] ?? []].flat();
    return words.map((text) => readValue(`<${name}>`, read, text));
  }
  /** Whether an option was given. */
  has(option: string): boolean {
    return this.#options[option] !== undefined;
  }
  /** The fields as a query string: `?account=acme`, or nothing. */
  query(): string {
    const query = new URLSearchParams(this.fields as Record<string, string>);
    return query.size === 0 ? '' : `?${query}`;
  }
  option(name: string): unknown {
    return this.#options[name];
  }
}
