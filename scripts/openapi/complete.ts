// Turns the plain document, as the routes' schemas give it, into the one that we publish.

import { ErrorBody, ErrorCodes, Message } from '../../server/src/http/fields.ts';
import { components, type ErrorBodies } from './components.ts';
import { operationIdOf, pascal, recordOf } from './naming.ts';
import type { OperationWords } from './operation_words.ts';
import { sample } from './samples.ts';
import {
  type Answer,
  type Document,
  mapValues,
  NamedSchemas,
  type Operation,
  type Parameter,
  type Reference,
  type Schema,
  sorted,
  tidy,
} from './shapes.ts';
import { description, errorWords, nested, numbers, operationWords, tagGroups } from './words.ts';

export interface Variants {
  /** By the path of a route, if it is of one variant only. */
  get(path: string): 'current' | 'earlier' | undefined;
}

type PlainPaths = Record<string, Record<string, Operation>>;

const methodOrder = ['get', 'post', 'put', 'patch', 'delete'];
const audiences = ['/v0', '/console', '/admin', '/node'];
const securityOf: Record<string, string> = {
  '/v0': 'api_token',
  '/console': 'console_session',
  '/admin': 'operator_token',
  '/node': 'node_token',
};

/** The component of the 401 of an audience: its suffix. */
const unauthorizedOf: Record<string, string> = {
  '/v0': '',
  '/console': 'Cookie',
  '/admin': 'Bearer',
  '/node': 'Bearer',
};

const audienceOf = (path: string) => audiences.find((one) => path.startsWith(one)) ?? '';

/** The published document. Errors: an Error for a route that it cannot name, or whose tag is not known. */
export function complete(plain: PlainPaths, variants: Variants, version: string): Document {
  const named = new NamedSchemas(nested);
  const code = named.name(tidy(plainOf(ErrorCodes)), 'ErrorCode');
  const error = tidy(plainOf(ErrorBody));
  const bodies: ErrorBodies = {
    v0: named.name(tidy(plainOf(Message)), 'Message'),
    others: named.name({ ...error, properties: { ...error.properties, code } }, 'Error'),
  };
  const order = (path: string) => `${audiences.indexOf(audienceOf(path))} ${path}`;
  const paths = Object.keys(plain).sort((one, other) => (order(one) < order(other) ? -1 : 1));
  const completed = Object.fromEntries(
    paths.map((path) => [path, completePath(named, path, plain[path] ?? {}, variants.get(path))]),
  );
  const used = new Set(
    Object.values(completed).flatMap((item) => Object.values(item).flatMap(({ tags }) => tags)),
  );
  const known = Object.values(tagGroups).flatMap((tags) => Object.entries(tags));
  for (const tag of used) {
    if (!known.some(([name]) => name === tag))
      throw new Error(`the tag ${tag} has no words; see words.ts`);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Exitward',
      version,
      summary: 'The control plane of a proxy and VPN network.',
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [],
    tags: known
      .filter(([name]) => used.has(name))
      .map(([name, text]) => ({ name, description: text })),
    'x-tagGroups': Object.entries(tagGroups).map(([name, tags]) => ({
      name,
      tags: Object.keys(tags).filter((tag) => used.has(tag)),
    })),
    security: [],
    paths: completed,
    components: components(bodies, sorted(named.byName), named),
  };
}

const plainOf = (schema: object) => JSON.parse(JSON.stringify(schema)) as Schema;

function completePath(
  named: NamedSchemas,
  path: string,
  item: Record<string, Operation>,
  variant: 'current' | 'earlier' | undefined,
): Record<string, Operation> {
  const methods = methodOrder.filter((method) => item[method]);
  return Object.fromEntries(
    methods.map((method) => [
      method,
      completeOperation(named, method, path, item[method] as Operation, variant),
    ]),
  );
}

function completeOperation(
  named: NamedSchemas,
  method: string,
  path: string,
  plain: Operation,
  variant: 'current' | 'earlier' | undefined,
): Operation {
  const words = operationWords[`${method} ${path}`] ?? {};
  const answers = Object.entries(plain.responses).filter(([status]) => Number(status) < 300);
  const lists = answers.some(
    ([, answer]) => Object.values((answer as Answer).content ?? {})[0]?.schema.type === 'array',
  );
  const operationId = words.id ?? operationIdOf(method, path, lists);
  const only = variant
    ? `**${variant === 'current' ? 'Current' : 'Earlier'} variant only.**`
    : undefined;
  const text = [only, words.description ?? plain.description].filter(Boolean).join(' ');
  const parameters = parametersOf(named, method, path, plain.parameters ?? []);
  const body = plain.requestBody && bodyOf(named, method, path, operationId, plain, words);
  const security = plain.security ?? [{ [securityOf[audienceOf(path)] ?? '']: [] }];
  return {
    operationId,
    summary: plain.summary,
    ...(text ? { description: text } : {}),
    tags: plain.tags,
    security,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: body } : {}),
    responses: responsesOf(named, method, path, plain, words, lists),
  };
}

