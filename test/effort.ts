// How much the tests try by chance: one setting for all of them, EXITWARD_TEST_EFFORT.

const shares = { small: 0.1, ci: 0.25, deep: 1 };
type Effort = keyof typeof shares;

/** `small`: `npm test`. `ci`: each submission. `deep`: before a release, on both databases in every file. */
export const effort = effortOf(process.env.EXITWARD_TEST_EFFORT);

/** With fewer tries a property says little. */
const fewest = 5;

/**
 * How many tries this run makes where a deep one makes `deep`. `setting` names a variable that sets this number alone;
 * `atLeast` is where a smaller number would prove nothing.
 */
export function tries(deep: number, setting?: string, atLeast = fewest): number {
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
