// Hashing a password is cheap in a process that loads this first: people sign in by the hundred.
import { cost } from '../src/sign_in/passwords.ts';

/** The cost of hashing a password in the real server. */
export const realCost = { ...cost };
Object.assign(cost, { log2_n: 8, p: 1 });
