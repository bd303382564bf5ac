// Clients of the server under test: a client with its headers, and a browser with its cookies.

/** An answer, with its body read as JSON where there is one. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of any shape
  body: any;
}

/** Sends requests with one Authorization header. */
export class TestClient {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  constructor(base: string, headers: Record<string, string>) {
    this.#base = base;
    this.#headers = headers;
  }
  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(this.#base + path, {
      method,
      redirect: 'manual',
      headers: {
        ...this.#headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text && isJson ? JSON.parse(text) : undefined,
    };
  }
  get(path: string, headers?: Record<string, string>): Promise<Answer> {
    return this.send('GET', path, undefined, headers);
  }
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer> {
    return this.send('POST', path, body, headers);
  }
  patch(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer> {
    return this.send('PATCH', path, body, headers);
  }
  put(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer> {
    return this.send('PUT', path, body, headers);
  }
  delete(path: string, headers?: Record<string, string>): Promise<Answer> {
    return this.send('DELETE', path, undefined, headers);
  }
}

/** The path of the next page, below `/console` or `/admin`; undefined on the last. */
export const nextOf = ({ headers }: Answer) =>
  /<\/(?:console|admin)([^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];

/** All pages of a list, with what happens between two of them. */
export async function readPages<T>(
  client: Pick<TestClient, 'get'>,
  path: string,
  between: (at: number) => Promise<unknown> = async () => {},
): Promise<{ answers: Answer[]; rows: T[] }> {
  const answers: Answer[] = [];
  for (let at: string | undefined = path; at !== undefined; ) {
    const answer = await client.get(at);
    if (answer.status !== 200) throw new Error(`${at}: ${answer.text}`);
    answers.push(answer);
    at = nextOf(answer);
    if (at !== undefined) await between(answers.length);
  }
  return { answers, rows: answers.flatMap(({ body }) => body as T[]) };
}

/** A page in a browser that calls /console: it keeps cookies and says where it is from. */
export class Browser extends TestClient {
  #cookies = new Map<string, string>();
  readonly #origin: string;

  /** Paths are those below `/console`. */
  constructor(base: string, origin = base) {
    super(`${base}/console`, {});
    this.#origin = origin;
  }

  /** The Cookie header that it sends; empty when it has none. */
  get cookie(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  /** The session's token; undefined when it is not signed in. */
  get token(): string | undefined {
    const isSession = (name: string) => /^(__Host-)?exitward(-\d+)?$/.test(name);
    return [...this.#cookies].find(([name]) => isSession(name))?.[1];
  }

  override async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const isRead = method === 'GET' || method === 'HEAD';
    const answer = await super.send(method, path, body, {
      ...(isRead ? {} : { origin: this.#origin }),
      ...(this.cookie ? { cookie: this.cookie } : {}),
      ...headers,
    });
    for (const line of answer.headers.getSetCookie()) this.#keep(line);
    return answer;
  }

  #keep(line: string): void {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (!name) throw new Error(`Not a cookie: ${line}`);
    if (/;\s*max-age=0(;|$)/i.test(line)) this.#cookies.delete(name);
    else this.#cookies.set(name, value ?? '');
  }
}

/** The cookies as another server of the network reads them: their names end in its port. */
export function cookieAt(url: string, cookie: string): string {
  return cookie.replace(/-\d+=/g, `-${new URL(url).port}=`);
}
