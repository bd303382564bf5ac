// The account of a command: service, variant and token, from options, environment or stored login.
import { Failure, UsageFault } from '../../../kit/src/cli/failures.ts';
import { commandFetch, proxyOf } from '../../../kit/src/cli/https_proxy.ts';
import { readInputLine } from '../../../kit/src/cli/input.ts';
import type { jsonOption, Options, OptionValues } from '../../../kit/src/cli/options.ts';
import { askSecret } from '../../../kit/src/cli/question.ts';
import { settingText, unknownSettings } from '../../../kit/src/environment.ts';
import { Exitward } from '../client.ts';
import { OptionError } from '../errors.ts';
import { type Environment, loginFile, readLogin, type StoredLogin } from './stored_login.ts';

/** A setting and its source, which error messages name. */
interface Setting {
  value: string;
  source: string;
}

export interface Account {
  client: Exitward;
  url: string;
  variant: 'current' | 'earlier';
  /** The source of the token. */
  source: string;
}

/** The options of every command of exw. */
export const sessionOptions = {
  url: {
    summary: 'service URL; overrides EXW_URL and the stored login',
    value: '<url>',
    read: String,
  },
  variant: {
    summary: 'API variant to use',
    value: '<name>',
    read: String,
    choices: ['current', 'earlier'],
  },
  insecure: { summary: 'allow plain http to another machine, which exposes the token' },
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

  /** A sentence for each unknown variable that begins like a setting of exw. */
  get unknownSettings(): string[] {
    return unknownSettings(this.#env, /^EXW_/i, settings);
  }

  /** Runs this when the command ends. */
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

  /** The URL of the service, and whether there is a token for it. Errors: those of `service`. */
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

  /** The URL of the service. Errors: a usage fault if it is unknown, or not safe for a token. */
  service(): Setting {
    const url = this.#setting('url');
    if (!url) {
      throw new UsageFault('--url is required, for example https://api.example.com');
    }
    requireSafe(url, this.#options.insecure);
    return { ...url, value: url.value.replace(/\/+$/, '') };
  }

  /** The source of the service URL, and the proxy that requests go through. */
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

/** Reads any secret, without the newline. Prompts for `name` if interactive. */
export async function readSecret(file: string, name: string): Promise<string> {
  return file === '-' ? askSecret(name) : readInputLine(file);
}

/** Errors: a usage fault when the token would cross a network unencrypted. */
function requireSafe({ value, source }: Setting, isInsecure: boolean): void {
  if (isInsecure || !URL.canParse(value)) return;
  const { protocol, hostname } = new URL(value);
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  if (protocol === 'http:' && !isLoopback) {
    throw new UsageFault(
      `${source}: plain http to another machine exposes the token; use https, or add --insecure`,
    );
  }
}

/** The library names its own options; this names where the person set the value. */
function withSource(error: unknown, sources: Record<string, string>): unknown {
  if (!(error instanceof OptionError)) return error;
  const source = sources[error.option];
  return source ? new UsageFault(`${source}: ${error.fault}`) : error;
}
