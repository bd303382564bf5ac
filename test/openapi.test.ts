// docs/openapi.json says what the app does: it is fresh, valid, complete, and its examples are
// true.
import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  documentFile,
  documentText,
  makeDocument,
  type RegisteredRoute,
} from '../scripts/openapi/document.ts';
import type { Answer, Document, Operation, Parameter, Schema } from '../scripts/openapi/shapes.ts';
import { latestTime } from '../server/src/values/expiry.ts';
import { followReferences } from './contract_checker.ts';

let document: Document;
let routes: RegisteredRoute[];
let operations: Array<Operation & { method: string; path: string }>;

beforeAll(async () => {
  ({ document, routes } = await makeDocument());
  operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, method, path })),
  );
});

describe('docs/openapi.json', () => {
  test('is what the routes say now; `npm run openapi` writes it', () => {
    // Compared without a diff of ten thousand lines.
    expect(readFileSync(documentFile, 'utf8') === documentText(document)).toBe(true);
  });

  test('is made alike each time', async () => {
    expect(documentText((await makeDocument()).document)).toBe(documentText(document));
  });

  test('is a valid OpenAPI 3.1 document', async () => {
    const verdict = await new Validator().validate(
      structuredClone(document) as object as Record<string, unknown>,
    );
    expect(verdict.errors ?? []).toEqual([]);
    expect(verdict.valid).toBe(true);
  });

  test('a document with a fault is refused', async () => {
    const broken = structuredClone(document) as object as Record<string, unknown>;
    broken.info = { title: 'Exitward' };
    expect((await new Validator().validate(broken)).valid).toBe(false);
  });

  test('holds each route of the app, and nothing else', () => {
    const shown = routes.filter(({ hidden, method }) => !hidden && method !== 'head');
    const registered = shown.map(({ method, path }) => `${method} ${path}`).sort();
    const documented = operations.map(({ method, path }) => `${method} ${path}`).sort();
    expect(documented).toEqual(registered);
    expect(registered.length).toBeGreaterThan(40);
  });

  test('hides only what no client calls', () => {
    const hidden = new Set(routes.filter((route) => route.hidden).map(({ path }) => path));
    const own = ['/docs', '/docs/openapi.json', '/docs/reference.js', '/healthz', '/readyz'];
    // Files that curl fetches, by the line of an invitation.
    const ofNewMachines = ['/node/install.sh', '/node/packages/{file}'];
    // The rest are what stands for the methods that a path does not have: 405.
    const documented = new Set(operations.map(({ path }) => path));
    const isPage = (path: string) =>
      /^\/(assets\/\{name\}|[\w.-]+\.(js|css|svg|md|woff2))?$/.test(path);
    const rest = [...hidden].filter((path) => !documented.has(path) && !isPage(path));
    expect(rest.sort()).toEqual([...own, ...ofNewMachines].sort());
  });

  test('names each operation once, as a method could be called', () => {
    const ids = operations.map(({ operationId = '' }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });

  test('describes every tag, answer and parameter in words', () => {
    expect(new Set(document.tags.map(({ name }) => name))).toEqual(
      new Set(operations.flatMap(({ tags }) => tags)),
    );
    for (const { summary, responses, parameters = [], path, method } of operations) {
      const place = `${method} ${path}`;
      expect(summary, place).toMatch(/\S/);
      for (const answer of Object.values(responses)) {
        const { description } = followReferences(document, answer) as Answer;
        expect(description, place).toMatch(/^(?!Default Response).{10,}/);
      }
      for (const parameter of parameters) {
        const { description } = followReferences(document, parameter) as Parameter;
        expect(description, place).toMatch(/\S/);
      }
    }
  });

  test('has no time after the year 9999 in a response, nor in a report of a node', () => {
    const isTime = /^(at|since|until|now|expiry|not_after|next_try|.*_(at|time|expiry))$/;
    const endless: string[] = [];
    const look = (schema: Schema, place: string) => {
      const { properties = {}, items, anyOf = [], additionalProperties } = schema;
      for (const [name, property] of Object.entries(properties)) {
        const types = property.anyOf ?? [property];
        const isEndless = types.some((of) => of.type === 'integer' && of.maximum !== latestTime);
        if (isTime.test(name) && isEndless) endless.push(`${place}: ${name}`);
        look(property, place);
      }
      for (const inner of [items, additionalProperties, ...anyOf]) {
        if (typeof inner === 'object') look(inner, place);
      }
    };
    for (const { path, responses, requestBody } of operations) {
      const reports = path.startsWith('/node') ? [requestBody] : [];
      for (const body of [...Object.values(responses), ...reports]) {
        const { content = {} } = followReferences(document, body ?? {}) as Answer;
        for (const { schema } of Object.values(content)) look(schema, path);
      }
    }
    expect(endless).toEqual([]);
  });

  test('describes every field in words: an object or a list by those that are in it', () => {
    const without: string[] = [];
    const look = (schema: Schema, place: string) => {
      const { $ref, description, type = '', properties = {}, items, additionalProperties } = schema;
      if (!$ref && !description && !/^(object|array)$/.test(type)) without.push(place);
      for (const [name, property] of Object.entries(properties)) look(property, `${place}.${name}`);
      for (const inner of [items, additionalProperties]) {
        if (typeof inner === 'object') {
          look({ description: 'Told by the list.', ...inner }, `${place}[]`);
        }
      }
      for (const inner of schema.anyOf ?? []) {
        look({ description: 'Told by the field.', ...inner }, place);
      }
    };
    for (const [name, component] of Object.entries(document.components.schemas))
      look(component, name);
    expect(without).toEqual([]);
  });

  test('marks the paths of one variant, and how each audience authenticates', () => {
    const only = (word: string) =>
      operations
        .filter(({ description }) => description?.startsWith(`**${word} variant only.**`))
        .map(({ path }) => path);
    expect(new Set(only('Current'))).toEqual(
      new Set([
        '/v0/contract/ip-authlist',
        '/v0/contract/ip-authlist/{id}',
        '/v0/users',
        '/v0/users/token',
      ]),
    );
    expect(new Set(only('Earlier'))).toEqual(
      new Set(['/v0/contract/whitelist', '/v0/contract/whitelist/{id}']),
    );
    const open = [
      'get /console',
      'post /console/session',
      'post /console/session/link',
      'post /console/invite',
      'post /console/invite/accept',
      'post /node/join',
      'get /node/echo',
    ];
    const schemes: Record<string, string> = {
      '/v0': 'api_token',
      '/console': 'console_session',
      '/admin': 'operator_token',
      '/node': 'node_token',
    };
    for (const { method, path, security } of operations) {
      const audience = /^\/\w+/.exec(path)?.[0] ?? '';
      const scheme = open.includes(`${method} ${path}`) ? undefined : schemes[audience];
      expect(security, path).toEqual(scheme ? [{ [scheme]: [] }] : []);
    }
  });

  test('gives examples that fit their own schemas', () => {
    const ajv = new Ajv2020({ strict: true, strictRequired: false, allErrors: true });
    let examples = 0;
    const check = (schema: unknown, example: unknown, place: string) => {
      const validate = ajv.compile(followReferences(document, schema) as object);
      expect(validate(example) ? [] : validate.errors, place).toEqual([]);
      examples += 1;
    };
    for (const { path, method, requestBody, responses } of operations) {
      for (const { content = {} } of [requestBody ?? {}, ...Object.values(responses)] as Answer[]) {
        for (const { schema, example } of Object.values(content)) {
          if (example !== undefined) check(schema, example, `${method} ${path}`);
        }
      }
    }
    expect(examples).toBeGreaterThan(50);
  });
});
