// PPP logins. For each, pppd's plugin winbind runs a helper that speaks the protocol
// "ntlm-server-1" of Samba's ntlm_auth. Our helper passes the login on to this file, by TCP on
// loopback. pppd's plugin for RADIUS is not used: it truncates passwords after 48 characters.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { replaceDurably } from '../../../kit/src/durable.ts';
import { ownedByConnection } from '../../../kit/src/owner.ts';
import { proveMixed } from './mschap.ts';
import { type LoginAttempt, spellings, type Verdict } from './radius_server.ts';

/** A PPP link, as known before the login. */
export interface PppLink {
  /** The client's address inside the tunnel. */
  address: string;
  exit_ip: string;
  /** The client's own address. */
  source: string;
}

export interface PppLoginsOptions {
  /** For the helper and its files. */
  dir: string;
  evaluate: (attempt: LoginAttempt) => Promise<Verdict>;
  /** The link of one of our pppd processes. */
  findLink: (pid: number) => PppLink | undefined;
  log: Logger;
}

const longest = 16 * 1024;
/** Most connections that have not shown the secret: any program on the machine can open one. */
const maxStrangers = 64;
/** The helper sends everything at once. */
const defaultPatienceMs = 5_000;
/** How long the helper waits for a starting agent, in tenths of a second. */
const helperTries = 100;

export class PppLogins {
  readonly #options: PppLoginsOptions;
  readonly #secret = randomBytes(16).toString('hex');
  /** In the order in which they connected. */
  readonly #strangers = new Set<Socket>();
  #server: Server | undefined;

  readonly #patienceMs: number;

  constructor(options: PppLoginsOptions, patienceMs = defaultPatienceMs) {
    this.#options = options;
    this.#patienceMs = patienceMs;
  }

  /** The command that pppd runs for each login. */
  get helper(): string {
    return `/bin/bash ${join(this.#options.dir, 'ask')}`;
  }

  /**
   * Listens, unless it does already, and writes the port for the helper. Errors: no port is free.
   */
  async listen(): Promise<void> {
    if (this.#server) return;
    const { dir, log } = this.#options;
    const server = createServer((socket) => {
      const own = ownedByConnection(log, socket);
      socket.on(
        'error',
        own(() => socket.destroy()),
      );
      socket.setTimeout(
        this.#patienceMs,
        own(() => socket.destroy()),
      );
      socket.on(
        'close',
        own(() => this.#strangers.delete(socket)),
      );
      const [oldest] = this.#strangers;
      if (this.#strangers.size >= maxStrangers) oldest?.destroy();
      this.#strangers.add(socket);
      own(() => this.#serve(socket))();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#server = server;
    const { port } = server.address() as { port: number };
    const reach = join(dir, 'ask.reach');
    replaceDurably(join(dir, 'ask'), helperProgram(reach));
    replaceDurably(reach, `port=${port}\nsecret=${this.#secret}\n`);
  }

  close(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  async #serve(socket: Socket): Promise<void> {
    let text = '';
    for await (const bytes of socket) {
      text += (bytes as Buffer).toString('latin1');
      if (text.length > longest) return;
      if (!text.endsWith('\n.\n')) continue;
      const fields = fieldsOf(text);
      if (fields.get('secret') !== this.#secret) return;
      this.#strangers.delete(socket);
      socket.setTimeout(0);
      socket.end(`${(await this.#respond(fields)).join('\n')}\n.\n`);
      return;
    }
  }

  async #respond(fields: ReadonlyMap<string, string>): Promise<string[]> {
    const no = ['Authenticated: No'];
    const link = this.#options.findLink(Number(fields.get('pid')));
    const login = fields.get('username') ?? fields.get('full-username');
    if (!link || login === undefined) return no;
    const { source, exit_ip, address } = link;
    const attempt = { login, source, exit_ip, address, connection: `vpn-l2tp ${exit_ip}` };

    const password = fields.get('password');
    if (password !== undefined) {
      const proves = (expected: string) => spellings(expected).includes(password);
      const { allowed } = await this.#options.evaluate({ ...attempt, password, proves });
      return allowed ? ['Authenticated: Yes'] : no;
    }
    const [mixed, response] = ['lanman-challenge', 'nt-response'].map((name) =>
      Buffer.from(fields.get(name) ?? '', 'hex'),
    ) as [Buffer, Buffer];
    if (mixed.length !== 8) return no;
    let key: Buffer | undefined;
    const proves = (expected: string) => {
      for (const spelling of spellings(expected)) key ??= proveMixed(mixed, response, spelling);
      return key !== undefined;
    };
    const { allowed } = await this.#options.evaluate({ ...attempt, proves });
    if (!allowed || !key) return no;
    return ['Authenticated: Yes', `User-Session-Key: ${key.toString('hex').toUpperCase()}`];
  }
}

/** `Name: value`, or `Name:: value` in base64; names in lower case. */
function fieldsOf(text: string): Map<string, string> {
  const fields = text.matchAll(/^([\w-]+):(:?) (.*)$/gm);
  return new Map(
    Array.from(fields, ([, name = '', isEncoded, value = '']) => {
      return [name.toLowerCase(), isEncoded ? Buffer.from(value, 'base64').toString() : value];
    }),
  );
}

/** The helper. It is small, since it runs for each login; it waits for an agent that starts. */
function helperProgram(reach: string): string {
  return `# Written by exitward-agent. pppd asks through it about a login; the agent responds.
pid=$PPID
until [ "$(< "/proc/$pid/comm")" = pppd ]; do
  read -r _ _ _ pid _ < "/proc/$pid/stat"
  [ "$pid" -gt 1 ] || exit 1
done
for ((tries = ${helperTries}; tries > 0; tries--)); do
  . '${reach}'
  { exec 3<> "/dev/tcp/127.0.0.1/$port"; } 2> /dev/null && break
  sleep 0.1
done
printf 'Secret: %s\\nPid: %s\\n' "$secret" "$pid" >&3 || exit 1
while IFS= read -r line; do
  printf '%s\\n' "$line" >&3
  [ "$line" != . ] || break
done
while IFS= read -r line <&3; do
  printf '%s\\n' "$line"
done
`;
}
