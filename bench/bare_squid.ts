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
const decisions = /^(external_acl_type|http_access|adapted_http_access|url_rewrite_|deny_info)/;
const startSeconds = 60;

/** Only those of the exits are of a plain Squid. */
const isListOfDecisions = (line: string) => /^acl (?!exit_)/.test(line);

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
    const deadline = performance.now() + startSeconds * 1000;
    while (this.#squid.faults().length > 0) {
      if (performance.now() > deadline) {
        throw new Error(`the bare Squid does not start: ${JSON.stringify(this.#squid.faults())}`);
      }
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
      own_addresses: new Set(),
      name_servers: [],
    });
    const lines = conf.split('\n').filter((line) => !decisions.test(line));
    // Without them, a line that asks for one of their lists would keep Squid from starting.
    const [lists, others] = [
      lines.filter(isListOfDecisions),
      lines.filter((line) => !isListOfDecisions(line)),
    ];
    const names = new Set(lists.map((line) => line.split(' ')[1]));
    const plain = others.filter((line) => !line.split(/[ !]+/).some((word) => names.has(word)));
    return ['http_access allow all', ...plain].join('\n');
  }

  async stop(): Promise<void> {
    await this.#squid.stop();
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
