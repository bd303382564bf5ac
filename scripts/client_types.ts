// Writes client/src/openapi.ts and console/src/openapi.ts from docs/openapi.json: npm run
// client-types
import { readFileSync, writeFileSync } from 'node:fs';
import { argv, stdout } from 'node:process';
import { fileURLToPath } from 'node:url';
import type {
  Answer,
  Document,
  Operation,
  Parameter,
  Reference,
  Schema,
} from './openapi/shapes.ts';

/** A committed file, and the audiences whose operations are in it. */
export interface ClientTypes {
  file: URL;
  /** As its first line says it. */
  of: string;
  audiences: string[];
}

export const clientTypes: readonly ClientTypes[] = [
  {
    file: new URL('../client/src/openapi.ts', import.meta.url),
    of: 'the account API',
    audiences: ['/v0'],
  },
  {
    file: new URL('../console/src/openapi.ts', import.meta.url),
    of: "the console's API and of the operator API",
    audiences: ['/console', '/admin'],
  },
];

const documentFile = new URL('../docs/openapi.json', import.meta.url);

/** The records and the operations of these audiences, as TypeScript; formatted as Biome would. */
export function clientTypesText(
  { of, audiences }: ClientTypes,
  document = JSON.parse(readFileSync(documentFile, 'utf8')) as Document,
): string {
  const operations = operationsOf(document, audiences);
  const records = recordsOf(
    document,
    operations.map(({ operation }) => operation),
  );
  return [
    `// The records and operations of ${of}: written by \`npm run client-types\` from docs/openapi.json.`,
    ...records.map(([name, schema]) => recordText(name, schema)),
    errorCodeText(document),
    `/** Method and path of each operation. */\nexport const operations = {\n${operations
      .map(({ id, method, path }) =>
        fitted({ before: `${id}: `, parts: [`method: '${method}'`, `path: '${path}'`] }, ',', '  '),
      )
      .join('')}} as const;`,
    `/** The parameters of each operation, and its response. */\nexport interface Operations {\n${operations
      .map(({ id, path, operation }) => operationText(id, path, operation, document))
      .join('')}}\n`,
  ].join('\n\n');
}

interface Named {
  id: string;
  method: string;
  path: string;
  operation: Operation;
}

function operationsOf({ paths }: Document, audiences: string[]): Named[] {
  return Object.entries(paths)
    .filter(([path]) =>
      audiences.some((audience) => path === audience || path.startsWith(`${audience}/`)),
    )
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        id: operation.operationId ?? '',
        method: method.toUpperCase(),
        path,
        operation,
      })),
    );
}

/** The named schemas that these operations speak of, directly or within one another, by name. */
function recordsOf(document: Document, operations: Operation[]): Array<[string, Schema]> {
  const schemas = new Map<string, Schema>();
  const look = (value: unknown): void => {
    const names = JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g);
    for (const [, name = ''] of names) {
      const schema = document.components.schemas[name];
      if (!schema || schemas.has(name) || name === 'ErrorCode') continue;
      schemas.set(name, schema);
      look(schema);
    }
  };
  look(operations);
  return [...schemas].sort(([a], [b]) => (a < b ? -1 : 1));
}

function recordText(name: string, schema: Schema): string {
  return `${comment(schema, '')}export interface ${name} ${fieldsText(schema, '')}`;
}

/** The codes of errors. No operation refers to them: a header carries them. */
function errorCodeText({ components }: Document): string {
  const codes = components.schemas.ErrorCode?.enum?.map(literal) ?? [];
  const line = `export type ErrorCode = ${codes.join(' | ')};`;
  const union = codes.map((code) => `\n  | ${code}`).join('');
  return `/** The code of an error, for programs. */\n${line.length <= widest ? line : `export type ErrorCode =${union};`}`;
}

/** The fields of an object, in braces. */
function fieldsText({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const fields = Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? '' : '?';
    const field = fieldText(`${inner}${name}${mark}:`, typeText(schema, inner), inner);
    return `${comment(schema, inner)}${field};\n`;
  });
  return `{\n${fields.join('')}${indent}}`;
}

/** A long union has a line for each of its types. */
function fieldText(name: string, type: string, indent: string): string {
  const line = `${name} ${type}`;
  if (line.length < widest || type.includes('\n')) return line;
  return `${name}${type
    .split(' | ')
    .map((part) => `\n${indent}  | ${part}`)
    .join('')}`;
}

