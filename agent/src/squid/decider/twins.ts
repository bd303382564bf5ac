// Connections of one name. A client may use a port for one connection to each address of this node;
// the name of a connection has no address of the node, so those after the first have longer keys.
import type { Socket } from '../sockets.ts';

export class Twins {
  /** The address of the node at which a name was first let in. */
  readonly #firstOf = new Map<string, string>();
  /** By name, the keys of those at others. */
  readonly #others = new Map<string, Set<string>>();

  /** How many names have several connections. */
  get size(): number {
    return this.#others.size;
  }

  /** By which a connection is counted. `local`: the address of the node; undefined: not known. */
  keyOf(name: string, local: string | undefined): string {
    const first = this.#firstOf.get(name);
    if (local === undefined || local === '-' || first === local) return name;
    const key = `${name} ${local}`;
    return first === undefined && !this.#others.get(name)?.has(key) ? name : key;
  }

  /** Notes a connection that is counted. */
  note(key: string, local: string | undefined): void {
    const name = nameOf(key);
    if (key !== name) this.#others.set(name, (this.#others.get(name) ?? new Set()).add(key));
    else if (local !== undefined && local !== '-') this.#firstOf.set(name, local);
  }

  /** All keys of a name. */
  keysOf(name: string): string[] {
    return [name, ...(this.#others.get(name) ?? [])];
  }

  forget(key: string): void {
    const name = nameOf(key);
    if (key === name) this.#firstOf.delete(name);
    const others = this.#others.get(name);
    others?.delete(key);
    if (others?.size === 0) this.#others.delete(name);
  }

  /** Whether a key is among these connections. */
  among(sockets: Iterable<Pick<Socket, 'connection' | 'local'>>): (key: string) => boolean {
    const names = new Set<string>();
    const keys = new Set<string>();
    for (const { connection, local } of sockets) {
      names.add(connection);
      keys.add(`${connection} ${local}`);
    }
    return (key) => {
      if (key !== nameOf(key)) return keys.has(key);
      const first = this.#firstOf.get(key);
      return first === undefined ? names.has(key) : keys.has(`${key} ${first}`);
    };
  }
}

/** The name of a connection in its key. */
export function nameOf(key: string): string {
  const end = key.indexOf(' ');
  return end < 0 ? key : key.slice(0, end);
}
