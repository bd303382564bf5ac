// Evaluates answers by the OpenAPI document: status, headers, body, and what must never show.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Answer, Document, Operation } from '../scripts/openapi/shapes.ts';
import { errorCodes as codes } from '../server/src/errors.ts';

export interface Sent {
  method: string;
  /** Path and query, as on the request line. */
  target: string;
}

export interface Received {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

const json = 'application/json; charset=UTF-8';
const statusesWithoutBody = [204, 304];

/** A copy without references: each is replaced by what it stands for. */
export function followReferences(document: Document, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => followReferences(document, item));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, ...rest } = value as { $ref?: string };
  const own = Object.fromEntries(
    Object.entries(rest).map(([key, item]) => [key, followReferences(document, item)]),
  );
  if (typeof $ref !== 'string') return own;
  const target = $ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], document);
  return { ...(followReferences(document, target) as object), ...own };
}

interface Found {
  path: string;
  parts: string[];
  methods: Record<string, Operation>;
}

/**
 * A document as it is looked up, with the validators that were needed: compiling them takes
 * seconds.
 */
interface Documented {
  paths: Found[];
  ajv: Ajv2020;
  compiled: Map<string, ValidateFunction>;
}

const documented = new WeakMap<Document, Documented>();

function lookedUp(document: Document): Documented {
  const paths = Object.entries(document.paths).map(([path, item]) => ({
    path,
    parts: path.split('/'),
    methods: followReferences(document, item) as Record<string, Operation>,
  }));
  const ajv = new Ajv2020({ strict: true, strictRequired: false });
  const made = { paths, ajv, compiled: new Map<string, ValidateFunction>() };
  documented.set(document, made);
  return made;
}

export class ContractChecker {
  readonly #documented: Documented;
  readonly #forbidden: RegExp;
  /** How often each operation gave each status. */
  readonly seen = new Map<string, number>();