function parametersOf(
  named: NamedSchemas,
  method: string,
  path: string,
  plain: Array<Parameter | Reference>,
): Array<Parameter | Reference> {
  const own = (plain as Parameter[]).map((parameter): Parameter => {
    const { description: text, ...schema } = tidy(parameter.schema);
    const bounds = numbers[parameter.name];
    const shape: Schema =
      parameter.in === 'path' && parameter.name === 'id'
        ? { type: 'integer', minimum: 1 }
        : parameter.in === 'query' && bounds
          ? { type: 'integer', ...bounds }
          : schema;
    return {
      name: parameter.name,
      in: parameter.in,
      ...(parameter.required ? { required: true } : {}),
      description: parameter.description ?? text ?? '',
      schema: shape,
      ...(parameter.in === 'path' ? { example: sample(named, shape, parameter.name) } : {}),
    };
  });
  const isV0 = audienceOf(path) === '/v0';
  const isList = /\/(ip-authlist|whitelist|overrides)/.test(path) && isV0;
  const headers = [
    ...(isV0 && method === 'get' ? ['IfNoneMatch'] : []),
    ...(isV0 && method !== 'post' ? ['IfMatch'] : []),
    ...(isV0 && method === 'post' ? ['IdempotencyKey'] : []),
    ...(isList && (method === 'post' || method === 'patch') ? ['Prefer'] : []),
    ...(path === '/node/changes' ? ['LastEventId'] : []),
  ];
  return [...own, ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
}

function bodyOf(
  named: NamedSchemas,
  method: string,
  path: string,
  operationId: string,
  plain: Operation,
  words: OperationWords,
): Operation['requestBody'] {
  const record = words.record ?? recordOf(path);
  const byMethod: Record<string, string> = { post: `New${record}`, patch: `${record}Changes` };
  const name =
    words.body ?? (words.id ? pascal(operationId) : (byMethod[method] ?? `${record}Settings`));
  const content = mapValues(plain.requestBody?.content ?? {}, ({ schema: plainSchema }) => {
    const schema = named.nameRecord(tidy(plainSchema), name);
    return { schema, example: sample(named, schema) };
  });
  return { required: plain.requestBody?.required ?? true, content };
}

function responsesOf(
  named: NamedSchemas,
  method: string,
  path: string,
  plain: Operation,
  words: OperationWords,
  lists: boolean,
): Operation['responses'] {
  const isV0 = audienceOf(path) === '/v0';
  const record = words.record ?? recordOf(path);
  // As `list_pages.ts` of the API reads them: with a Link, and with counts.
  const isPaged =
    !isV0 && lists && (plain.parameters as Parameter[])?.some(({ name }) => name === 'sort');
  const responses: Operation['responses'] = {};
  for (const [status, answer] of Object.entries(plain.responses)) {
    if (Number(status) >= 300) continue;
    responses[status] = success(
      named,
      method,
      path,
      Number(status),
      answer as Answer,
      words,
      record,
      lists,
      isPaged,
    );
  }
  if (isV0 && method === 'get') responses['304'] = { $ref: '#/components/responses/NotModified' };
  const documented = Object.keys(plain.responses)
    .map(Number)
    .filter((status) => status >= 400);
  const everywhere = [400, 401, 404, 405, 500, 503];
  const usual = [
    ...(method === 'get' ? [] : [403]),
    ...(isV0 ? [429] : []),
    ...(isV0 && method !== 'post' ? [412] : []),
    // A key that stood for another request.
    ...(isV0 && method === 'post' ? [409] : []),
  ];
  for (const status of new Set([...documented, ...everywhere, ...usual])) {
    const { name } = errorWords[status] ?? {};
    if (!name)
      throw new Error(`${method} ${path} answers ${status}, which has no words; see words.ts`);
    const own = words.statuses?.[status];
    const reference = {
      $ref: `#/components/responses/${isV0 ? 'V0' : ''}${name}${name === 'Unauthorized' ? unauthorizedOf[audienceOf(path)] : ''}`,
    };
    // A reference may carry a description of its own in OpenAPI 3.1.
    responses[status] = own ? { ...reference, description: own } : reference;
  }
  return responses;
}

function success(
  named: NamedSchemas,
  method: string,
  path: string,
  status: number,
  plain: Answer,
  words: OperationWords,
  record: string,
  lists: boolean,
  isPaged = false,
): Answer {
  const isV0 = audienceOf(path) === '/v0';
  const usual: Record<string, string> = {
    get: lists ? 'The list; `[]` when it is empty.' : 'The record.',
    patch: 'The complete record as it is now.',
    put: 'The record as it is now.',
  };
  const general: Record<number, string> = {
    201: 'Created. `Location` is its path from now on.',
    204: 'Done. The body is empty.',
  };
  const [plainType, media] = Object.entries(plain.content ?? {})[0] ?? [];
  const stream = words.contentType ? media?.schema.description : undefined;
  const text =
    words.statuses?.[status] ??
    stream ??
    general[status] ??
    usual[method] ??
    'Done; the body says what came of it.';
  const headers = [
    ...(status === 201 && path !== '/node/join' ? ['Location'] : []),
    ...(isV0 && status !== 204 ? ['ETag'] : []),
    ...(isV0 &&
    (method === 'post' || method === 'patch') &&
    /authlist|whitelist|overrides/.test(path)
      ? ['Preference-Applied']
      : []),
    ...(!isV0 && lists && method === 'get' ? ['Link'] : []),
    ...(isPaged ? ['Exitward-Total', 'Exitward-Found'] : []),
    'X-Request-Id',
  ];
  const references = Object.fromEntries(
    headers.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
  const answer: Answer = { description: text, headers: references };
  if (status === 204 || !media || !plainType) return answer;
  if (words.contentType)
    return { ...answer, content: { [words.contentType]: { schema: { type: 'string' } } } };
  const usualName = status === 201 && !words.record ? `Created${record}` : record;
  const name = words.records?.[status] ?? usualName;
  const schema = named.nameRecord(tidy(media.schema), pascal(name));
  return { ...answer, content: { [plainType]: { schema, example: sample(named, schema) } } };
}
