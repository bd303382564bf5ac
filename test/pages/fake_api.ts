// A fake of /console and /admin for the pages alone: each answer is the example of the document,
// unless a test gives another one.
import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import {
  type Document,
  type Answer as Documented,
  mapValues,
  type Operation,
  type Parameter,
  type Schema,
} from '../../scripts/openapi/shapes.ts';
import type { Context } from '../../server/src/context.ts';
import { pageRoutes } from '../../server/src/http/pages.ts';
import { ContractChecker, followReferences } from '../contract_checker.ts';

const documentFile = new URL('../../docs/openapi.json', import.meta.url);
const document = JSON.parse(readFileSync(documentFile, 'utf8')) as Document;

/** An operation of the document that the console may call, as `GET /console/authlist/{id}`. */
export interface FakeOperation extends Operation {
  name: string;
  method: string;
  path: string;
  /** The status of its success, and its body. */
  status: number;
  schema: Schema;
  example: unknown;
  isStream: boolean;
}

/** An answer in the place of the example. */
export interface FakeAnswer {
  status?: number;
  body?: unknown;
  headers?: Record<string, string>;
  /** The field at fault, of a refusal that names one. */
  field?: string;
  /** The answer is sent after this. */
  after?: Promise<unknown>;
  /** Whether the document has such an answer; usually it must. */
  isUndocumented?: boolean;
}

/** A request of the page. */
export interface FakeRequest {
  operation: string;
  /** The parameters in its path. */
  params: Record<string, string>;
  query: Record<string, string>;
  body: unknown;
}

/** Answers an operation, or leaves it to the rules before. */
export type Rule = (of: FakeOperation, request: FakeRequest) => FakeAnswer | undefined;

const codes: Record<number, string> = {
  400: 'bad_request',
  401: 'session_ended',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  500: 'internal_error',
  503: 'unavailable',
};

/** Every operation of both audiences, without references. */
export const operations: FakeOperation[] = Object.entries(document.paths)
  .filter(([path]) => /^\/(console|admin)(\/|$)/.test(path))
  .flatMap(([path, item]) =>
    Object.entries(item).map(([method, plain]) => {
      const operation = followReferences(document, plain) as Operation;
      const [status, answer] = Object.entries(operation.responses).find(
        ([status]) => Number(status) < 300,
      ) as [string, Documented];
      const [type, content] = Object.entries(answer.content ?? {})[0] ?? [];
      return {
        ...operation,
        ...{ name: `${method.toUpperCase()} ${path}`, method: method.toUpperCase(), path },
        ...{ status: Number(status), schema: content?.schema ?? {} },
        example: content?.example ?? '',
        isStream: type === 'text/event-stream',
      };
    }),
  );

export class FakeApi {
  /** The requests of the page, without the streams of events. */
  readonly requests: FakeRequest[] = [];
  /** Of these, the last ones that change something, never forgotten. */
  readonly writes: FakeRequest[] = [];
  /** The last answer to each operation that was no refusal. */
  readonly answers = new Map<string, unknown>();
  /** The operations that were asked for, ever. */
  readonly sent: string[] = [];
  /** The ways in which requests or answers are not as the document has them. */
  readonly faults: string[] = [];
  readonly #app: FastifyInstance;
  readonly #checker = new ContractChecker(document, []);
  readonly #ajv = new Ajv2020({ strict: true, strictRequired: false, coerceTypes: true });
  readonly #compiled = new Map<string, ValidateFunction>();
  readonly #heard = new EventEmitter();
  readonly #streams = new Set<ServerResponse>();
  #rules: Rule[] = [];
  origin = '';

  readonly #checksAll: boolean;

