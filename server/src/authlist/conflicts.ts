// A cap on address conflicts per account and hour: without it, tries reveal other lists' addresses.
import { HourlyCap } from '../bounds/hourly.ts';

/**
 * Counts conflicts with own and foreign entries alike: the answer must not reveal which it was. The
 * cap is checked before the address, so past it, free and claimed addresses get the same answer.
 */
export const conflictCap = (maxConflicts: number) =>
  new HourlyCap(maxConflicts, 'too many addresses were on the authlist already', {
    details: { code: 'too_many_requests', field: 'ip' },
    counts_refusals: true,
  });
