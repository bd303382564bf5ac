// The values of a command line: arguments by name, options, and the fields of a request's body or
// query.
import { UsageFault } from '../../../kit/src/cli/failures.ts';
import { fieldsIn, queryOf } from '../../../kit/src/cli/fields.ts';
import type { Options } from '../../../kit/src/cli/options.ts';

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

export class Given {
  /** The values of the options that name a field. */
  readonly fields: Record<string, unknown>;
  /** The options that set a field: `--limit`. */
  readonly options: readonly string[];
  readonly #words: Readonly<Record<string, string | string[] | undefined>>;
  readonly #options: Readonly<Record<string, unknown>>;

  constructor(words: object, values: object, options: Options) {
    this.#words = words as Record<string, string>;
    const settings = Object.entries(options).filter(([, { field }]) => field !== undefined);
    this.options = settings.map(([name]) => `--${name}`);
    // A switch that is not given is false. An option with a value, such as --active, may be false
    // by its value.
    this.#options = Object.fromEntries(
      Object.entries(values).filter(([name, value]) => value !== false || options[name]?.value),
    );
    this.fields = fieldsIn(options, this.#options);
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
    return queryOf(this.fields);
  }
  option(name: string): unknown {
    return this.#options[name];
  }
}
