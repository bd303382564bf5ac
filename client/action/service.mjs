// The account API for the two steps of the action, and the runner's files and messages.
import { appendFileSync } from 'node:fs';
import { env, stdout } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';

const attempts = 3;
const timeoutMs = 15_000;
const pauseMs = 1000;

/** The service refused a request. */
class Refusal extends Error {
  constructor(message, code) {
    super(message);
    this.code = code;
  }
}

/** An input of the workflow; `''` when it has none. */
export function input(name) {
  return (env[`INPUT_${name.toUpperCase()}`] ?? '').trim();
}

/** Writes a value: GITHUB_STATE is for the last step, GITHUB_OUTPUT for the workflow. */
export function note(file, name, value) {
  appendFileSync(env[file] ?? '/dev/null', `${name}=${value}\n`);
}

/** A line of the log: `error`, `warning` or `notice`. */
export function say(level, message) {
  stdout.write(`::${level}::${message.replace(/[%\r\n]/g, encodeURIComponent)}\n`);
}

/** The URL of the authlist. Errors: the token could be read on its way there. */
function authlist() {
  const { protocol, hostname } = new URL(input('url'));
  if (protocol !== 'https:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) {
    throw new Error(`url: expected https; over ${protocol} the token could be read on its way`);
  }
  const list = input('variant') === 'earlier' ? 'whitelist' : 'ip-authlist';
  return `${input('url').replace(/\/+$/, '')}/v0/contract/${list}`;
}

/**
 * Sends a request that may be repeated, and repeats it when the service could not be reached or is
 * busy. Resolves to the JSON of the response, if there is any. Errors: a Refusal.
 */
export async function request(method, path = '', body = undefined, headers = {}) {
  const pair = input('variant') === 'earlier' ? `${input('token')}:` : `:${input('token')}`;
  const options = {
    method,
    redirect: 'error',
    headers: {
      authorization: `Basic ${Buffer.from(pair).toString('base64')}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  };
  const url = authlist() + path;
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(url, { ...options, signal: AbortSignal.timeout(timeoutMs) }).catch(
      (error) => error,
    );
    const isBusy = response instanceof Error || response.status === 429 || response.status >= 500;
    if (isBusy && attempt < attempts) {
      await pause(pauseMs * attempt);
    } else if (response instanceof Error) {
      throw new Error(`${url}: ${response.cause?.message ?? response.message}`);
    } else {
      return contentOf(response);
    }
  }
}

/** Errors: a Refusal with the service's own words. */
async function contentOf(response) {
  const text = await response.text();
  if (response.ok) return text === '' ? undefined : JSON.parse(text);
  let { message } = { message: `The service answered ${response.status}.` };
  try {
    ({ message } = JSON.parse(text));
  } catch {
    // A response of another program, such as a proxy.
  }
  throw new Refusal(message, response.headers.get('exitward-error') ?? String(response.status));
}

/** Lists the address of this runner; the same key and body make one entry however often. */
export function add({ key, body }) {
  return request('POST', '', body, { 'idempotency-key': key, prefer: 'wait=5' });
}
