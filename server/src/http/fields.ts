// The fields of the API: one schema for each kind of value, in the spec's words.
import { type Static, type TSchema, Type } from 'typebox';
import { type ApiError, badRequest, errorCodes, invalidField } from '../errors.ts';
import { latestTime } from '../values/expiry.ts';
import { namePattern } from '../values/name.ts';

export const Integer = (description: string, minimum = 0, maximum = Number.MAX_SAFE_INTEGER) =>
  Type.Integer({ description, minimum, maximum });

/** Epoch seconds. Pages and programs have no date after the year 9999. */
export const Timestamp = (description: string, minimum = 0) =>
  Type.Integer({ description, minimum, maximum: latestTime });

export const Text = (description: string, maxLength = 255, minLength = 1) =>
  Type.String({ description, minLength, maxLength });

/** A whole number in a path or a query, where all is text; the API document shows a number. */
export const Digits = (description: string, minimum = 0, maximum?: number) =>
  Type.String({
    description,
    contentSchema: { type: 'integer', minimum, ...(maximum ? { maximum } : {}) },
  });

/** A short name that is used in paths and filters. */
export const Name = (description: string) => Type.String({ description, pattern: namePattern });

/** One of several words. */
export const OneOf = <T extends string[]>(words: readonly [...T], description: string) =>
  Type.Enum(words, { type: 'string', description });

export const Strict = <T extends Record<string, TSchema>>(properties: T, description?: string) =>
  Type.Object(properties, { additionalProperties: false, ...(description ? { description } : {}) });

/** A value, or null. */
export const orNull = <T extends TSchema>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description });

/** An object that has a name in the API document. */
export const Named = <T extends Record<string, TSchema>>(
  title: string,
  properties: T,
  description?: string,
) =>
  Type.Object(properties, {
    title,
    additionalProperties: false,
    ...(description ? { description } : {}),
  });

const message = Type.String({
  description: 'What is wrong, for a person. It may be improved on any day.',
});

/** The body of an error under /v0; its code is in the `exitward-error` header. */
export const Message = Named('Message', { message }, 'An error under `/v0`.');

export const ErrorCode = Type.Enum([...errorCodes], {
  title: 'ErrorCode',
  type: 'string',
  description: 'What is wrong, for programs: one word, which stays as it is.',
});

/** The body of an error everywhere else. */
export const ErrorBody = Named(
  'Error',
  {
    message,
    code: ErrorCode,
    field: Type.Optional(
      Type.String({ description: 'The field of the request at fault: `expiry`, `rows.3.at`.' }),
    ),
    faults: Type.Optional(
      Type.Array(
        Type.Object({
          field: Type.String({ description: 'The field at fault.' }),
          message: Type.String({ description: 'What is wrong with it, for a person.' }),
        }),
        { description: 'All faults, where a record or a manifest has several.' },
      ),
    ),
  },
  'An error.',
);

export const Location = Named('Location', {
  city: Type.String({ description: 'City that houses the server.' }),
  country: Type.String({ description: 'ISO-3166-1 alpha-2 country code.' }),
  latitude: Type.Number({ description: 'Latitude.' }),
  longitude: Type.Number({ description: 'Longitude.' }),
});

/** Bytes. Inventories and usage batches are larger than customers' requests. */
export const largeBodyLimit = 8 * 1024 * 1024;

export const EmptyQuery = Strict({});

/** The response of a "remove all" to a principal that may undo it. */
export const Removed = Named('RemovedEntries', {
  removal_id: Type.Union([Integer('Undoes it, for seven days.', 1), Type.Null()], {
    description: 'Null where there was nothing to remove.',
  }),
  entries: Integer('How many entries are gone.'),
});

export const IdPath = Type.Object({ id: Digits('Integer entry id from the list.', 1) });
export type IdPath = Static<typeof IdPath>;

/** The integer of an `{id}` path; undefined if it is none: then no record has it. */
export function idOf(text: string): number | undefined {
  return /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text))
    ? Number(text)
    : undefined;
}

/** The words of a comma-separated query parameter. Errors: 400 for an empty word. */
export function words(field: string, text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined;
  const list = text.split(',');
  if (list.some((word) => word === '')) {
    throw invalidField(field, `expected names separated by commas, without empty ones.`);
  }
  return list;
}

export interface SchemaFault {
  instancePath: string;
  keyword: string;
  params: Record<string, unknown>;
  message?: string;
}

