// The operations of the OpenAPI document, from the declarations of their routes.
import type { Words } from '../../server/src/http/route.ts';
import { operationIdOf } from './naming.ts';
import { sample } from './samples.ts';
import {
  type Answer,
  mapValues,
  type NamedSchemas,
  type Operation,
  type Parameter,
  type Reference,
  type Schema,
} from './shapes.ts';
import { errorWords, numbers } from './words.ts';

/** A route that the document shows. */
export interface ShownRoute {
  method: string;
  path: string;
  variant: 'current' | 'earlier' | undefined;
  words: Words & { tag: string };
  params?: object;
  query?: object;
  body?: object;
}

export const audiences = ['/v0', '/console', '/admin', '/node'];
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

export const audienceOf = (path: string) => audiences.find((one) => path.startsWith(one)) ?? '';

/** What is said of a route beyond its words. */
interface Facts {
  isV0: boolean;
  lists: boolean;
}

/** Errors: an Error for a status without words. */
export function operationOf(named: NamedSchemas, route: ShownRoute): Operation {
  const { method, path, variant, words } = route;
  const lists = (words.answer as Schema | undefined)?.type === 'array';
  const id = operationIdOf(method, path, lists, words.id);
  const facts = { isV0: audienceOf(path) === '/v0', lists };
  const only = variant && `**${variant === 'current' ? 'Current' : 'Earlier'} variant only.**`;
  const description = [only, words.description].filter(Boolean).join(' ');
  const parameters = parametersOf(named, route, facts);
  const requestBody = bodyOf(named, route);
  return {
    operationId: id,
    summary: words.summary,
    ...(description && { description }),
    tags: [words.tag],
    security: words.open ? [] : [{ [securityOf[audienceOf(path)] ?? '']: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: responsesOf(named, route, facts),
  };
}

function parametersOf(
  named: NamedSchemas,
  { method, path, params, query }: ShownRoute,
  { isV0 }: Facts,
): Array<Parameter | Reference> {
  const own = [...parametersIn(named, 'query', query), ...parametersIn(named, 'path', params)];
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

function parametersIn(named: NamedSchemas, where: 'path' | 'query', of: object = {}): Parameter[] {
  const { properties = {}, required = [] } = named.shown(of);
  return Object.entries(properties).map(([name, { description = '', ...text }]) => {
    const bounds = numbers[name];
    const schema: Schema =
      where === 'path' && name === 'id'
        ? { type: 'integer', minimum: 1 }
        : where === 'query' && bounds
          ? { type: 'integer', ...bounds }
          : text;
    return {
      name,
      in: where,
      ...(required.includes(name) && { required: true }),
      description,
      schema,
      ...(where === 'path' && { example: sample(named, schema, name) }),
    };
  });
}

function bodyOf(named: NamedSchemas, { method, path, body }: ShownRoute): Operation['requestBody'] {
  if (!body) return undefined;
  // Most take JSON alone.
  const { content = { 'application/json': { schema: body } } } = body as {
    content?: Record<string, { schema: object }>;
  };
  const shown = mapValues(content, (media) => {
    const schema = shapeOf(named, media.schema, `the body of ${method} ${path}`);
    return { schema, example: sample(named, schema) };
  });
  return { required: true, content: shown };
}

function responsesOf(named: NamedSchemas, route: ShownRoute, facts: Facts): Operation['responses'] {
  const { method, path, words } = route;
  const { isV0 } = facts;
  const { answer, created, statuses = {} } = words;
  const responses: Operation['responses'] = {
    ...(answer && { 200: success(named, route, facts, 200, answer) }),
    ...(created && { 201: success(named, route, facts, 201, created) }),
    ...(!answer && !created && { 204: success(named, route, facts, 204) }),
    ...(isV0 && method === 'get' && { 304: { $ref: '#/components/responses/NotModified' } }),
  };
  const errors = new Set([
    ...[400, 401, 404, 405, 500, 503],
    ...(method === 'get' ? [] : [403]),
    ...(isV0 ? [429] : []),
    ...(isV0 && method !== 'post' ? [412] : []),
    // A key that stood for another request.
    ...(isV0 && method === 'post' ? [409] : []),
    ...(words.errors ?? []),
    ...Object.keys(statuses)
      .map(Number)
      .filter((status) => status >= 400),
  ]);
  for (const status of errors) {
    const { name } = errorWords[status] ?? {};
    if (!name) throw new Error(`${method} ${path} answers ${status}, which has no words.`);
    const suffix = status === 401 ? unauthorizedOf[audienceOf(path)] : '';
    const $ref = `#/components/responses/${isV0 ? 'V0' : ''}${name}${suffix}`;
    const description = statuses[status];
    // A reference may carry a description of its own in OpenAPI 3.1.
    responses[status] = { $ref, ...(description && { description }) };
  }
  return responses;
}

function success(
  named: NamedSchemas,
  { method, path, query, words }: ShownRoute,
  { isV0, lists }: Facts,
  status: number,
  answer?: object,
): Answer {
  const usual: Record<string, string> = {
    get: lists ? 'The list; `[]` when it is empty.' : 'The record.',
    patch: 'The complete record as it is now.',
    put: 'The record as it is now.',
  };
  const general: Record<number, string> = {
    201: 'Created. `Location` is its path from now on.',
    204: 'Done. The body is empty.',
  };
  const { contentMediaType: textType, description: ofText } = (answer ?? {}) as Partial<
    Record<string, string>
  >;
  const description =
    words.statuses?.[status] ??
    (textType && ofText) ??
    general[status] ??
    usual[method] ??
    'Done; the body says what came of it.';
  // As `list_pages.ts` of the API reads them: with a Link, and with counts.
  const isPaged = !isV0 && lists && (query as Schema | undefined)?.properties?.sort !== undefined;
  const changesList = /authlist|whitelist|overrides/.test(path) && /post|patch/.test(method);
  const headers = [
    ...(status === 201 && path !== '/node/join' ? ['Location'] : []),
    ...(isV0 && status !== 204 ? ['ETag'] : []),
    ...(isV0 && changesList ? ['Preference-Applied'] : []),
    ...(!isV0 && lists && method === 'get' ? ['Link'] : []),
    ...(isPaged ? ['Exitward-Total', 'Exitward-Found'] : []),
    'X-Request-Id',
  ];
  const shown: Answer = {
    description,
    headers: Object.fromEntries(
      headers.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
    ),
  };
  if (!answer) return shown;
  if (textType) return { ...shown, content: { [textType]: { schema: { type: 'string' } } } };
  const body = shapeOf(named, answer, `the response ${status} of ${method} ${path}`);
  const content = { 'application/json': { schema: body, example: sample(named, body) } };
  return { ...shown, content };
}

/** Errors: an Error for an object that has no name. */
function shapeOf(named: NamedSchemas, schema: object, place: string): Schema {
  const shown = named.shown(schema);
  if ((shown.items ?? shown).properties) throw new Error(`${place} has no name; see Named.`);
  return shown;
}
