// A manifest whose body does not fit its schema: all faults, and the fields that can be read.
import { type TArray, type TObject, type TSchema, Type } from 'typebox';
import type { ApiError } from '../../errors.ts';
import { errorOf, faultsOf } from '../../errors.ts';
import { type SchemaFault, Strict, schemaError } from '../../http/fields.ts';
import { faultsIn } from '../../http/validation.ts';
import type { Manifest, Unreadable } from '../../manifests/manifests.ts';

interface Schemas {
  server: TObject;
  account: TObject;
  user: TObject;
  contract_server: TObject;
}
type Fields = Record<string, unknown>;

/** The response lists no more. */
const maxFaults = 100;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/**
 * Reads the records of a document whose own fields fit. Records with a fault have the fields that
 * can be read; after a hundred faults the other records are left out.
 */
export function readRecords(
  { servers, accounts }: { servers?: unknown; accounts?: unknown },
  schemas: Schemas,
): { document: Pick<Manifest, 'servers' | 'accounts'>; unreadable: Unreadable } {
  const unreadable = new Map<string, ApiError>();
  let count = 0;
  const read = (schema: TObject, value: unknown, where: string): Fields => {
    const errors = Array.from(schemaFaults(schema, value, where));
    const [first] = errors;
    const fields = isObject(value) ? value : {};
    if (!first) return fields;
    count += errors.length;
    unreadable.set(where, errorOf(first, errors.flatMap(faultsOf)));
    const names = new Set(errors.map(({ field = '' }) => field.slice(where.length + 1)));
    const isReadable = ([name]: [string, unknown]) =>
      !Array.from(names).some((faulty) => faulty === name || faulty.startsWith(`${name}.`));
    return { name: '', ...Object.fromEntries(Object.entries(fields).filter(isReadable)) };
  };
  const readAll = (schema: TObject, list: unknown, where: string) =>
    listIn(list).flatMap((value, at) =>
      count < maxFaults ? [read(schema, value, `${where}/${at}`)] : [],
    );
  const account = Strict({
    ...schemas.account.properties,
    users: Type.Optional(Type.Array(Type.Unknown())),
    servers: Type.Optional(Type.Array(Type.Unknown())),
  });
  const document = {
    servers: readAll(schemas.server, servers, 'servers'),
    accounts: readAll(account, accounts, 'accounts').map((fields, at) => ({
      ...fields,
      users: readAll(schemas.user, fields.users, `accounts/${at}/users`),
      servers: readAll(schemas.contract_server, fields.servers, `accounts/${at}/servers`),
    })),
  };
  return { document: document as unknown as Manifest, unreadable };
}

/** The faults of the parts of a value that have one, or else its own. `at`: the path to it. */
function* schemaFaults(schema: TSchema, value: unknown, at: string): Generator<ApiError> {
  const faults = faultsIn(schema, value);
  if (faults.length === 0) return;
  const { properties, required = [], items } = schema as Partial<TObject & TArray>;
  const fault = (keyword: string, params: SchemaFault['params']) =>
    schemaError([{ instancePath: `/${at}`, keyword, params }], 'body');
  let isInParts = false;
  const parts: Array<[string, TSchema, unknown]> = [];
  if (properties && isObject(value)) {
    for (const name of new Set([...required, ...Object.keys(value)])) {
      const inner = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (inner && value[name] !== undefined) parts.push([name, inner, value[name]]);
      else {
        isInParts = true;
        yield inner
          ? fault('required', { missingProperty: name })
          : fault('additionalProperties', { additionalProperty: name });
      }
    }
  } else if (items && Array.isArray(value)) {
    for (const [index, item] of value.entries()) parts.push([String(index), items, item]);
  }
  for (const [name, inner, part] of parts) {
    for (const error of schemaFaults(inner, part, `${at}/${name}`)) {
      isInParts = true;
      yield error;
    }
  }
  if (isInParts) return;
  yield schemaError(
    faults.map((own) => ({ ...own, instancePath: `/${at}${own.instancePath}` })),
    'body',
  );
}
