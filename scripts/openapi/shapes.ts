// The parts of an OpenAPI document that we touch, and how its schemas are tidied.

export interface Schema {
  [keyword: string]: unknown;
  $ref?: string;
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  enum?: unknown[];
}

export interface Parameter {
  in: string;
  name: string;
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: unknown;
}

export interface Reference {
  $ref: string;
}

export interface Answer {
  description: string;
  headers?: Record<string, Reference>;
  content?: Record<string, { schema: Schema; example?: unknown }>;
}

export interface Operation {
  operationId?: string;
  summary: string;
  description?: string;
  tags: string[];
  security?: Array<Record<string, string[]>>;
  parameters?: Array<Parameter | Reference>;
  requestBody?: {
    required: boolean;
    content: Record<string, { schema: Schema; example?: unknown }>;
  };
  responses: Record<string, Answer | Reference>;
}

export interface Document {
  openapi: string;
  info: Record<string, unknown>;
  servers: unknown[];
  tags: Array<{ name: string; description: string }>;
  'x-tagGroups': Array<{ name: string; tags: string[] }>;
  security: unknown[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    securitySchemes: Record<string, unknown>;
    schemas: Record<string, Schema>;
    parameters: Record<string, Parameter>;
    headers: Record<string, { description: string; schema: Schema; example?: unknown }>;
    responses: Record<string, Answer>;
  };
}

/** A schema of ours as people would write it. */
export const plain = (schema: object) => tidy(JSON.parse(JSON.stringify(schema)) as Schema);

/** Without annotations of ours; alternatives of constants become an enumeration, a record of any names is said shorter. */
function tidy(schema: Schema): Schema {
  const { contentMediaType: _, patternProperties, anyOf, ...rest } = schema;
  for (const keyword of ['items', 'additionalProperties']) {
    const value = rest[keyword];
    if (isSchema(value)) rest[keyword] = tidy(value);
  }
  if (rest.properties) rest.properties = mapValues(rest.properties, tidy);
  if (patternProperties) {
    rest.additionalProperties = tidy(Object.values(patternProperties)[0] as Schema);
  }
  if (!anyOf) return rest;
  const constants = anyOf.map((one) => one.const);
  return constants.every((constant) => typeof constant === 'string')
    ? { ...rest, type: 'string', enum: constants }
    : { ...rest, anyOf: anyOf.map(tidy) };
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null;
}

export function mapValues<T, R>(
  of: Record<string, T>,
  to: (value: T, key: string) => R,
): Record<string, R> {
  return Object.fromEntries(Object.entries(of).map(([key, value]) => [key, to(value, key)]));
}

/** Sorted by key. */
export function sorted<T>(of: Record<string, T>): Record<string, T> {
  return Object.fromEntries(
    Object.entries(of).sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)),
  );
}

/** The schemas that the document names, and what stands in their place. */
export class NamedSchemas {
  readonly byName: Record<string, Schema> = {};
  readonly #nested: Record<string, Record<string, string>>;

  constructor(nested: Record<string, Record<string, string>>) {
    this.#nested = nested;
  }

  /** Names a schema and answers the reference to it. Errors: when the name stands for another shape. */
  name(schema: Schema, name: string): Schema {
    const whole = this.#withNested(schema, name);
    const text = JSON.stringify(whole);
    const known = Object.entries(this.byName).find(([, other]) => JSON.stringify(other) === text);
    if (known) return { $ref: `#/components/schemas/${known[0]}` };
    if (this.byName[name])
      throw new Error(
        `${name} names two different schemas, give one a name in words.ts:\n${text}\n${JSON.stringify(this.byName[name])}`,
      );
    this.byName[name] = whole;
    return { $ref: `#/components/schemas/${name}` };
  }

  /** Names what the array holds, or the object itself. */
  nameRecord(schema: Schema, name: string): Schema {
    if (schema.type === 'array' && schema.items?.properties) {
      return { ...schema, items: this.name(schema.items, name) };
    }
    return schema.properties ? this.name(schema, name) : schema;
  }

  #withNested(schema: Schema, name: string): Schema {
    const names = this.#nested[name];
    if (!names || !schema.properties) return schema;
    const properties = mapValues(schema.properties, (property, field) => {
      const own = names[field];
      return own ? this.nameRecord(property, own) : property;
    });
    return { ...schema, properties };
  }

  /** The schema that a reference stands for. */
  resolve(schema: Schema): { schema: Schema; name: string } {
    const name = schema.$ref?.slice('#/components/schemas/'.length) ?? '';
    return { schema: this.byName[name] ?? schema, name };
  }
}
