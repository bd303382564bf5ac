// Turns: waiting things of many keys, taken one of each key per round, so that a key with many does
// not delay the others.

/** A thing that waits for its turn. */
export interface Waiter {
  /** Things of one key are taken in the order in which they came. */
  key: string;
  /** First in each round, if it is the first of its key. */
  isUrgent?: boolean | undefined;
}

/** The waiting things of one key. */
class Line<T extends Waiter> {
  #things: T[] = [];
  #at = 0;

  get head(): T | undefined {
    return this.#things[this.#at];
  }
  push(thing: T): void {
    this.#things.push(thing);
  }
  shift(): void {
    this.#at += 1;
    if (this.#at < 1024 || this.#at * 2 < this.#things.length) return;
    this.#things = this.#things.slice(this.#at);
    this.#at = 0;
  }
  get size(): number {
    return this.#things.length - this.#at;
  }
  rest(): T[] {
    return this.#things.slice(this.#at);
  }
}

/**
 * In a round each key has one turn, keys with an urgent thing first. A new key gets its turn in the
 * current round, unless it has had one: an urgent thing waits for at most two things of each key,
 * and keys that come back again and again starve no other.
 */
export class Turns<T extends Waiter> {
  readonly #lines = new Map<string, Line<T>>();
  /** The keys that have not had their turn in this round. */
  #urgent = new Set<string>();
  #others = new Set<string>();
  /** The keys that have had it, whether they have more or not. */
  #served = new Set<string>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Whether things of several keys wait. */
  get isShared(): boolean {
    return this.#lines.size > 1;
  }

  /** How many things of a key wait. */
  sizeOf(key: string): number {
    return this.#lines.get(key)?.size ?? 0;
  }

  push(thing: T): void {
    this.#size += 1;
    const line = this.#lines.get(thing.key);
    if (line) {
      line.push(thing);
      return;
    }
    const fresh = new Line<T>();
    fresh.push(thing);
    this.#lines.set(thing.key, fresh);
    if (!this.#served.has(thing.key)) this.#join(thing);
  }

  #join({ key, isUrgent }: T): void {
    (isUrgent ? this.#urgent : this.#others).add(key);
  }

  #next(): T | undefined {
    if (this.#urgent.size === 0 && this.#others.size === 0) this.#beginRound();
    const [key] = this.#urgent.size > 0 ? this.#urgent : this.#others;
    return key === undefined ? undefined : this.#lines.get(key)?.head;
  }

  /** Removes the next thing and returns it. */
  take(): T | undefined {
    const thing = this.#next();
    if (!thing) return undefined;
    const { key } = thing;
    this.#urgent.delete(key);
    this.#others.delete(key);
    this.#size -= 1;
    const line = this.#lines.get(key) as Line<T>;
    line.shift();
    if (!line.head) this.#lines.delete(key);
    if (this.#size === 0) this.#served.clear();
    else this.#served.add(key);
    return thing;
  }

  #beginRound(): void {
    const keys = this.#served;
    this.#served = new Set();
    for (const key of keys) {
      const head = this.#lines.get(key)?.head;
      if (head) this.#join(head);
    }
  }

  /** Removes all things and returns them. */
  takeAll(): T[] {
    const all = Array.from(this.#lines.values()).flatMap((line) => line.rest());
    this.#lines.clear();
    for (const keys of [this.#urgent, this.#others, this.#served]) keys.clear();
    this.#size = 0;
    return all;
  }
}
