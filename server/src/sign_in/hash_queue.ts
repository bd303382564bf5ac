// The queue of password hashes: two are computed at a time in this process; visitors take turns.
import { unavailable } from '../errors.ts';

/** The place of a waiting visitor. */
export interface Place {
  /** The address prefix of the visitor. */
  prefix: string;
  /** The account to sign in to; unknown visitors may have made it up. */
  account: string;
  /** Whether a session, a device or an invitation shows that the visitor belongs to the account. */
  isKnown: boolean;
}

interface Waiting {
  place: Place;
  begin: () => void;
  sendAway: (error: Error) => void;
}

const maxAtWork = 2;
/** How many known visitors may wait, and how many others. */
const maxWaiting = 30;
const maxWaitingOfPrefix = 4;
/** Known visitors go first; after this many in a row, one of the others goes. */
const maxKnownInARow = 3;
const maxRemembered = 10_000;
let atWork = 0;
let knownInARow = 0;
const knownVisitors: Waiting[] = [];
const unknownVisitors: Waiting[] = [];

/**
 * The step since which each prefix and each account waits: that of its first try, or of its last
 * turn. Refused tries keep it, so that a visitor who retries moves forward, however many others do;
 * the oldest are dropped.
 */
const since = new Map<string, number>();
let step = 0;

const keysOf = ({ prefix, account, isKnown }: Place) =>
  ['prefix', 'account'].map((noun) => `${isKnown} ${noun} ${noun === 'prefix' ? prefix : account}`);

function remember(key: string, its_step: number): void {
  since.delete(key);
  since.set(key, its_step);
  if (since.size > maxRemembered) since.delete(since.keys().next().value as string);
}

/** Negative when `a` goes before `b`: both prefix and account must be due. */
function compare(a: Place, b: Place): number {
  const [[laterOfA, earlierOfA], [laterOfB, earlierOfB]] = [a, b].map((place) =>
    keysOf(place)
      .map((key) => since.get(key) ?? step)
      .sort((a, b) => b - a),
  ) as [[number, number], [number, number]];
  return laterOfA - laterOfB || earlierOfA - earlierOfB;
}

/** Runs `work` when its turn comes. Errors: 503 when too many visitors wait who go first. */
export async function inHashQueue<T>(place: Place, work: () => Promise<T>): Promise<T> {
  for (const key of keysOf(place)) remember(key, since.get(key) ?? ++step);
  if (atWork < maxAtWork) {
    atWork += 1;
    takeTurn(place);
  } else {
    await new Promise<void>((begin, sendAway) => wait({ place, begin, sendAway }));
  }
  try {
    return await work();
  } finally {
    // A finished visitor hands over the place.
    const next = nextWaiting();
    if (next) {
      takeTurn(next.place);
      next.begin();
    } else {
      atWork -= 1;
    }
  }
}

function takeTurn(place: Place): void {
  step += 1;
  for (const key of keysOf(place)) remember(key, step);
}

/**
 * Errors: 503. When all places are taken, a waiting visitor who goes later is sent away instead.
 */
function wait(visitor: Waiting): void {
  const { place } = visitor;
  const line = place.isKnown ? knownVisitors : unknownVisitors;
  const ofPrefix = line.filter(({ place: { prefix } }) => prefix === place.prefix);
  if (ofPrefix.length >= maxWaitingOfPrefix) throw tooMany();
  if (line.length >= maxWaiting) {
    const last = line.reduce((a, b) => (compare(a.place, b.place) > 0 ? a : b));
    if (compare(last.place, place) <= 0) throw tooMany();
    line.splice(line.indexOf(last), 1);
    last.sendAway(tooMany());
  }
  line.push(visitor);
}

const tooMany = () => unavailable('Too many are signing in at this moment; try again.', 2);

function nextWaiting(): Waiting | undefined {
  const isForKnown =
    knownVisitors.length > 0 && (unknownVisitors.length === 0 || knownInARow < maxKnownInARow);
  knownInARow = isForKnown ? knownInARow + 1 : 0;
  const line = isForKnown ? knownVisitors : unknownVisitors;
  if (line.length === 0) return undefined;
  const next = line.reduce((a, b) => (compare(b.place, a.place) < 0 ? b : a));
  line.splice(line.indexOf(next), 1);
  return next;
}
