// Builds schemas: plain JSON Schema with the static types of TypeBox, of which nothing is loaded: its hundreds of files would cost each start.
import type { TSchema, Type as TypeBox } from 'typebox';

type Options = Readonly<Record<string, unknown>>;
type Properties = Readonly<Record<string, object>>;

/** The schemas of properties that may be absent. JSON Schema says it at the object that has them. */
const optional = new WeakSet<object>();

function objectOf(properties: Properties, options?: Options) {
  const required = Object.keys(properties).filter((name) => !optional.has(properties[name] ?? {}));
  const needed = required.length > 0 ? { required } : {};
  return { type: 'object', ...needed, properties, ...options };
}

function optionalOf(schema: object) {
  const own = { ...schema };
  optional.add(own);
  return own;
}

const builders = {
  Array: (items: object, options?: Options) => ({ type: 'array', items, ...options }),
  Boolean: (options?: Options) => ({ type: 'boolean', ...options }),
  Enum: (values: readonly string[], options?: Options) => ({ enum: values, ...options }),
  Integer: (options?: Options) => ({ type: 'integer', ...options }),
  Literal: (value: string, options?: Options) => ({ type: typeof value, const: value, ...options }),
  Null: (options?: Options) => ({ type: 'null', ...options }),
  Number: (options?: Options) => ({ type: 'number', ...options }),
  Object: objectOf,
  Optional: optionalOf,
  Partial: ({ properties }: { properties: Properties }, options?: Options) => {
    const each = Object.entries(properties).map(([name, schema]) => [name, optionalOf(schema)]);
    return objectOf(Object.fromEntries(each), options);
  },
  /** Of any names. */
  Record: (_: TSchema, value: object, options?: Options) => ({
    type: 'object',
    patternProperties: { '^.*$': value },
    ...options,
  }),
  String: (options?: Options) => ({ type: 'string', ...options }),
  Union: (anyOf: readonly object[], options?: Options) => ({ anyOf, ...options }),
  Unknown: (options?: Options) => ({ ...options }),
};

/** The builders that are used here, each with the type that TypeBox gives it. */
export const Type = builders as unknown as Pick<typeof TypeBox, keyof typeof builders>;
