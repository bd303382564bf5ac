// Billing periods: whole calendar months from the contract's start, none lost, none twice.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tries } from '../../test/effort.ts';
import { earlierPeriods, hourOf, periodAt } from '../src/values/periods.ts';

const at = (text: string) => Date.parse(text) / 1000;
const shown = ({ start, end }: { start: number; end: number }) =>
  [start, end].map((seconds) => new Date(seconds * 1000).toISOString().slice(0, 19));

const moment = fc.integer({ min: at('1970-01-01T00:00:00Z'), max: at('2200-01-01T00:00:00Z') });
const endOfMonth = fc
  .tuple(
    fc.integer({ min: 1970, max: 2199 }),
    fc.nat(11),
    fc.integer({ min: 27, max: 31 }),
    fc.nat(86_399),
  )
  .map(([year, month, day, time]) => Date.UTC(year, month, day) / 1000 + time);
const start = fc.oneof(moment, endOfMonth);
const span = fc.oneof(fc.nat(40 * 86_400), fc.nat(200 * 366 * 86_400));

describe('periodAt', () => {
  it.each([
    ['2024-01-31T10:00:00Z', '2024-02-29T09:59:59Z', '2024-01-31T10:00:00', '2024-02-29T10:00:00'],
    ['2024-01-31T10:00:00Z', '2024-02-29T10:00:00Z', '2024-02-29T10:00:00', '2024-03-31T10:00:00'],
    ['2023-01-31T00:00:00Z', '2023-03-01T00:00:00Z', '2023-02-28T00:00:00', '2023-03-31T00:00:00'],
    ['2023-01-31T00:00:00Z', '2023-04-30T00:00:00Z', '2023-04-30T00:00:00', '2023-05-31T00:00:00'],
    ['2024-02-29T00:00:00Z', '2025-02-28T00:00:00Z', '2025-02-28T00:00:00', '2025-03-29T00:00:00'],
    ['2025-12-15T23:59:59Z', '2026-01-01T00:00:00Z', '2025-12-15T23:59:59', '2026-01-15T23:59:59'],
    ['2025-06-01T00:00:00Z', '2026-05-31T23:59:59Z', '2026-05-01T00:00:00', '2026-06-01T00:00:00'],
    ['2025-06-15T12:00:00Z', '2025-06-15T11:59:59Z', '2025-06-15T12:00:00', '2025-07-15T12:00:00'],
    ['2025-06-15T12:00:00Z', '1999-01-01T00:00:00Z', '2025-06-15T12:00:00', '2025-07-15T12:00:00'],
  ])('of a contract from %s holds %s from %s to %s', (from, now, begin, end) => {
    expect(shown(periodAt(at(from), at(now)))).toEqual([begin, end]);
  });

  it('holds now', () => {
    fc.assert(
      fc.property(start, span, (from, seconds) => {
        const period = periodAt(from, from + seconds);
        expect(period.start).toBeLessThanOrEqual(from + seconds);
        expect(period.end).toBeGreaterThan(from + seconds);
        expect(period.start).toBeGreaterThanOrEqual(from);
      }),
      { numRuns: tries(2000) },
    );
  });

  it('follows the one before and precedes the one after without gap or overlap', () => {
    fc.assert(
      fc.property(start, span, (from, seconds) => {
        const period = periodAt(from, from + seconds);
        expect(periodAt(from, period.start)).toEqual(period);
        expect(periodAt(from, period.end - 1)).toEqual(period);
        expect(periodAt(from, period.end).start).toBe(period.end);
        if (period.start > from) expect(periodAt(from, period.start - 1).end).toBe(period.start);
      }),
      { numRuns: tries(2000) },
    );
  });

  it('begins on the day and time of the contract in each month that has the day, else on its last', () => {
    fc.assert(
      fc.property(start, span, (from, seconds) => {
        const anchor = new Date(from * 1000);
        const begin = new Date(periodAt(from, from + seconds).start * 1000);
        const lastDay = new Date(
          Date.UTC(begin.getUTCFullYear(), begin.getUTCMonth() + 1, 0),
        ).getUTCDate();
        expect(begin.getUTCDate()).toBe(Math.min(anchor.getUTCDate(), lastDay));
        expect(begin.toISOString().slice(11)).toBe(anchor.toISOString().slice(11));
      }),
      { numRuns: tries(2000) },
    );
  });

  it('comes once in each calendar month', () => {
    fc.assert(
      fc.property(start, (from) => {
        const months: number[] = [];
        for (let count = 0, now = from; count < 50; count++) {
          const begin = new Date(now * 1000);
          months.push(begin.getUTCFullYear() * 12 + begin.getUTCMonth());
          now = periodAt(from, now).end;
        }
        expect(months).toEqual(months.map((_, count) => (months[0] ?? 0) + count));
      }),
    );
  });

  it('is the first one before the contract begins', () => {
    fc.assert(
      fc.property(start, span, (from, seconds) => {
        expect(periodAt(from, from - seconds)).toEqual(periodAt(from, from));
        expect(periodAt(from, from).start).toBe(from);
      }),
    );
  });
});

describe('hourOf', () => {
  it('is the start of the hour that holds the moment', () => {
    fc.assert(
      fc.property(moment, (seconds) => {
        const hour = hourOf(seconds);
        expect(hour % 3600).toBe(0);
        expect(seconds - hour).toBeGreaterThanOrEqual(0);
        expect(seconds - hour).toBeLessThan(3600);
        expect(hourOf(hour)).toBe(hour);
      }),
    );
  });
});

describe('earlierPeriods', () => {
  it('follow one another without a gap from the running one back to the start, or as many as asked for', () => {
    fc.assert(
      fc.property(
        start,
        fc.nat(5 * 366 * 86_400),
        fc.integer({ min: 1, max: 30 }),
        (from, later, max) => {
          const now = from + later;
          const earlier = earlierPeriods(from, now, max);
          let next = periodAt(from, now);
          for (const period of earlier) {
            expect(period.end).toBe(next.start);
            expect(period).toEqual(periodAt(from, period.start));
            next = period;
          }
          expect(earlier.length === max || next.start === from).toBe(true);
        },
      ),
    );
  });
});
