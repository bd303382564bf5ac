// A cap on address conflicts per account and hour: without it the list would tell which addresses others list.
import { HourlyCap } from '../bounds/hourly.ts';

/**
 * Counts conflicts, with own entries and foreign ones alike: the answer must not tell which. It is asked before an
 * address is looked at, so that past the cap a free one and a claimed one get the same answer.
 */
export const conflictCap = (maxConflicts: number) =>
  new HourlyCap(maxConflicts, 'too many addresses were on the authlist already', { field: 'ip' });
