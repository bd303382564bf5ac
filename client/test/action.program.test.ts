// The GitHub Action, run as a runner runs it: the steps that its action.yml names, with its inputs
// and files, against the real server; killed, stopped and left alone.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { BuiltAccount } from '../../server/test/builders.ts';
import { startTestApp, type TestApp } from '../../server/test/harness.ts';
import { bareEnvironment } from '../../test/bare_environment.ts';
import { deepTest } from '../../test/deep_test.ts';

const root = join(import.meta.dirname, '../..');
const actionFolder = join(root, 'client/action');
const action = parse(readFileSync(join(actionFolder, 'action.yml'), 'utf8')) as {
  inputs: Record<string, { required?: boolean; default?: string }>;
  outputs: Record<string, unknown>;
  runs: { using: string; main: string; post: string; 'post-if': string };
};
const folder = mkdtempSync(join(tmpdir(), 'exitward-action-'));
let t: TestApp;
let acme: BuiltAccount;

beforeAll(async () => {
  t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`);
  t.clock.seconds = Math.floor(Date.now() / 1000);
  acme = await t.account('acme');
});
afterAll(async () => {
  await t?.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await t.as(acme).delete('/contract/ip-authlist');
});

const listed = async () =>
  (await t.as(acme).get('/contract/ip-authlist')).body as Array<{
    ip: string;
    user: string;
    expiry: number;
  }>;

/** The values that a step wrote to a file of the runner; of a name the last one. */
const valuesIn = (file: string) =>
  Object.fromEntries(
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  ) as Record<string, string>;

/** A job on a runner, with the inputs of a workflow. */
class Job {
  readonly #state = join(folder, 'state');
  readonly #output = join(folder, 'output');
  readonly #inputs: Record<string, string>;
  log = '';

  constructor(inputs: Record<string, string> = {}) {
    writeFileSync(this.#state, '');
    writeFileSync(this.#output, '');
    this.#inputs = { url: t.base_url, token: acme.api_token, user: 'alice', ...inputs };
  }

  start(step: 'main' | 'post'): ChildProcess {
    const withDefaults = Object.entries(action.inputs).map(
      ([name, { default: value = '' }]) => [name, this.#inputs[name] ?? value] as const,
    );
    const child = spawn(process.execPath, [join(actionFolder, action.runs[step])], {
      cwd: folder,
      env: {
        ...bareEnvironment,
        ...Object.fromEntries(
          withDefaults.map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value]),
        ),
        ...Object.fromEntries(
          Object.entries(valuesIn(this.#state)).map(([name, value]) => [`STATE_${name}`, value]),
        ),
        GITHUB_STATE: this.#state,
        GITHUB_OUTPUT: this.#output,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (text) => {
        this.log += text;
      });
    }
    return child;
  }

  async run(step: 'main' | 'post'): Promise<number | null> {
    const [code] = await once(this.start(step), 'close');
    return code as number | null;
  }

  get outputs() {
    return valuesIn(this.#output);
  }
}

test('the action lists the address of the runner for the job, with an end, and takes it off', async () => {
  const job = new Job();
  expect([await job.run('main'), job.log]).toEqual([0, expect.stringMatching(/^::notice::127\.0/)]);
  const [entry] = await listed();
  expect(entry).toMatchObject({ ip: '127.0.0.1', user: 'alice' });
  expect(job.outputs).toEqual({ ip: '127.0.0.1' });
  expect(Object.keys(action.outputs)).toEqual(Object.keys(job.outputs));
  // The default of action.yml.
  expect(Math.abs((entry?.expiry ?? 0) - Date.now() / 1000 - 3600)).toBeLessThan(60);
  expect(await job.run('post')).toBe(0);
  expect(await listed()).toEqual([]);
});

/**
 * A service in front of the real one that acts on the first request and holds back its response.
 * `reached` resolves once the service has acted.
 */
async function holdingService() {
  let held: ServerResponse | undefined;
  const acted = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const headers = Object.entries(request.headers).filter(([name]) =>
      ['authorization', 'content-type', 'idempotency-key'].includes(name),
    ) as Array<[string, string]>;
    const { method = 'GET', url = '' } = request;
    const answer = await fetch(t.base_url + url, {
      method,
      headers,
      ...(body === '' ? {} : { body }),
    });
    if (held === undefined) {
      held = response;
      return acted.resolve();
    }
    response.writeHead(answer.status).end(await answer.text());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, reached: acted.promise, stop: () => server.closeAllConnections() };
}

test.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
  'a job that is cancelled by %s before the service has answered leaves no address listed',
  async (signal) => {
    const service = await holdingService();
    const job = new Job({ url: service.url });
    const step = job.start('main');
    await service.reached;
    step.kill(signal);
    await once(step, 'close');
    expect(await listed()).toHaveLength(1);
    expect(await job.run('post')).toBe(0);
    expect(await listed()).toEqual([]);
    service.stop();
  },
);

deepTest(
  'the entry of a runner that dies ends by itself, and a late last step finds nothing to do',
  async () => {
    const job = new Job({ minutes: '5' });
    expect(await job.run('main')).toBe(0);
    const [before, [entry]] = [t.now(), await listed()];
    t.clock.seconds = entry?.expiry ?? 0;
    expect(await listed()).toEqual([]);
    expect([await job.run('post'), job.log]).toEqual([
      0,
      expect.not.stringContaining('::warning::'),
    ]);
    t.clock.seconds = before;
  },
);

test('an address that was listed before the job stays listed', async () => {
  const expiry = t.now() + 3600;
  await t.as(acme).post('/contract/ip-authlist', { user: 'alice', expiry });
  const job = new Job();
  expect(await job.run('main')).toBe(0);
  expect(job.log).toContain('that entry is not changed');
  expect(await job.run('post')).toBe(0);
  expect(await listed()).toMatchObject([{ ip: '127.0.0.1', expiry }]);
});

deepTest('the earlier variant has the same steps', async () => {
  const job = new Job({ variant: 'earlier' });
  expect(await job.run('main')).toBe(0);
  expect(await listed()).toHaveLength(1);
  expect(await job.run('post')).toBe(0);
  expect(await listed()).toEqual([]);
});

test.each([
  ['a wrong token', { token: 'ewa_wrong' }, /^::error::[^:]*token/i],
  ['a user who is not there', { user: 'nobody' }, /^::error::.*nobody/],
  ['a span that is none', { minutes: 'soon' }, /^::error::minutes: expected a whole number from 1/],
  ['plain http to another machine', { url: 'http://192.0.2.1' }, /^::error::url: expected https/],
])('%s fails the job with one line, and lists nothing', async (_what, inputs, line) => {
  const job = new Job(inputs);
  expect(await job.run('main')).toBe(1);
  expect(job.log).toMatch(line);
  expect(job.log.trim()).not.toContain('\n');
  expect(await listed()).toEqual([]);
});

test('action.yml has each input that the steps read, and runs its last step in any case', () => {
  const sources = ['allow', 'take_off', 'service']
    .map((name) => readFileSync(join(actionFolder, `${name}.mjs`), 'utf8'))
    .join('');
  const read = new Set([...sources.matchAll(/\binput\('(\w+)'\)/g)].map(([, name]) => name));
  expect([...read].sort()).toEqual(Object.keys(action.inputs).sort());
  expect(action.runs['post-if']).toBe('always()');
});

test('the workflow in exw.md uses the action with inputs that it has, and all that it requires', () => {
  const document = readFileSync(join(root, 'docs/exw.md'), 'utf8');
  const [, text = ''] = /```yaml\n(on:[\s\S]*?)```/.exec(document) ?? [];
  const { jobs } = parse(text) as {
    jobs: Record<string, { steps: Array<{ uses?: string; with?: Record<string, string> }> }>;
  };
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  const inputs = steps.find(({ uses }) => uses?.includes('/client/action@'))?.with ?? {};
  const required = Object.entries(action.inputs).filter(([, { required }]) => required);
  expect(Object.keys(inputs)).toEqual(expect.arrayContaining(required.map(([name]) => name)));
  expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(Object.keys(inputs)));
});
