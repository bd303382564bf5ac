// Hourly caps: what an action counts is counted once, when its outcome is final.
import { expect, test } from 'vitest';
import { conflictCap } from '../src/authlist/conflicts.ts';
import { type HourlyCap, restoredCap } from '../src/bounds/hourly.ts';
import { type ApiError, conflict } from '../src/errors.ts';
import { eachApp } from './apps.ts';

eachApp((t) => {
  let runs = 0;
  /** An action that counts; then it commits, or is refused with 409. */
  const act = (cap: HourlyCap, isRefused: boolean, isDirty = false) =>
    t
      .write(async (tx) => {
        runs += 1;
        cap.rejectTooMany(tx, 1);
        cap.count(tx, 1);
        if (isDirty) tx.markWritten();
        if (isRefused) throw conflict('taken');
      })
      .then(
        () => 200,
        ({ status }: ApiError) => status,
      );
  /** Makes the whole group run again, each action alone. */
  const spoil = () =>
    t
      .write(async (tx) => {
        tx.markWritten();
        throw new Error('spoilt');
      })
      .catch(() => 500);

  test('a cap of 3 is three conflicts, though a group fails and its actions run again', async () => {
    const cap = conflictCap(3);
    const refused = () => act(cap, true);
    runs = 0;
    const together = [refused(), refused(), spoil(), refused(), refused()];
    expect(await Promise.all(together)).toEqual([409, 409, 500, 409, 429]);
    expect(runs).toBeGreaterThan(4);
    expect(await refused()).toBe(429);
    t.clock.advance(3600);
    expect(await act(cap, true, true)).toBe(409);
    expect([await refused(), await refused(), await refused()]).toEqual([409, 409, 429]);
  });

  test('no group of parallel actions passes the cap', async () => {
    const cap = restoredCap(3);
    const all = Array.from({ length: 6 }, () => act(cap, false));
    expect(await Promise.all(all)).toEqual([200, 200, 200, 429, 429, 429]);
  });

  test('a refused action counts conflicts, and nothing else', async () => {
    const cap = restoredCap(1);
    expect([await act(cap, true), await act(cap, true, true)]).toEqual([409, 409]);
    expect([await act(cap, false), await act(cap, false)]).toEqual([200, 429]);
  });
});