  private constructor(checksAll: boolean) {
    this.#checksAll = checksAll;
    this.#app = fastify({ forceCloseConnections: true });
    pageRoutes(this.#app, { config: {} } as Context);
    this.#app.addContentTypeParser('*', { parseAs: 'string' }, (_, body, done) => done(null, body));
    for (const operation of operations) {
      this.#app.route({
        method: operation.method,
        url: operation.path.replace(/\{(\w+)\}/g, ':$1'),
        handler: (request, reply) => this.#answer(operation, request, reply),
      });
    }
    this.#app.setNotFoundHandler(async ({ method, url }, reply) => {
      this.faults.push(`${method} ${url} is not documented`);
      return reply.code(404).send({ message: 'There is nothing here.', code: 'not_found' });
    });
  }

  /** `checksAll`: the answers that it makes itself, too. To compile their schemas takes seconds. */
  static async start({ checksAll = false } = {}): Promise<FakeApi> {
    const fake = new FakeApi(checksAll);
    await fake.#app.listen({ host: '127.0.0.1', port: 0 });
    fake.origin = `http://127.0.0.1:${(fake.#app.server.address() as AddressInfo).port}`;
    return fake;
  }

  async stop(): Promise<void> {
    await this.#app.close();
  }

  /** From now on; of several rules that answer, the last one does. `of`: by name, or which. */
  answer(of: string | Rule, answer: FakeAnswer = {}): void {
    if (typeof of === 'string' && !operations.some(({ name }) => name === of)) {
      throw new Error(`The document has no operation "${of}".`);
    }
    const rule = (operation: FakeOperation) => (operation.name === of ? answer : undefined);
    this.#rules.unshift(typeof of === 'string' ? rule : of);
  }

  /** The last request of this kind, or the first one that comes. */
  async next(is: (of: FakeRequest) => boolean): Promise<FakeRequest> {
    for (;;) {
      const request = this.requests.findLast(is);
      if (request) return request;
      await once(this.#heard, 'request');
    }
  }

  /**
   * Ends the stream of events, once there is one: the page opens it again, and reads all that it
   * shows again.
   */
  async cutStreams(): Promise<void> {
    if (this.#streams.size === 0) await once(this.#heard, 'stream');
    for (const stream of this.#streams) stream.end();
    this.#streams.clear();
  }

  /** Answers by the examples again, and forgets what was asked. */
  reset(): void {
    this.#rules = [];
    this.requests.length = 0;
  }

  /** The answer of the last rule that has one. */
  #given(operation: FakeOperation, request: FakeRequest): FakeAnswer {
    for (const rule of this.#rules) {
      const answer = rule(operation, request);
      if (answer) return answer;
    }
    return {};
  }

  async #answer(operation: FakeOperation, request: FastifyRequest, reply: FastifyReply) {
    const { name, isStream } = operation;
    const query = request.query as Record<string, string>;
    const body = request.body ?? undefined;
    const params = request.params as Record<string, string>;
    const sent = { operation: name, params, query, body };
    this.sent.push(name);
    if (!isStream) this.requests.push(sent);
    if (operation.method !== 'GET') this.writes.push(sent);
    this.#heard.emit('request');
    this.#checkRequest(operation, request);
    const { headers: documented = {} } = operation.responses[operation.status] as Documented;
    const given = this.#given(operation, sent);
    await given.after;
    const status = given.status ?? operation.status;
    const value =
      given.body ?? (status < 300 ? operation.example : errorBody(name, status, given.field));
    if (status < 300) this.answers.set(name, value);
    const headers = {
      'x-request-id': 'fake-1',
      ...('Exitward-Total' in documented && counts(value)),
      ...(status === 201 && { location: '/created/1' }),
      ...(status === 503 && { 'retry-after': '1' }),
      ...(status === 401 && { 'www-authenticate': 'Bearer' }),
      ...given.headers,
    };
    reply.code(status).headers(headers);
    if (isStream && status === 200) {
      reply.hijack();
      reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).write(': keep\n\n');
      this.#streams.add(reply.raw);
      this.#heard.emit('stream');
      reply.raw.once('close', () => this.#streams.delete(reply.raw));
      return reply;
    }
    const text = status === 204 ? '' : typeof value === 'string' ? value : JSON.stringify(value);
    const [type = 'application/json'] = Object.keys(
      (operation.responses[status] as Documented | undefined)?.content ?? {},
    );
    reply.type(type === 'application/json' ? `${type}; charset=UTF-8` : type);
    if (this.#checksAll || (given.body !== undefined && !given.isUndocumented)) {
      this.#checkAnswer(
        request,
        status,
        { ...headers, 'content-type': String(reply.getHeader('content-type')) },
        text,
      );
    }
    return reply.send(text);
  }

  #checkAnswer(
    { method, url }: FastifyRequest,
    status: number,
    headers: Record<string, string>,
    body: string,
  ): void {
    const all = this.#checker.faults({ method, target: url }, { status, headers, body });
    // A test may ask for an answer that the server owes nobody.
    const faults = all.filter((fault) => !fault.endsWith(': our fault'));
    this.faults.push(...faults.map((fault) => `the answer to ${method} ${url}: ${fault}`));
  }

  #checkRequest({ name, requestBody, parameters = [] }: FakeOperation, request: FastifyRequest) {
    const type = request.headers['content-type']?.replace(/;.*/, '') ?? '';
    const schema = requestBody?.content[type]?.schema;
    const inQuery = (parameters as Parameter[]).filter((parameter) => parameter.in === 'query');
    const ofQuery = {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(
        inQuery.map((parameter) => [parameter.name, parameter.schema]),
      ),
      required: inQuery
        .filter((parameter) => parameter.required)
        .map((parameter) => parameter.name),
    };
    this.#check(`${name}: the query`, ofQuery, { ...(request.query as object) });
    if (requestBody && !schema) this.faults.push(`${name}: a body of the type "${type}"`);
    if (!requestBody && request.body !== undefined) this.faults.push(`${name}: a body`);
    if (schema && typeof request.body === 'object')
      this.#check(`${name}: the body`, schema, request.body);
  }

  #check(what: string, schema: object, value: unknown): void {
    const validate = this.#compiled.get(what) ?? this.#ajv.compile(schema);
    this.#compiled.set(what, validate);
    if (validate(value)) return;
    const errors = this.#ajv.errorsText(validate.errors, { dataVar: '' });
    this.faults.push(`${what}: ${errors}: ${JSON.stringify(value)}`);
  }
}

