// A node with ACME, of either engine, whose certificate authority is real.
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { pino } from 'pino';
import { expect, vi } from 'vitest';
import { type Authority, freePorts, startAuthority } from '../../test/authority.ts';
import { readConfig } from '../src/config.ts';
import { joinNetwork } from '../src/identity.ts';
import { type Running, runAgent } from '../src/main.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { listed } from './fake_engine.ts';
import { ScriptedControl } from './scripted_control.ts';

export const hostname = 'fra1.example.net';

export class AcmeNode {
  readonly folder = mkdtempSync(join(tmpdir(), 'exitward-agent-acme-'));
  readonly authority: Authority;
  readonly control: ScriptedControl;
  readonly #port: number;
  #running: Running | undefined;

  private constructor(authority: Authority, control: ScriptedControl, port: number) {
    this.authority = authority;
    this.control = control;
    this.#port = port;
    control.records = [this.server(hostname), ...listed(4_000_000_000).slice(1)];
  }

  /** A node that has joined, and does not run yet. */
  static async make(): Promise<AcmeNode> {
    const [port] = (await freePorts(1)) as [number];
    const node = new AcmeNode(await startAuthority(), await ScriptedControl.start(), port);
    // Squid's user must be able to enter the folder.
    chmodSync(node.folder, 0o711);
    const state_dir = join(node.folder, 'state');
    const { url } = node.control;
    await joinNetwork({ state_dir, url, code: 'ewi_x', name: 'a', again: false });
    return node;
  }

  server(name: string): NodeRecord {
    const bases = [{ base: this.#port - 1, service: 'proxy-https' }];
    return {
      kind: 'server',
      value: {
        name: 'fra1',
        hostname: name,
        services: ['proxy-https'],
        port_schemes: [{ name: 'default', bases }],
        exit_ips: [{ ip: '127.0.0.1', port_base: 1 }],
      },
    };
  }

  async run(env: Record<string, string> = {}): Promise<void> {
    const config = readConfig({
      EXITWARD_AGENT_STATE_DIR: join(this.folder, 'state'),
      EXITWARD_AGENT_ENGINE: 'embedded',
      EXITWARD_AGENT_LISTEN_HOST: '127.0.0.1',
      EXITWARD_AGENT_ACME: 'operator@proxies.example',
      EXITWARD_AGENT_ACME_DIRECTORY: this.authority.directory_url,
      EXITWARD_AGENT_ACME_LISTEN: `127.0.0.1:${this.authority.tls_port}`,
      ...env,
    });
    this.#running = await runAgent(config, { log: pino({ level: 'silent' }) });
  }

  async stop(): Promise<void> {
    await this.#running?.stop();
    this.#running = undefined;
  }

  async clean(): Promise<void> {
    await this.stop();
    await this.control.stop();
    await this.authority.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Resolves when the TLS port shows a certificate for this name. */
  untilShown(name: string): Promise<void> {
    return vi.waitFor(async () => expect(await this.#shown()).toBe(`DNS:${name}`), {
      timeout: 90_000,
      interval: 200,
    });
  }

  /** The sentences about the certificate. */
  faults(): string[] {
    const { faults } = this.#running?.status() ?? { faults: [] };
    // No machine trusts the authority of the tests.
    const own = faults.filter(({ message }) => !message.includes(' reject it: '));
    return own.filter(({ kind }) => kind === 'certificate').map(({ message }) => message);
  }

  async #shown(): Promise<string | undefined> {
    const socket = connect({ host: '127.0.0.1', port: this.#port, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { subjectaltname } = socket.getPeerCertificate();
    socket.destroy();
    return subjectaltname;
  }
}