  /** `forbidden`: texts that no answer may hold. */
  constructor(document: Document, forbidden: string[]) {
    this.#documented = documented.get(document) ?? lookedUp(document);
    const escaped = forbidden.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    // Besides: stack traces, the names of what is beneath, and files of the machine.
    this.#forbidden = new RegExp(
      [...escaped, '\\bat .*:\\d+:\\d+', 'SQLITE_', 'node_modules', 'file://'].join('|'),
    );
  }

  /** Every way in which an answer breaks the contract; none when it is well. */
  faults(sent: Sent, received: Received): string[] {
    const faults: string[] = [];
    const fault = (met: boolean, what: string) => {
      if (!met) faults.push(what);
    };
    const { status, body } = received;
    const header = (name: string) => received.headers[name]?.toString();
    const match = this.#find(sent.target);
    const verb = sent.method.toLowerCase();
    const method = verb === 'head' ? 'get' : verb;
    const operation = match?.methods[method];
    const place = operation ? `${method} ${match?.path}` : '';
    if (place) this.seen.set(`${place} ${status}`, (this.seen.get(`${place} ${status}`) ?? 0) + 1);

    // A node takes one snapshot at a time, and the requests of a fuzz come several at once; no node
    // is live to be verb.
    const mayBeBusy = /^get \/node\/snapshot$|\/explain(-login)?$/.test(place);
    fault(status < 500 || (mayBeBusy && status === 503), `${status}: our fault`);
    fault(/^[\w-]{3,64}$/.test(header('x-request-id') ?? ''), 'no x-request-id');
    const hidden = this.#forbidden.exec(JSON.stringify(received));
    // Operators' doctor names the folders that it looked at.
    const isNamed = place === 'get /admin/doctor' && hidden?.[0].startsWith('/');
    fault(!hidden || isNamed === true, `shows what it must not: ${hidden?.[0]}`);
    fault(
      this.#allowed(sent.target, match, operation).includes(status),
      `${status} is not documented here`,
    );
    faults.push(...this.#headerFaults(sent, status, header, match));

    if (verb === 'head' || statusesWithoutBody.includes(status)) {
      fault(body === '', `a body where there is none: ${body.slice(0, 80)}`);
      return faults;
    }
    const answer = operation?.responses[status] as Answer | undefined;
    const [type] = Object.keys(answer?.content ?? {});
    const expected = !type || type === 'application/json' ? json : type;
    fault(header('content-type') === expected, `content-type ${header('content-type')}`);
    if (expected !== json) return faults;
    let value: unknown;
    try {
      value = JSON.parse(body);
    } catch {
      return [...faults, `not JSON: ${body.slice(0, 80)}`];
    }
    if (status >= 400) {
      const isV0 = /^\/v0(?:[/?]|$)/.test(pathOf(sent.target));
      const code = isV0 ? header('exitward-error') : (value as { code?: unknown }).code;
      fault(errorCodes.has(code), `no code of an error: ${code}`);
      fault(isError(value, isV0), `not the body of an error: ${body.slice(0, 80)}`);
    }
    const validate = answer && this.#validatorOf(`${place} ${status}`, answer);
    if (validate && !validate(value)) {
      faults.push(
        `not the documented shape: ${this.#documented.ajv.errorsText(validate.errors)}: ${body.slice(0, 200)}`,
      );
    }
    return faults;
  }

  /** The statuses that may be answered here. */
  #allowed(target: string, match: Found | undefined, operation: Operation | undefined): number[] {
    if (operation) {
      return Object.keys(operation.responses)
        .map(Number)
        .filter((status) => status !== 405);
    }
    // Before the method is looked at: who is calling, and which variant's path this is.
    if (match) return match.path.startsWith('/v0') ? [401, 404, 405] : [401, 404, 405, 400];
    return /%(?![0-9a-f]{2})|%[89a-f]/i.test(target) ? [400, 401, 404] : [401, 404];
  }

  #headerFaults(
    sent: Sent,
    status: number,
    header: (name: string) => string | undefined,
    match: Found | undefined,
  ): string[] {
    const faults: string[] = [];
    const need = (name: string, form: RegExp) => {
      const value = header(name);
      if (value === undefined || !form.test(value)) faults.push(`${name}: ${value} with ${status}`);
    };
    if (status === 401) need('www-authenticate', /^(Basic realm=|Bearer|Cookie)/);
    if (status === 503 || status === 429) need('retry-after', /^\d+$/);
    if (status === 201 && match?.path !== '/node/join') need('location', /^\/[\w./@:-]+$/);
    const isV0 = match?.path.startsWith('/v0') === true;
    if (isV0 && (status === 200 || status === 201)) {
      const encoding = header('content-encoding');
      need('etag', new RegExp(`^"[\\w-]{27}${encoding ? `-${encoding}` : ''}"$`));
    }
    // In whichever encoding the client holds it.
    if (isV0 && status === 304) need('etag', /^"[\w-]{27}(-br|-gzip)?"$/);
    if (status === 405) {
      const documented = Object.keys(match?.methods ?? {}).map((method) => method.toUpperCase());
      const methods = [...documented, ...(documented.includes('GET') ? ['HEAD'] : [])].sort();
      need('allow', new RegExp(`^${methods.join(', ')}$`));
      if (methods.includes(sent.method)) faults.push(`405 for ${sent.method}, which is documented`);
    }
    return faults;
  }

  #validatorOf(place: string, answer: Answer): ValidateFunction | undefined {
    const { ajv, compiled } = this.#documented;
    const validator = compiled.get(place);
    if (validator) return validator;
    const schema = answer.content?.['application/json']?.schema;
    if (!schema) return undefined;
    const validate = ajv.compile(schema);
    compiled.set(place, validate);
    return validate;
  }

  /** The path of the document that a target names, read as the router reads it. */
  #find(target: string): Found | undefined {
    const path = target.replace(/^https?:\/\/[^/]*/, '').replace(/[?#].*$/s, '');
    let parts: string[];
    try {
      parts = path.split('/').map(decodeURIComponent);
    } catch {
      return undefined;
    }
    return this.#documented.paths.find(
      ({ parts: wanted }) =>
        wanted.length === parts.length &&
        wanted.every((part, at) =>
          part.startsWith('{') ? (parts[at] ?? '').length <= 512 : part === parts[at],
        ),
    );
  }
}

/** The path of a target as the router reads it, as far as it can be read. */
function pathOf(target: string): string {
  return target
    .replace(/^https?:\/\/[^/]*/i, '')
    .replace(/[?#].*$/s, '')
    .replace(/%[2-7][0-9a-f]/gi, decodeURIComponent);
}

const errorCodes = new Set<unknown>(codes);

/**
 * Under /v0 exactly a message; else message, code, and the field at fault, with which the message
 * begins.
 */
function isError(value: unknown, isV0: boolean): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { message, ...rest } = value as { message?: unknown };
  if (typeof message !== 'string' || message.length === 0) return false;
  if (isV0) return Object.keys(rest).length === 0;
  const { code: _, field, faults, ...others } = rest as Record<string, unknown>;
  const isField = field === undefined || message.startsWith(`${field}: `);
  // A manifest names all of its faults at once; their shape is the document's.
  const areFaults = faults === undefined || Array.isArray(faults);
  return isField && areFaults && Object.keys(others).length === 0;
}