function comment({ description }: Schema, indent: string): string {
  return description ? `${indent}/** ${description} */\n` : '';
}

/** Errors: for a schema that is written in a way not met so far. */
function typeText(schema: Schema, indent: string): string {
  const { $ref, type, items, properties, anyOf, additionalProperties } = schema;
  if ($ref) return $ref.slice('#/components/schemas/'.length);
  if (schema.enum) return schema.enum.map(literal).join(' | ');
  if ('const' in schema) return literal(schema.const);
  if (anyOf) return anyOf.map((schema) => typeText(schema, indent)).join(' | ');
  if (type === 'array' && items) {
    const itemText = typeText(items, indent);
    return (items.enum ?? items.anyOf ?? []).length > 1 ? `(${itemText})[]` : `${itemText}[]`;
  }
  if (properties) return fieldsText(schema, indent);
  if (type === 'object' && typeof additionalProperties === 'object') {
    const inner = `${indent}  `;
    return `{\n${inner}[name: string]: ${typeText(additionalProperties as Schema, inner)};\n${indent}}`;
  }
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'string' || type === 'boolean' || type === 'null') return type;
  if (type === undefined) return 'unknown';
  throw new Error(`the schema is not understood: ${JSON.stringify(schema)}`);
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
}

function operationText(
  id: string,
  path: string,
  { parameters = [], requestBody, responses }: Operation,
  document: Document,
): string {
  const resolved = parameters.map((parameter) => resolve(parameter, document));
  const body = requestBody?.content['application/json']?.schema;
  const given: Part[] = [
    ...parametersPart('path', resolved),
    ...parametersPart('query', resolved),
    ...(body ? [`body: ${typeText(body, '')}`] : []),
  ];
  const good = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  if (good.length === 0) throw new Error(`${path}: ${id} never succeeds`);
  const bodies = new Set(good.map(([, response]) => bodyText(response as Answer)));
  return [
    `  ${id}: {\n`,
    given.length > 0
      ? fitted({ before: 'given: ', parts: given }, ';', '    ')
      : '    given: object;\n',
    `    response: ${[...bodies].join(' | ')};\n`,
    '  };\n',
  ].join('');
}

/** The type of a body: JSON by its schema, anything else as text, or nothing. */
function bodyText({ content }: Answer): string {
  if (!content) return 'undefined';
  const schema = content['application/json']?.schema;
  return schema ? typeText(schema, '    ') : 'string';
}

/** A field of an object type: as it is written, or an object again. */
type Part = string | { before: string; parts: Part[] };

const widest = 100;

/** An object in braces on one line where that fits, else with a line for each of its parts. */
function fitted(part: Part, separator: ',' | ';', indent: string): string {
  if (typeof part === 'string') {
    const [name = '', type = ''] = part.split(/(?<=:) (.*)/s);
    return `${fieldText(`${indent}${name}`, type, indent)}${separator}\n`;
  }
  const line = `${indent}${oneLine(part, separator)}${separator}\n`;
  if (line.length <= widest + 1) return line;
  const inner = part.parts.map((part) => fitted(part, separator, `${indent}  `));
  return `${indent}${part.before}{\n${inner.join('')}${indent}}${separator}\n`;
}

function oneLine(part: Part, separator: ',' | ';'): string {
  if (typeof part === 'string') return part;
  const parts = part.parts.map((part) => oneLine(part, separator));
  return `${part.before}{ ${parts.join(`${separator} `)} }`;
}

function resolve(parameter: Parameter | Reference, { components }: Document): Parameter {
  if (!('$ref' in parameter)) return parameter;
  const referenced = components.parameters[parameter.$ref.slice('#/components/parameters/'.length)];
  if (!referenced) throw new Error(`${parameter.$ref} is not there`);
  return referenced;
}

/**
 * The parameters of the path or the query, as one field, which is there where one of them must be;
 * nothing when there are none.
 */
function parametersPart(where: 'path' | 'query', parameters: Parameter[]): Part[] {
  const own = parameters.filter((parameter) => parameter.in === where);
  const field = own.some(({ required }) => required) ? where : `${where}?`;
  const parts = own.map(
    ({ name, required, schema }) => `${name}${required ? '' : '?'}: ${typeText(schema, '')}`,
  );
  return parts.length > 0 ? [{ before: `${field}: `, parts }] : [];
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  for (const types of clientTypes) {
    writeFileSync(types.file, clientTypesText(types));
    stdout.write(`${fileURLToPath(types.file)}\n`);
  }
}
