// The operations of the OpenAPI document, from the declarations of their routes.
import type { Words } from '../../server/src/http/route.ts';
import { errors } from './components.ts';
import { operationIdOf } from './naming.ts';
import { sample } from './samples.ts';
import {
  type Answer,
  mapValues,
  type NamedSchemas,
  type Operation,
  type Parameter,
  type Reference,
  referencesTo,
  type Schema,
} from './shapes.ts';

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

/** By audience, in the order of the document: how it authenticates, and its 401. */
export const audiences: Record<string, { security: string; unauthorized: string }> = {
  '/v0': { security: 'api_token', unauthorized: 'V0Unauthorized' },
  '/console': { security: 'console_session', unauthorized: 'UnauthorizedCookie' },
  '/admin': { security: 'operator_token', unauthorized: 'UnauthorizedBearer' },
  '/node': { security: 'node_token', unauthorized: 'UnauthorizedBearer' },
};

const audienceOf = ({ path }: ShownRoute) => audiences[/^\/\w+/.exec(path)?.[0] ?? ''];
/** Whether it may wait until the nodes have applied its change. */
const waitsForNodes = ({ method, path }: ShownRoute) =>
  /^\/v0.*\/(ip-authlist|whitelist|overrides)/.test(path) && /post|patch/.test(method);
const isV0 = ({ path }: ShownRoute) => path.startsWith('/v0');
const isList = ({ words }: ShownRoute) => (words.answer as Schema | undefined)?.type === 'array';

/** Errors: an Error for a status without words. */
export function operationOf(named: NamedSchemas, route: ShownRoute): Operation {
  const { method, path, variant, words } = route;
  const only = variant && `**${variant === 'current' ? 'Current' : 'Earlier'} variant only.**`;
  const description = [only, words.description].filter(Boolean).join(' ');
  const parameters = parametersOf(named, route);
  const requestBody = bodyOf(named, route);
  return {
    operationId: operationIdOf(method, path, isList(route), words.id),
    summary: words.summary,
    ...(description && { description }),
    tags: [words.tag],
    security: words.open ? [] : [{ [audienceOf(route)?.security ?? '']: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: responsesOf(named, route),
  };
}

function parametersOf(named: NamedSchemas, route: ShownRoute): Array<Parameter | Reference> {
  const { method, path, params, query } = route;
  const own = [...parametersIn(named, 'query', query), ...parametersIn(named, 'path', params)];
  const headers = [
    ...(isV0(route) && method === 'get' ? ['IfNoneMatch'] : []),
    ...(isV0(route) && method !== 'post' ? ['IfMatch'] : []),
    ...(isV0(route) && method === 'post' ? ['IdempotencyKey'] : []),
    ...(waitsForNodes(route) ? ['Prefer'] : []),
    ...(path === '/node/changes' ? ['LastEventId'] : []),
  ];
  return [...own, ...Object.values(referencesTo('parameters', headers))];
}

function parametersIn(named: NamedSchemas, where: 'path' | 'query', of: object = {}): Parameter[] {
  const { properties = {}, required = [] } = named.shown(of);
  return Object.entries(properties).map(([name, { description = '', ...schema }]) => ({
    name,
    in: where,
    ...(required.includes(name) && { required: true }),
    description,
    schema,
    ...(where === 'path' && { example: sample(named, schema, name) }),
  }));
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

function responsesOf(named: NamedSchemas, route: ShownRoute): Operation['responses'] {
  const { method, path, words } = route;
  const { answer, created, statuses = {} } = words;
  const responses: Operation['responses'] = {
    ...(answer && { 200: success(named, route, 200, answer) }),
    ...(created && { 201: success(named, route, 201, created) }),
    ...(!answer && !created && { 204: success(named, route, 204) }),
    ...(isV0(route) && method === 'get' && { 304: { $ref: '#/components/responses/NotModified' } }),
  };
  const documented = new Set([
    ...[400, 401, 404, 405, 500, 503],
    ...(method === 'get' ? [] : [403]),
    ...(isV0(route) ? [429] : []),
    ...(isV0(route) && method !== 'post' ? [412] : []),
    // A key that stood for another request.
    ...(isV0(route) && method === 'post' ? [409] : []),
    ...(words.errors ?? []),
    ...Object.keys(statuses)
      .map(Number)
      .filter((status) => status >= 400),
  ]);
  for (const status of documented) {
    const { name } = errors[status] ?? {};
    if (!name) throw new Error(`${method} ${path} answers ${status}, which has no words.`);
    const ofAudience = isV0(route) ? `V0${name}` : name;
    const $ref = `#/components/responses/${status === 401 ? audienceOf(route)?.unauthorized : ofAudience}`;
    const description = statuses[status];
    // A reference may carry a description of its own in OpenAPI 3.1.
    responses[status] = { $ref, ...(description && { description }) };
  }
  return responses;
}

function success(named: NamedSchemas, route: ShownRoute, status: number, answer?: object): Answer {
  const { method, path, query, words } = route;
  const usual: Record<string, string> = {
    get: isList(route) ? 'The list; `[]` when it is empty.' : 'The record.',
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
  const hasPages = !isV0(route) && isList(route);
  const hasCounts = hasPages && (query as Schema | undefined)?.properties?.sort !== undefined;
  const headers = [
    ...(status === 201 && path !== '/node/join' ? ['Location'] : []),
    ...(isV0(route) && status !== 204 ? ['ETag'] : []),
    ...(waitsForNodes(route) ? ['Preference-Applied', 'Exitward-Applied'] : []),
    ...(hasPages && method === 'get' ? ['Link'] : []),
    ...(hasCounts ? ['Exitward-Total', 'Exitward-Found'] : []),
    'X-Request-Id',
  ];
  const shown: Answer = { description, headers: referencesTo('headers', headers) };
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
