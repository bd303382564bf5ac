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

const most_at_work = 2;
/** So many wait who are known, and as many others. */
const most_waiting = 30;
const most_waiting_of_one_prefix = 4;
/** The known go first; behind so many of them comes one of the others. */
const most_known_in_a_row = 3;
const most_remembered = 10_000;
let atWork = 0;
let knownInARow = 0;
const known: Waiting[] = [];
const unknown: Waiting[] = [];

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
  if (since.size > most_remembered) since.delete(since.keys().next().value as string);
}

/** Negative when `a` goes before `b`: prefix and account both have to be due. */
function compare(a: Place, b: Place): number {
  const [[laterOfA, earlierOfA], [laterOfB, earlierOfB]] = [a, b].map((place) =>
    keysOf(place)
      .map((key) => since.get(key) ?? step)
      .sort((one, other) => other - one),
  ) as [[number, number], [number, number]];
  return laterOfA - laterOfB || earlierOfA - earlierOfB;
}

/** Runs `work` when its turn comes. Errors: 503 when too many wait who go before it. */
export async function inHashQueue<T>(place: Place, work: () => Promise<T>): Promise<T> {
  for (const key of keysOf(place)) remember(key, since.get(key) ?? ++step);
  if (atWork < most_at_work) {
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
function wait(one: Waiting): void {
  const { place } = one;
  const line = place.isKnown ? known : unknown;
  const ofPrefix = line.filter(({ place: { prefix } }) => prefix === place.prefix);
  if (ofPrefix.length >= most_waiting_of_one_prefix) throw tooMany();
  if (line.length >= most_waiting) {
    const last = line.reduce((a, b) => (compare(a.place, b.place) > 0 ? a : b));
    if (compare(last.place, place) <= 0) throw tooMany();
    line.splice(line.indexOf(last), 1);
    last.sendAway(tooMany());
  }
  line.push(one);
}

const tooMany = () => unavailable('Too many are signing in at this moment; try again.', 2);

function nextWaiting(): Waiting | undefined {
  const isForKnown =
    known.length > 0 && (unknown.length === 0 || knownInARow < most_known_in_a_row);
  knownInARow = isForKnown ? knownInARow + 1 : 0;
  const line = isForKnown ? known : unknown;
  if (line.length === 0) return undefined;
  const next = line.reduce((a, b) => (compare(b.place, a.place) < 0 ? b : a));
  line.splice(line.indexOf(next), 1);
  return next;
}
