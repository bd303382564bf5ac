// A person at the service, signed in with a password, as in the console, for one command.

import { Failure, RequestFailure, UsageFault } from '../../../kit/src/cli/failures.ts';
import { inOptions } from '../../../kit/src/cli/fields.ts';
import { commandFetch } from '../../../kit/src/cli/https_proxy.ts';
import type { Option, OptionValues } from '../../../kit/src/cli/options.ts';
import { notify } from '../../../kit/src/cli/output.ts';
import { askSecret, isTerminal } from '../../../kit/src/cli/question.ts';
import { networkFault } from '../../../kit/src/network_fault.ts';
import { readSecret, type Session } from './session.ts';

export const personOptions = {
  user: {
    summary: 'your username',
    value: '<name>',
    read: String,
    required: true,
  },
  account: {
    summary: 'name of your account (default: the account of the API token)',
    value: '<name>',
    read: String,
  },
  'password-file': {
    summary: 'file with your password (default: prompt or standard input)',
    value: '<file>',
    read: String,
  },
  code: {
    summary: 'code of your second factor, if you have one (default: prompt)',
    value: '<code>',
    read: String,
  },
} as const satisfies Record<string, Option>;

/** Shown below the options of each command that signs in. */
export const personNotes = `This command signs you in with your password, as in the console, and signs you out again. An API token doesn't work here.
On a terminal you are prompted for the password. It is never stored.`;

type Credentials = OptionValues<typeof personOptions>;

const responseMs = 30_000;

/** The people who are signed in, for as long as their command runs. */
const people = new WeakMap<Session, Promise<Person>>();

/**
 * Runs `action` as this person, who is signed out when the command ends. Errors: a failure in the
 * server's words.
 */
export async function asPerson<T>(
  session: Session,
  given: Credentials,
  action: (person: Person) => Promise<T>,
): Promise<T> {
  const person = people.get(session) ?? signIn(session, given);
  people.set(session, person);
  return action(await person);
}

async function signIn(session: Session, given: Credentials): Promise<Person> {
  // The service is checked before the password is requested, since the password is sent there.
  const { url, has_token } = session.serviceFacts();
  if (given.account === undefined && !has_token) {
    throw new UsageFault('--account: expected the name of your account; or run "exw login" first');
  }
  const account = given.account ?? (await (await session.account()).client.contract.get()).name;
  const password = await readSecret(given['password-file'] ?? '-', 'Password');
  if (password === '') {
    throw new UsageFault('--password-file: expected a password in it, or on standard input');
  }
  const person = new Person(url, given.user);
  await person.signIn({ account, password, code: given.code }).catch((error) => {
    // A command may have other options for fields of these names.
    throw inOptions(error, { options: personOptions });
  });
  session.atEnd(() =>
    person
      .send<void>('DELETE', '/session')
      .catch(() => notify('exw: the session could not be ended; it ends by itself.')),
  );
  return person;
}

export class Person {
  readonly user: string;
  readonly #url: string;
  #cookies = '';

  constructor(url: string, user: string) {
    this.#url = url;
    this.user = user;
  }

  async signIn(given: { account: string; password: string; code: string | undefined }) {
    const { account, password } = given;
    const body = { account, user: this.user, password };
    const send = (code: string | undefined) =>
      this.send<{ second_factor: 'totp' | boolean }>('POST', '/session', {
        ...body,
        code,
      });
    const first = await send(given.code);
    // In the response of a session this is a boolean: whether there is a second factor.
    if (first.second_factor !== 'totp') return;
    if (!isTerminal()) throw new UsageFault('--code: expected a code of your second factor');
    await send(await askSecret('Code'));
  }

  /** Calls a path of the console. Errors: a failure in the server's words. */
  async send<T>(method: string, path: string, body?: object): Promise<T> {
    return this.#read(await this.#request(method, path, body));
  }

  /**
   * The first `limit` entries of a list; a page may have fewer than requested, or none, before the
   * end.
   */
  async list<T>(path: string, limit: number): Promise<T[]> {
    const entries: T[] = [];
    let next: string | undefined = path;
    while (next !== undefined && entries.length < limit) {
      const response: Response = await this.#request('GET', next);
      entries.push(...(await this.#read<T[]>(response)));
      [, next] = /<\/console([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
    }
    return entries.slice(0, limit);
  }

  async #read<T>(response: Response): Promise<T> {
    const cookies = response.headers.getSetCookie().map((cookie) => cookie.replace(/;.*/, ''));
    if (cookies.length > 0) this.#cookies = cookies.join('; ');
    const text = await response.text();
    const reply = (
      /json/.test(response.headers.get('content-type') ?? '') && text ? JSON.parse(text) : {}
    ) as T & Partial<RequestFailure>;
    if (response.ok) return reply;
    const { message = `The service responded with status ${response.status}.` } = reply;
    throw new RequestFailure(response.status, { ...reply, message });
  }

  async #request(method: string, path: string, body?: object): Promise<Response> {
    const url = `${this.#url}/console${path}`;
    try {
      return await commandFetch(url, {
        method,
        headers: {
          accept: 'application/json',
          // The server accepts changes only from its own pages, and this is the page.
          origin: new URL(url).origin,
          ...(this.#cookies ? { cookie: this.#cookies } : {}),
          ...(body ? { 'content-type': 'application/json' } : {}),
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
        redirect: 'manual',
        signal: AbortSignal.timeout(responseMs),
      });
    } catch (error) {
      throw new Failure(`${this.#url} can't be reached: ${networkFault(error)}.`);
    }
  }
}