/** The body of a failure. */
export const refusal = (operation: string, status: number) =>
  `The fake answers ${status} to ${operation}.`;

/** The sentences of refusals are short here: what pages do with them is not about the words. */
function errorBody(name: string, status: number, field?: string): object {
  if (field) return { message: `${field}: is refused by the fake.`, code: 'invalid_field', field };
  return { message: refusal(name, status), code: codes[status] ?? 'bad_request' };
}

const counts = (rows: unknown) => {
  const count = String(Array.isArray(rows) ? rows.length : 0);
  return { 'exitward-total': count, 'exitward-found': count };
};

/** The example of an operation with nothing in its lists, where the document allows that. */
export const emptyExample = ({ example, schema }: FakeOperation) => emptied(example, schema);

/** Numbers that name a record, or span the axis of a chart. */
const namesAndAxes = new Set(['id', 'from', 'to', 'step', 'points', 'start', 'end', 'now']);

/** The example of an operation with this in the place of each number that a table may show. */
export const extremeExample = ({ example }: FakeOperation, number: number): unknown =>
  withNumbers(example, number);

function withNumbers(value: unknown, number: number): unknown {
  if (typeof value === 'number') return number;
  if (Array.isArray(value)) return value.map((item) => withNumbers(item, number));
  if (typeof value !== 'object' || value === null) return value;
  return mapValues(value as Record<string, unknown>, (item, key) =>
    namesAndAxes.has(key) ? item : withNumbers(item, number),
  );
}

function emptied(value: unknown, schema: Schema): unknown {
  const [fitting = schema] = schema.anyOf?.filter(({ type }) => type !== 'null') ?? [];
  if (Array.isArray(value)) return fitting.minItems ? value : [];
  if (typeof value !== 'object' || value === null) return value;
  const { properties = {} } = fitting;
  return mapValues(value as Record<string, unknown>, (item, key) =>
    emptied(item, properties[key] ?? {}),
  );
}
