// The account of a command: service, variant and token, from options, environment and stored login.
import { Failure, UsageFault } from '../../../kit/src/cli/failures.ts';
import { commandFetch, proxyOf } from '../../../kit/src/cli/https_proxy.ts';
import { readInputLine } from '../../../kit/src/cli/input.ts';
import type { jsonOption, Options, OptionValues } from '../../../kit/src/cli/options.ts';
import { askSecret } from '../../../kit/src/cli/question.ts';
import { settingText, unknownSettings } from '../../../kit/src/environment.ts';
import { Exitward } from '../client.ts';
import { OptionError } from '../errors.ts';
import { type Environment, loginFile, readLogin, type StoredLogin } from './stored_login.ts';

/** A setting and where it is from, which messages about its faults name. */
interface Setting {
  value: string;
  source: string;
}

export interface Account {
  client: Exitward;
  url: string;
  variant: 'current' | 'earlier';
  /** Where the token is from. */
  source: string;
}

/** The options of every command of exw. */
export const sessionOptions = {
  url: {
    summary: 'where the service is, instead of EXW_URL or the stored login',
    value: '<url>',
    read: String,
  },
  variant: {
    summary: 'the variant of the interface that the service is spoken to in',
    value: '<name>',
    read: String,
    choices: ['current', 'earlier'],
  },
  insecure: { summary: 'send the token over plain http to another machine' },
} as const satisfies Options;

const settings = ['EXW_URL', 'EXW_VARIANT', 'EXW_TOKEN_FILE', 'EXW_TOKEN'];

type SessionOptions = OptionValues<typeof sessionOptions & typeof jsonOption>;

export class Session {
  readonly loginFile: string;
  readonly isJson: boolean;
  readonly #env: Environment;
  readonly #options: SessionOptions;
  #stored: StoredLogin | undefined;
  #ending: Array<() => Promise<void>> = [];

  constructor(options: SessionOptions, env: Environment) {
    this.loginFile = loginFile(env);
    this.isJson = options.json;
    this.#options = options;
    this.#env = env;
  }

  /** A sentence for each variable that looks like a setting of exw but is none. */
  get unknownSettings(): string[] {
    return unknownSettings(this.#env, /^EXW_/i, settings);
  }

  /** Has this done when the command ends. */
  atEnd(action: () => Promise<void>): void {
    this.#ending.push(action);
  }

  /** Ends what the command began. */
  async end(): Promise<void> {
    for (const action of this.#ending.splice(0)) await action();
  }

  /** The account, for every command except login. Errors: a failure or a usage fault. */
  async account(): Promise<Account> {
    this.#stored = readLogin(this.loginFile);
    return this.accountWith(await this.#token());
  }

  /** Where the service is, and whether there is a token for its account. Errors: as `service`. */
  serviceFacts(): { url: string; has_token: boolean } {
    this.#stored = readLogin(this.loginFile);
    const { file, token } = this.#tokenSettings();
    const url = this.service().value;
    const has_token = Boolean(file || token || this.#stored?.url === url);
    return { url, has_token };
  }

  /** The account of this token. */
  accountWith({ value: token, source }: Setting): Account {
    const url = this.service();
    const variant = this.#setting('variant') ?? { value: 'current', source: '' };
    try {
      const settings = {
        baseUrl: url.value,
        token,
        variant: variant.value as 'current',
        fetch: commandFetch,
      };
      const client = new Exitward(settings);
      return { client, url: url.value, variant: settings.variant, source };
    } catch (error) {
      throw withSource(error, { baseUrl: url.source, variant: variant.source, token: source });
    }
  }

  #setting(name: 'url' | 'variant'): Setting | undefined {
    const variable = `EXW_${name.toUpperCase()}`;
    const [option, stored] = [this.#options[name], this.#stored?.[name]];
    const fromEnv = settingText(this.#env, variable);
    if (option !== undefined) return { value: option, source: `--${name}` };
    if (fromEnv) return { value: fromEnv, source: variable };
    return stored === undefined ? undefined : { value: stored, source: this.loginFile };
  }

  /** Where the service is. Errors: a usage fault when it is unknown, or not safe for a token. */
  service(): Setting {
    const url = this.#setting('url');
    if (!url) {
      throw new UsageFault('--url: expected where the service is, such as https://api.example.com');
    }
    requireSafe(url, this.#options.insecure);
    return { ...url, value: url.value.replace(/\/+$/, '') };
  }

  /** Where the address of the service is from, and which proxy requests go through. */
  wayInWords(): string {
    const { value, source } = this.service();
    const proxy = proxyOf(value);
    const through = proxy === undefined ? '' : `; requests to it go through ${proxy}`;
    return `The address comes from ${source}${through}.`;
  }

  #tokenSettings(): { file: string; token: string } {
    const file = settingText(this.#env, 'EXW_TOKEN_FILE');
    return { file, token: settingText(this.#env, 'EXW_TOKEN') };
  }

  async #token(): Promise<Setting> {
    const { file, token } = this.#tokenSettings();
    if (file) return { value: await readToken(file), source: 'EXW_TOKEN_FILE' };
    if (token) return { value: token, source: 'EXW_TOKEN' };
    if (!this.#stored) {
      throw new Failure(
        'You are not logged in. Run "exw login --url https://…", or set EXW_URL and EXW_TOKEN_FILE.',
      );
    }
    // The token of one service is not sent to another.
    const url = this.service();
    if (url.value !== this.#stored.url) {
      throw new Failure(
        `You are logged in to ${this.#stored.url}, and that token is not sent to ${url.value} (${url.source}). Log in there, or set EXW_TOKEN_FILE.`,
      );
    }
    return { value: this.#stored.token, source: this.loginFile };
  }
}

/** A token from a file, or for `-` from standard input. Errors: a failure that names the file. */
export async function readToken(file: string): Promise<string> {
  return (await readSecret(file, 'Token')).trim();
}

/** The same for any secret; a person is asked for `what`. Without the line's end. */
export async function readSecret(file: string, what: string): Promise<string> {
  return file === '-' ? askSecret(what) : readInputLine(file);
}

/** Errors: a usage fault when the token would cross a network unencrypted. */
function requireSafe({ value, source }: Setting, isInsecure: boolean): void {
  if (isInsecure || !URL.canParse(value)) return;
  const { protocol, hostname } = new URL(value);
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  if (protocol === 'http:' && !isLoopback) {
    throw new UsageFault(
      `${source}: over plain http to another machine the token could be read on its way; expected https, or --insecure`,
    );
  }
}

/** The library names its own options; this names where the person set the value. */
function withSource(error: unknown, sources: Record<string, string>): unknown {
  if (!(error instanceof OptionError)) return error;
  const source = sources[error.option];
  return source ? new UsageFault(`${source}: ${error.fault}`) : error;
}