/** The error for the faults of a schema check: the field, and what was expected. */
export function schemaError(faults: readonly SchemaFault[], where: string): ApiError {
  const { instancePath, ...fault } = mainFault(faults);
  const path = instancePath.slice(1).replaceAll('/', '.');
  const { missingProperty, additionalProperty } = fault.params;
  const inner = missingProperty ?? additionalProperty;
  const field = [path, inner].filter((part) => part !== undefined && part !== '').join('.');
  const sentence = faultSentence(fault, where, unitOf(field));
  return field ? invalidField(field, sentence) : badRequest(`The ${where}: ${sentence}`);
}

/**
 * Of a value of several kinds (`anyOf`) that fits none: the fault by the kind whose type it has, or
 * one that names all types. Such a value may be inside of another one.
 */
function mainFault(faults: readonly SchemaFault[]): SchemaFault {
  const first = faults[0] as SchemaFault;
  const unions = faults.filter(({ keyword }) => keyword === 'anyOf');
  const isIn = (inner: SchemaFault, outer: SchemaFault) =>
    inner.instancePath.startsWith(`${outer.instancePath}/`);
  const union = unions.find((outer) => !unions.some((inner) => isIn(inner, outer)));
  if (!union) return first;
  const isOfType = ({ keyword, instancePath }: SchemaFault) =>
    keyword === 'type' && instancePath === union.instancePath;
  const types = faults.filter(isOfType).map(({ params }) => String(params.type));
  const other = faults.find((fault) => fault !== union && !isOfType(fault) && !isIn(union, fault));
  return other ?? { ...union, keyword: 'type', params: { type: types.join(' or ') } };
}

/** The unit that the name of a field ends with; `expire` of /v0 is a lifetime. */
const unitOf = (field: string) =>
  field === 'expire' ? 'second' : (/_(second|byte)s$/.exec(field)?.[1] ?? '');

function faultSentence(
  { keyword, params, message }: Omit<SchemaFault, 'instancePath'>,
  where: string,
  unit: string,
) {
  switch (keyword) {
    case 'required':
      return `is missing from the ${where}.`;
    case 'additionalProperties':
      return `is not a ${where === 'query' ? 'query parameter' : 'field'} of this request.`;
    case 'type':
      // In a query all is text: another type means that there are several.
      if (where === 'query') return 'is given more than once; expected it once.';
      return `expected ${article(String(params.type))}.`;
    case 'pattern':
      return `expected ${patterns[String(params.pattern)] ?? `the form ${params.pattern}`}.`;
    case 'minimum':
      return `expected at least ${counted(params.limit, unit)}.`;
    case 'maximum':
      return `expected at most ${counted(params.limit, unit)}.`;
    case 'minLength':
    case 'minItems':
      return `expected at least ${amount(keyword, params)}.`;
    case 'maxLength':
    case 'maxItems':
      return `expected at most ${amount(keyword, params)}.`;
    case 'uniqueItems':
      return 'expected each item once.';
    case 'enum':
      return `expected one of ${(params.allowedValues as unknown[]).join(', ')}.`;
    case 'const':
      return `expected ${JSON.stringify(params.allowedValue)}.`;
    default:
      return `${message ?? 'is not valid'}.`;
  }
}

/** Patterns in words. */
const patterns: Record<string, string> = {
  [namePattern]:
    "letters, digits, '.', '_', '@' or '-', beginning with a letter or digit, at most 63 characters",
  '^[A-Z]{2}$': 'two upper-case letters',
  '^[A-Z-]{1,32}$': 'an HTTP method in upper-case letters',
  '^[^\\s/@?#]{1,255}$': 'a hostname or an address, at most 255 characters',
  '^vpn-[a-z0-9]{1,16}$': 'the name of a VPN service, such as vpn-ikev2',
  '^[a-z][a-z0-9-]{0,31}$': 'the name of a service, such as proxy or vpn-ikev2',
  '^[a-z][a-z0-9_]{0,31}$': 'a word of at most 32 lower-case letters, digits and underscores',
  '^[a-z][a-z0-9_]{0,63}$': 'a word of at most 64 lower-case letters, digits and underscores',
};

/** "1 character", "32 items". */
function amount(keyword: string, params: SchemaFault['params']): string {
  return counted(params.limit, keyword.endsWith('Length') ? 'character' : 'item');
}

/** "60 seconds"; without a noun "60". */
function counted(number: unknown, noun: string): string {
  if (noun === '') return String(number);
  return `${number} ${number === 1 ? noun : `${noun}s`}`;
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}
