// Examples of requests and responses, made from the schemas and the examples of single fields.
import { examples } from './examples.ts';
import { mapValues, type NamedSchemas, type Schema } from './shapes.ts';

/** An example value. `field` and `record` name what it is of. */
export function sample(named: NamedSchemas, of: Schema, field = '', record = ''): unknown {
  const { schema, name } = named.resolve(of);
  const within = name || record;
  const ofRecord = `${record}.${field}`;
  const given = examples[ofRecord in examples ? ofRecord : field];
  if (given !== undefined && fits(schema, given)) return given;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return sample(named, schema.anyOf[0] as Schema, field, record);
  switch (schema.type) {
    case 'object':
      if (schema.properties) {
        const shown = Object.entries(schema.properties).filter(
          ([, property]) => property.description !== 'Ignored.',
        );
        return mapValues(Object.fromEntries(shown), (property, key) =>
          sample(named, property, key, within),
        );
      }
      return {};
    case 'array':
      return [sample(named, schema.items as Schema, singular(field), within)];
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return schema.minimum ?? 0;
    case 'string':
      return 'text';
    default:
      return null;
  }
}

function fits(schema: Schema, value: unknown): boolean {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema as {
    minimum?: number;
    maximum?: number;
  };
  if (schema.enum) return schema.enum.includes(value);
  if (schema.const !== undefined) return schema.const === value;
  if (schema.anyOf) return schema.anyOf.some((schema) => fits(schema, value));
  if (typeof value === 'number') {
    return /^(integer|number)$/.test(schema.type ?? '') && value >= minimum && value <= maximum;
  }
  if (value === null) return schema.type === 'null';
  if (Array.isArray(value)) return schema.type === 'array';
  if (typeof value === 'object') return schema.type === 'object' && !schema.properties;
  return schema.type === typeof value;
}

/** `tokens` -> `token`. */
export function singular(noun: string): string {
  if (/(status|ss)$/.test(noun)) return noun;
  return noun.replace(/ies$/, 'y').replace(/([^s])s$/, '$1');
}
