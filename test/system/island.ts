// A machine of its own, as a network namespace: one wire leads to the control plane, another to
// clients and origins.
import { execFileSync } from 'node:child_process';

/** The ways to break the wire to the control plane. One way: packets are lost without a word. */
export type Cut = 'link down' | 'nothing comes in' | 'nothing goes out';

/** A network that is nobody's, for measurements between machines. */
export const islandNetwork = '198.18.0.0/15';

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

export class Island {
  readonly namespace: string;
  readonly #number: number;
  readonly #wire: string;
  readonly #wires: string[] = [];

  /** Errors: without the right to make one. Numbers: 0 to 3. */
  constructor(number: number) {
    this.#number = number;
    this.namespace = `exitward-${process.pid}-${number}`;
    // An interface's name has 15 characters at most.
    this.#wire = `xw${process.pid}-${number}`;
    run('ip', 'netns', 'add', this.namespace);
    try {
      this.#within('ip', 'link', 'set', 'lo', 'up');
      this.#connect('c', this.control_ip, this.#address(18, 2));
      this.#connect('p', this.client_ip, this.ip);
      run('ip', 'address', 'add', `${this.late_client_ip}/24`, 'dev', `${this.#wire}p`);
    } catch (error) {
      this.remove();
      throw error;
    }
  }

  /** Of the control plane, as it is seen from here. */
  get control_ip(): string {
    return this.#address(18, 1);
  }

  /** Its own, where clients reach it and from where it reaches origins. */
  get ip(): string {
    return this.#address(19, 2);
  }

  /** Of clients and origins. */
  get client_ip(): string {
    return this.#address(19, 1);
  }

  get late_client_ip(): string {
    return this.#address(19, 3);
  }

  cut(how: Cut): void {
    if (how === 'link down') {
      run('ip', 'link', 'set', `${this.#wire}c`, 'down');
      return;
    }
    const [hook, way] = how === 'nothing comes in' ? ['input', 'iifname'] : ['output', 'oifname'];
    this.#nft('add', 'table', 'inet', 'cut');
    this.#nft(...['add', 'chain', 'inet', 'cut', 'c'], `{ type filter hook ${hook} priority 0; }`);
    this.#nft(...['add', 'rule', 'inet', 'cut', 'c', way as string, 'c', 'drop']);
  }

  heal(how: Cut): void {
    if (how === 'link down') run('ip', 'link', 'set', `${this.#wire}c`, 'up');
    else this.#nft('delete', 'table', 'inet', 'cut');
  }

  /** Its rules go with it. The processes in it must have ended. */
  remove(): void {
    // By name: sockets that wait for an answer would keep the namespace, and its wires, for
    // minutes.
    for (const wire of this.#wires) run('ip', 'link', 'delete', wire);
    run('ip', 'netns', 'delete', this.namespace);
  }

  /** A wire: `name` on the inside. */
  #connect(name: string, outer_ip: string, inner_ip: string): void {
    const outer = `${this.#wire}${name}`;
    const inner = ['peer', 'name', name, 'netns', this.namespace];
    run('ip', 'link', 'add', outer, 'type', 'veth', ...inner);
    this.#wires.push(outer);
    run('ip', 'address', 'add', `${outer_ip}/24`, 'dev', outer);
    run('ip', 'link', 'set', outer, 'up');
    this.#within('ip', 'address', 'add', `${inner_ip}/24`, 'dev', name);
    this.#within('ip', 'link', 'set', name, 'up');
  }

  #address(block: 18 | 19, host: number): string {
    return `198.${block}.${(process.pid % 60) * 4 + this.#number}.${host}`;
  }

  #nft(...args: string[]): void {
    this.#within('nft', ...args);
  }

  #within(command: string, ...args: string[]): void {
    run('ip', 'netns', 'exec', this.namespace, command, ...args);
  }
}
