// Checks values against their schemas, strictly: nothing is coerced, filled in or removed.
import { Ajv, type AnySchema, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';

const ajv = new Ajv({
  strict: false,
  coerceTypes: false,
  useDefaults: false,
  removeAdditional: false,
  allErrors: false,
});

/** The faults of a value by a schema; none when it fits. */
export function faultsIn(schema: AnySchema, value: unknown): ErrorObject[] {
  return ajv.validate(schema, value) ? [] : (ajv.errors ?? []);
}

/** A schema is compiled when its route is first called: all of them would double the start-up. */
export function validatorCompiler(): FastifySchemaCompiler<AnySchema> {
  return ({ schema }) => {
    let compiled: ValidateFunction | undefined;
    return (value: unknown) => {
      compiled ??= ajv.compile(schema);
      if (compiled(value)) return true;
      return { error: validationError(compiled.errors) };
    };
  };
}

/** The form in which Fastify reports a failed check; `errors.ts` turns it into a sentence. */
function validationError(faults: ValidateFunction['errors']): Error {
  return Object.assign(new Error('The request does not fit its schema.'), { validation: faults });
}
