// The password-hash queue: two hashes are made at a time in this process, and all who wait take turns.
import { unavailable } from '../errors.ts';

/** The place of one who waits. */
export interface Place {
  /** The address prefix that the visitor comes from. */
  prefix: string;
  /** The account that is signed in to; unknown visitors may have made it up. */
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
/** So many wait who are known, and as many others. */
const maxWaiting = 30;
const maxWaitingOfPrefix = 4;
/** The known go first; behind so many of them comes one of the others. */
const maxKnownInARow = 3;
const maxRemembered = 10_000;
let atWork = 0;
let knownInARow = 0;
const knownVisitors: Waiting[] = [];
const unknownVisitors: Waiting[] = [];

/**
 * Since which step each prefix and each account waits: the step of its first try, or of its last turn. Tries that are
 * refused keep it, so that whoever tries again comes nearer, however many others do; the longest unheard of are forgotten.
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

/** Negative when `a` goes before `b`: prefix and account both have to be due. */
function compare(a: Place, b: Place): number {
  const [[laterOfA, earlierOfA], [laterOfB, earlierOfB]] = [a, b].map((place) =>
    keysOf(place)
      .map((key) => since.get(key) ?? step)
      .sort((a, b) => b - a),
  ) as [[number, number], [number, number]];
  return laterOfA - laterOfB || earlierOfA - earlierOfB;
}

/** Runs `work` when its turn comes. Errors: 503 when too many wait who go before it. */
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
    // The one that leaves hands its place over.
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

/** Errors: 503. A waiting one that it goes before gives way to it where all places are taken. */
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
