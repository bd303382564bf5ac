// The parts of an OpenAPI document that we touch, and how it shows the schemas of the server.
import { isDeepStrictEqual } from 'node:util';

export interface Schema {
  [keyword: string]: unknown;
  $ref?: string;
  title?: string;
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  contentSchema?: Schema;
  patternProperties?: Record<string, Schema>;
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

export function mapValues<T, R>(
  of: Record<string, T>,
  to: (value: T, key: string) => R,
): Record<string, R> {
  return Object.fromEntries(Object.entries(of).map(([key, value]) => [key, to(value, key)]));
}

/** References to these components, each under its own name. */
export function referencesTo(
  kind: keyof Document['components'],
  names: readonly string[],
): Record<string, Reference> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/${kind}/${name}` }]));
}

/** Sorted by key. */
export function sorted<T>(of: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(of).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

/** The schemas that the document names, and what stands in their place. */
export class NamedSchemas {
  readonly byName: Record<string, Schema> = {};

  /**
   * A schema of ours as people would write it. Those that have a name are references to it;
   * alternatives of constants become an enumeration, a record of any names is said shorter. Errors:
   * when a name stands for two shapes.
   */
  shown(schema: object): Schema {
    const {
      title,
      contentMediaType: _,
      contentSchema,
      patternProperties,
      anyOf,
      ...rest
    } = schema as Schema;
    if (contentSchema) return { ...contentSchema, description: rest.description };
    if (rest.properties)
      rest.properties = mapValues(rest.properties, (property) => this.shown(property));
    if (rest.items) rest.items = this.shown(rest.items);
    if (typeof rest.additionalProperties === 'object') {
      rest.additionalProperties = this.shown(rest.additionalProperties);
    }
    if (patternProperties) {
      rest.additionalProperties = this.shown(Object.values(patternProperties)[0] ?? {});
    }
    if (title !== undefined) return this.#named(title, rest);
    if (!anyOf) return rest;
    const constants = anyOf.map((schema) => schema.const);
    return constants.every((constant) => typeof constant === 'string')
      ? { ...rest, type: 'string', enum: constants }
      : { ...rest, anyOf: anyOf.map((schema) => this.shown(schema)) };
  }

  #named(name: string, schema: Schema): Schema {
    const { [name]: shape = schema } = this.byName;
    if (!isDeepStrictEqual(shape, schema)) throw new Error(`${name} names two different schemas.`);
    this.byName[name] = schema;
    return { $ref: `#/components/schemas/${name}` };
  }

  /** The schema that a reference stands for. */
  resolve(schema: Schema): { schema: Schema; name: string } {
    const name = schema.$ref?.slice('#/components/schemas/'.length) ?? '';
    return { schema: this.byName[name] ?? schema, name };
  }
}
