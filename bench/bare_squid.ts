// A Squid as the agent would start it, except the decisions: it lets everybody in. The floor for
// what the agent costs.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { systemClock } from '../agent/src/clock.ts';
import { readConfig } from '../agent/src/config.ts';
import type { Listener } from '../agent/src/policy/policy.ts';
import { SquidInstance } from '../agent/src/squid/agent/instance.ts';
import { findSquidUser } from '../agent/src/squid/agent/unix_user.ts';
import { squidConf } from '../agent/src/squid/conf/squid_conf.ts';
import { hosts, schemePorts } from './node.ts';

const host = '127.80.3.3';
const portShift = 8020;

/** The lines that make a decision, or tell of one: a plain Squid has none of them. */
const decisions =
  /^(external_acl_type|http_access|adapted_http_access|url_rewrite_|deny_info|reply_header_|acl (?!exit_))/;

export class BareSquid {
  readonly host = host;
  readonly port = schemePorts[0] + portShift;
  readonly #folder = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
  readonly #config = readConfig({
    EXITWARD_AGENT_LISTEN_HOST: host,
    EXITWARD_AGENT_PORT_SHIFT: String(portShift),
  });
  readonly #user = findSquidUser();
  readonly #squid: SquidInstance;

  constructor() {
    chmodSync(this.#folder, 0o711);
    this.#squid = new SquidInstance({
      number: 0,
      dir: join(this.#folder, 'squid'),
      program: this.#config.squid,
      user: this.#user,
      clock: systemClock,
      log: pino({ level: 'error' }),
    });
    this.#squid.prepare();
  }

  get pid(): number {
    return this.#squid.findProcess() ?? 0;
  }

  async start(): Promise<void> {
    const inForce = schemePorts.map((port) => ({
      port: port + portShift,
      exit_ip: hosts.exit,
      tls: false,
    }));
    await this.#squid.apply(this.#conf(), inForce);
    if (this.#squid.findProcess() === undefined) await this.#squid.start();
    while (this.#squid.faults().length > 0) {
      await sleep(100);
      await this.#squid.checkPorts();
    }
  }

  #conf(): string {
    const listeners = schemePorts.map(
      (port): Listener => ({
        port,
        exit_ip: hosts.exit,
        scheme: 'default',
        override: false,
        tls: false,
      }),
    );
    const conf = squidConf({
      listeners,
      config: this.#config,
      paths: this.#squid.paths,
      user: this.#user?.name,
      decider: [],
      certificate: undefined,
      own: new Set(),
      name_servers: [],
    });
    const lines = conf.split('\n').filter((line) => !decisions.test(line));
    return ['http_access allow all', ...lines].join('\n');
  }

  async stop(): Promise<void> {
    await this.#squid.stop();
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
