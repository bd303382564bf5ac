// A small internet in a network namespace of its own: a bridge for machines, names, an origin on
// the web and an ACME authority that answer to the names of real ones. There is no way out of it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../server/test/waiting.ts';

/**
 * Addresses that the rules against reserved destinations let pass; they are used nowhere but in the
 * namespace.
 */
export const addresses = {
  control: '45.67.1.10',
  node: '45.67.1.1',
  client: '45.67.1.7',
  /** Of a second node. */
  second: '45.67.1.2',
  /**
   * Of the bridge: the router of the machines, their name server, and every site of this internet.
   */
  router: '45.67.1.254',
};
export const bridge = 'machines';

export class Internet {
  readonly namespace = `exitward-${process.pid}`;
  /**
   * The folder of the certificates that all machines trust, and of nothing else: of the web, and of
   * the ACME authority.
   */
  readonly authorities: string;
  /** A certificate of that authority for all names of this internet. */
  site = { certificate: '', key: '' };
  readonly #folder: string;
  readonly #programs: ChildProcess[] = [];

  constructor(folder: string) {
    this.#folder = folder;
    // As it is called in a Debian.
    this.authorities = join(folder, 'ca-certificates');
    mkdirSync(this.authorities, { recursive: true });
  }

  /** Lays the links, then starts name server, origin and authority. */
  static async start(folder: string): Promise<Internet> {
    const internet = new Internet(folder);
    internet.#layLinks();
    internet.#makeCertificates();
    await internet.#startPrograms();
    return internet;
  }

  /** The words that run a command in the namespace. */
  inside(...command: string[]): [string, string[]] {
    return ['nsenter', [`--net=/run/netns/${this.namespace}`, ...command]];
  }

  stop(): void {
    for (const program of this.#programs) program.kill();
    execFileSync('ip', ['netns', 'delete', this.namespace]);
  }

  #run(...command: string[]): void {
    execFileSync(...this.inside(...command));
  }

  #layLinks(): void {
    const { namespace } = this;
    execFileSync('ip', ['netns', 'add', namespace]);
    for (const line of [
      'link set dev lo up',
      `link add ${bridge} type bridge`,
      `address add ${addresses.router}/24 dev ${bridge}`,
      `link set dev ${bridge} up`,
    ]) {
      this.#run('ip', ...line.split(' '));
    }
    this.#run('sysctl', '--quiet', '--write', 'net.ipv4.ip_forward=1');
  }

  /**
   * One authority for the web and the ACME directory, with which all sites have their certificates.
   */
  #makeCertificates(): void {
    const at = (name: string) => join(this.#folder, name);
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    const certify = (file: string, name: string, ...more: string[]) =>
      execFileSync(
        'openssl',
        [
          ...['req', '-x509', ...key, '-days', '30', '-subj', `/CN=${name}`, ...more],
          ...['-keyout', at(`${file}.key`), '-out', at(`${file}.pem`)],
        ],
        { stdio: 'pipe' },
      );
    certify('ca', 'Authority of the tests');
    const names = [
      'control.example.net',
      'ams1.example.net',
      'www.example.com',
      'acme-v02.api.letsencrypt.org',
      'localhost',
    ];
    const alternative = `subjectAltName=${names.map((name) => `DNS:${name}`).join()}`;
    const authority = ['-CA', at('ca.pem'), '-CAkey', at('ca.key')];
    certify('sites', 'sites', '-addext', alternative, ...authority);
    copyFileSync(at('ca.pem'), join(this.authorities, 'web.crt'));
    this.site = {
      certificate: readFileSync(at('sites.pem'), 'utf8'),
      key: readFileSync(at('sites.key'), 'utf8'),
    };
  }

  async #startPrograms(): Promise<void> {
    const at = (name: string) => join(this.#folder, name);
    const { control, router } = addresses;
    const names = {
      'control.example.net': control,
      'www.example.com': router,
      'acme-v02.api.letsencrypt.org': router,
    };
    this.#start('dnsmasq', [
      // There is no other name.
      ...['--keep-in-foreground', '--no-resolv', '--no-hosts', '--address=/#/'],
      ...[`--listen-address=${router}`, '--bind-interfaces', '--pid-file='],
      ...Object.entries(names).map(([name, address]) => `--host-record=${name},${address}`),
    ]);
    const pebble = {
      listenAddress: '127.0.0.1:14000',
      managementListenAddress: '127.0.0.1:15000',
      certificate: at('sites.pem'),
      privateKey: at('sites.key'),
      httpPort: 80,
      tlsPort: 443,
    };
    writeFileSync(at('pebble.json'), JSON.stringify({ pebble }));
    this.#start('pebble', ['-config', at('pebble.json'), '-dnsserver', `${router}:53`]);
    this.#start(process.execPath, [join(import.meta.dirname, 'sites.ts'), this.#folder, router]);
    const page = this.inside(
      'curl',
      '-sf',
      '--cacert',
      at('ca.pem'),
      'https://localhost:14000/dir',
    );
    await until(() => execFileSync(...page, { stdio: 'pipe' }) !== undefined);
    // The authority's certificates are trusted by way of a root that it makes at each start.
    const root = this.inside(
      'curl',
      '-sf',
      '--cacert',
      at('ca.pem'),
      'https://localhost:15000/roots/0',
    );
    writeFileSync(join(this.authorities, 'acme.crt'), execFileSync(...root));
  }

  #start(program: string, args: string[]): void {
    const [command, words] = this.inside(program, ...args);
    const child = spawn(command, words, { stdio: 'ignore' });
    this.#programs.push(child);
  }
}
