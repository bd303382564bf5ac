// How much the tests try by chance: one setting for all of them, EXITWARD_TEST_EFFORT.

const shares = { small: 0.005, ci: 0.01, deep: 1 };
type Effort = keyof typeof shares;

/**
 * `small`: `npm test`. `ci`: each submission. `deep`: before a release, on both databases in every
 * file.
 */
export const effort = effortOf(process.env.EXITWARD_TEST_EFFORT);

/** With fewer tries a property says little. */
const fewest = 5;

interface Bounds {
  /** A variable that sets this number alone. */
  setting?: string;
  /** A smaller number would prove nothing: not every outcome is seen. */
  atLeast?: number;
}

/** How many tries this run makes where a deep one makes `deep`. */
export function tries(deep: number, { setting, atLeast = fewest }: Bounds = {}): number {
  const given = setting && process.env[setting];
  if (given) return Number(given);
  return Math.min(deep, Math.max(atLeast, Math.ceil(deep * shares[effort])));
}

function effortOf(text = ''): Effort {
  if (text === '') return 'small';
  if (Object.hasOwn(shares, text)) return text as Effort;
  const efforts = Object.keys(shares).join(', ');
  throw new Error(`EXITWARD_TEST_EFFORT: expected one of ${efforts}; got ${JSON.stringify(text)}.`);
}
