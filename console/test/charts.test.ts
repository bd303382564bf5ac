// Charts show what is there: the axis is the span, every mark is within its scale, a gap stays a
// gap, and everybody can distinguish the colours.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bucketFor, bucketText, timeTicks, valueTicks } from '../src/charts/axis.ts';
import { bucketsIn, daySeconds, startOfBucket } from '../src/charts/days.ts';
import { marksOf, nearest, type Series } from '../src/charts/marks.ts';
import { bucketInWords, csvOf, inWords, numbersOf } from '../src/charts/numbers.ts';
import { changeInWords, spanBefore, spanOf } from '../src/charts/span.ts';
import { inBitsPerSecond, inBytes, inCounts, inSeconds } from '../src/charts/units.ts';

const hour = 3600;
const midnight = Date.parse('2026-11-21T00:00:00Z') / 1000;
const times = fc.integer({ min: 1_000_000_000, max: 4_000_000_000 });
const spans = fc
  .tuple(times, fc.integer({ min: hour, max: 1200 * daySeconds }))
  .map(([from, length]) => ({ from, to: from + length }));
const amounts = fc.oneof(fc.nat(50), fc.double({ min: 0, max: 9e18, noNaN: true }));
const units = fc.constantFrom(inBytes, inBitsPerSecond, inCounts, inSeconds);

describe('the axis of values', () => {
  test('begins at 0, ends at or above the maximum, and has a few ticks in one unit', () => {
    fc.assert(
      fc.property(amounts, units, (max, unit) => {
        const ticks = valueTicks(max, unit);
        expect(ticks[0]?.at).toBe(0);
        expect(ticks.at(-1)?.at).toBeGreaterThanOrEqual(max * 0.999999);
        expect(ticks.length).toBeGreaterThan(1);
        expect(ticks.length).toBeLessThan(7);
        expect(new Set(ticks.map(({ text }) => text.replace(/^[\d.,]+/, ''))).size).toBe(1);
        expect(new Set(ticks.map(({ text }) => text)).size).toBe(ticks.length);
      }),
    );
  });

  test.each([
    [1_400_000_000_000, inBytes, ['0 TB', '0.5 TB', '1 TB', '1.5 TB']],
    [0, inCounts, ['0', '1']],
    [3, inCounts, ['0', '1', '2', '3']],
    [
      800_000_000,
      inBitsPerSecond,
      ['0 Mbit/s', '200 Mbit/s', '400 Mbit/s', '600 Mbit/s', '800 Mbit/s'],
    ],
    [150, inSeconds, ['0 min', '1 min', '2 min', '3 min']],
  ])('to %d', (max, unit, texts) => {
    expect(valueTicks(max, unit).map(({ text }) => text)).toEqual(texts);
  });
});

test('in a table the digits of bytes and of bits a second stay in their places', () => {
  for (const unit of [inBytes, inBitsPerSecond]) {
    const digits = [2_900_000_000, 3_580_000_000, 999_600].map((value) =>
      unit.cell(value).replace(/[^\d.]/g, ''),
    );
    expect(digits).toEqual(['2.90', '3.58', '1.00']);
  }
});

describe('the axis of time', () => {
  test('has ticks within the span alone, no more than there is room for, in order', () => {
    fc.assert(
      fc.property(spans, fc.integer({ min: 2, max: 15 }), (span, maxTicks) => {
        const ticks = timeTicks(span, maxTicks).map(({ at }) => at);
        expect(ticks.length).toBeLessThanOrEqual(maxTicks + 1);
        for (const at of ticks) {
          expect(at).toBeGreaterThanOrEqual(span.from);
          expect(at).toBeLessThan(span.to);
        }
        expect(ticks).toEqual(ticks.toSorted((a, b) => a - b));
      }),
    );
  });

  test('names hours within days, days, and months of a year', () => {
    const texts = (days: number, maxTicks = 6) =>
      timeTicks({ from: midnight, to: midnight + days * daySeconds }, maxTicks).map(
        ({ text }) => text,
      );
    expect(texts(1)).toEqual(['21 Nov', '06:00', '12:00', '18:00']);
    expect(texts(30)).toEqual(['23 Nov', '30 Nov', '7 Dec', '14 Dec']);
    // On a phone.
    expect(texts(30, 3)).toEqual(['23 Nov', '7 Dec']);
    expect(texts(365)).toEqual([
      'Jan 2027',
      'Mar 2027',
      'May 2027',
      'Jul 2027',
      'Sept 2027',
      'Nov 2027',
    ]);
  });
});

describe('buckets', () => {
  test('cover the span without a gap, and have the pixels that they need', () => {
    fc.assert(
      fc.property(spans, fc.integer({ min: 200, max: 2000 }), (span, pixels) => {
        const seconds = bucketFor(span, pixels);
        const starts = bucketsIn(span, seconds);
        expect(starts[0]).toBeLessThanOrEqual(span.from);
        expect((starts.at(-1) ?? 0) + seconds).toBeGreaterThanOrEqual(span.to);
        for (const [at, start] of starts.entries())
          expect(start).toBe((starts[0] ?? 0) + at * seconds);
        if (seconds < 28 * daySeconds)
          expect(pixels / ((span.to - span.from) / seconds)).toBeGreaterThanOrEqual(3.999);
      }),
    );
  });

  test.each([
    [1, 500, 15 * 60],
    [7, 500, 2 * hour],
    [30, 500, 6 * hour],
    [365, 1000, 7 * daySeconds],
  ])('of %d days on %d pixels are %d seconds long', (days, pixels, seconds) => {
    expect(bucketFor({ from: 0, to: days * daySeconds }, pixels)).toBe(seconds);
  });

  test('weeks begin on Mondays, days at midnight, in UTC', () => {
    expect(new Date(startOfBucket(midnight + 5, 7 * daySeconds) * 1000).getUTCDay()).toBe(1);
    expect(startOfBucket(midnight + 5 * hour, daySeconds)).toBe(midnight);
  });

  test('are named by their day, days or times', () => {
    expect(bucketText(midnight, daySeconds)).toBe('Sat, 21 Nov 2026');
    expect(bucketText(midnight, 7 * daySeconds)).toBe('21 Nov to 27 Nov');
    expect(bucketText(midnight + hour, 900)).toBe('Sat, 21 Nov 2026, 01:00–01:15');
    expect(bucketText(midnight + hour, 0)).toBe('Sat, 21 Nov 2026, 01:00');
  });
});

const box = { width: 600, height: 200 };
const values = (count: number) =>
  fc.array(fc.option(amounts, { nil: null }), { minLength: count, maxLength: count });
const numbersIn = (path: string) => (path.match(/-?\d+(\.\d+)?(e-?\d+)?/g) ?? []).map(Number);

describe('marks', () => {
  const bar = (values: Series['values'], name = 'a'): Series => ({
    name,
    color: '--series-0',
    mark: 'bar',
    values,
  });
  const line = (values: Series['values'], more: Partial<Series> = {}): Series => ({
    ...{ name: 'line', color: '--series-0', mark: 'line', values },
    ...more,
  });
  const charted = (series: Series[], more: object = {}) => ({
    ...{
      span: { from: midnight, to: midnight + 4 * hour },
      starts: [0, 1, 2, 3].map((at) => midnight + at * hour),
    },
    ...{ seconds: hour, unit: inCounts, series, ...more },
  });

  test('lines, bands and a limit are within the scale, whatever the values', () => {
    fc.assert(
      fc.property(values(4), values(4), amounts, (mean, high, limit) => {
        const low = mean.map((value) => value && value / 2);
        const top = high.map((value, at) => Math.max(value ?? 0, mean[at] ?? 0));
        const marks = marksOf(charted([line(mean, { low, high: top })], { limit }), box);
        expect(marks.y(limit)).toBeGreaterThanOrEqual(-0.001);
        for (const path of [marks.paths[0]?.line, marks.paths[0]?.band]) {
          for (const pixel of numbersIn(path ?? '')) {
            expect(pixel).toBeGreaterThanOrEqual(-0.01);
            expect(pixel).toBeLessThanOrEqual(600.01);
          }
        }
      }),
    );
  });

  test('stacked bars are as high as their sum, and end below the top', () => {
    const marks = marksOf(charted([bar([1, 0, null, 3]), bar([2, 5, 4, null], 'b')]), box);
    const [below, above] = marks.paths.map(({ fill = '' }) => fill.split('z').filter(Boolean));
    expect(marks.values.at(-1)?.at).toBe(6);
    expect(below).toHaveLength(2);
    expect(above).toHaveLength(3);
    // 1 of 6 at the bottom, and 2 on it.
    expect(below?.[0]).toMatch(/^M2 200h146V166\.67h-146$/);
    expect(above?.[0]).toMatch(/^M2 166\.67h146V100h-146$/);
  });

  test('a gap interrupts a line and a band; a value between two gaps is a dot', () => {
    const gap = [1, null, 2, 2];
    const [path] = marksOf(charted([line(gap, { low: gap, high: gap })]), box).paths;
    expect(path?.line?.match(/M/g)).toHaveLength(2);
    expect(path?.line).toContain('h0.01');
    expect(path?.band?.match(/z/g)).toHaveLength(2);
  });

  test('the limit is in the scale, however far it is above what is used', () => {
    const marks = marksOf(charted([line([1, 2, 3, 4])], { limit: 1000 }), box);
    expect(marks.y(1000)).toBe(0);
    expect(marks.y(4)).toBeCloseTo(199.2);
  });

  test('the axis is the span: buckets that reach out of it are cut', () => {
    const span = { from: midnight + hour / 2, to: midnight + 8 * hour };
    const { x, centers } = marksOf(charted([line([1, 1, 1, 1])], { span }), box);
    expect([x(span.from), x(span.to)]).toEqual([0, 600]);
    expect(x(midnight)).toBe(0);
    expect(centers[0]).toBe(20);
    expect(nearest(centers, 590)).toBe(3);
    expect(nearest([], 3)).toBeUndefined();
  });

  test('the table, the file and the sentences have the same numbers', () => {
    const of = charted([
      bar([1, null, 2, null], 'Down'),
      bar([3, null, 0, null], 'Up'),
      line([4, 5, null, null], { name: 'Mean', low: [3, 4, null, null], high: [6, 7, null, null] }),
    ]);
    expect(numbersOf(of).map(({ name }) => name)).toEqual([
      'Down',
      'Up',
      'Mean',
      'Mean, lowest',
      'Mean, highest',
      'Total',
    ]);
    expect(
      csvOf(of, { ...of, title: 'Other', unit: inBytes, series: of.series.slice(0, 1) }).header,
    ).toEqual([
      ...['from', 'down', 'up', 'mean', 'mean_lowest', 'mean_highest', 'total'],
      'other_down_bytes',
    ]);
    expect(csvOf(of).rows).toEqual([
      ['2026-11-21T00:00:00.000Z', 1, 3, 4, 3, 6, 4],
      ['2026-11-21T01:00:00.000Z', '', '', 5, 4, 7, ''],
      ['2026-11-21T02:00:00.000Z', 2, 0, '', '', '', 2],
    ]);
    expect(bucketInWords(of, 0)).toBe(
      'Sat, 21 Nov 2026, 00:00–01:00: 4 in all: Down 1, Up 3, Mean 4 (3 to 6)',
    );
    expect(bucketInWords(of, 3)).toBe('Sat, 21 Nov 2026, 03:00–04:00: unknown');
    expect(inWords(of)).toBe('Down: 3. Up: 3. Mean: 5 at the end, at most 7.');
  });
});

describe('the period before', () => {
  const choice = { name: 'week', first: '', last: '' };
  const now = midnight + 10 * hour;
  const calendar = { now, grain: daySeconds };

  test('is as long as what has passed of the span, and directly before it', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('day', 'week', 'month', 'quarter', 'year'),
        times,
        (name, now) => {
          const span = spanOf({ ...choice, name }, { now, grain: daySeconds }) as {
            from: number;
            to: number;
          };
          const before = spanBefore({ ...choice, name }, span, { now, grain: daySeconds });
          expect(span.to).toBeGreaterThan(now);
          expect(before?.from).toBe(span.from - (span.to - span.from));
          const passed = Math.min(span.to, (Math.floor(now / hour) + 1) * hour) - span.from;
          expect((before?.to ?? 0) - (before?.from ?? 0)).toBe(passed);
        },
      ),
    );
  });

  test('of a billing period is the billing period before, as far as this one has come', () => {
    const period = { start: midnight - 9 * daySeconds, end: midnight + 21 * daySeconds };
    const earlier = [
      { start: period.start - 30 * daySeconds, end: period.start },
      { start: period.start - 60 * daySeconds, end: period.start - 30 * daySeconds },
    ];
    const withPeriods = { ...calendar, period, earlier };
    const before = (name: string) => {
      const of = { ...choice, name };
      return spanBefore(of, spanOf(of, withPeriods) as { from: number; to: number }, withPeriods);
    };
    const [last, first] = earlier as [(typeof earlier)[0], (typeof earlier)[0]];
    expect(before('period')).toEqual({
      from: last.start,
      to: last.start + 9 * daySeconds + 11 * hour,
    });
    expect(before(`period:${new Date(last.start * 1000).toISOString().slice(0, 10)}`)).toEqual({
      from: first.start,
      to: first.end,
    });
    expect(
      before(`period:${new Date(first.start * 1000).toISOString().slice(0, 10)}`),
    ).toBeUndefined();
  });

  test.each([
    [112, 100, '12% more than in the previous period'],
    [50, 100, '50% less than in the previous period'],
    [1001, 1000, 'as in the previous period'],
    [5, 0, 'none in the previous period'],
    [0, 0, 'as in the previous period'],
  ])('%d after %d is %s', (value, before, words) => {
    expect(changeInWords(value, before)).toBe(words);
  });
});

describe('the colours', () => {
  const css = (file: string) =>
    readFileSync(new URL(`../src/style/${file}`, import.meta.url), 'utf8');
  const pair = (text: string, name: string) => {
    const [, light = '', dark = ''] =
      new RegExp(`${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(text) ?? [];
    return { light, dark };
  };
  const linear = (hex: string) =>
    [1, 3, 5].map((at) => {
      const c = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
  const luminance = (hex: string) => {
    const [r = 0, g = 0, b = 0] = linear(hex);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a: string, b: string) => {
    const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };
  /** Full sight, and without red, green or blue (Machado, Oliveira and Fernandes, 2009). */
  const sights = [
    [1, 0, 0, 0, 1, 0, 0, 0, 1],
    [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
    [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
    [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
  ];
  const seen = (hex: string, sight: number[]) => {
    const [r = 0, g = 0, b = 0] = linear(hex);
    const at = (row: number) => {
      const [x = 0, y = 0, z = 0] = sight.slice(row * 3, row * 3 + 3);
      return Math.min(1, Math.max(0, x * r + y * g + z * b));
    };
    const [R, G, B] = [at(0), at(1), at(2)];
    const l = Math.cbrt(0.4122214708 * R + 0.5363325363 * G + 0.0514459929 * B);
    const m = Math.cbrt(0.2119034982 * R + 0.6806995451 * G + 0.1073969566 * B);
    const s = Math.cbrt(0.0883024619 * R + 0.2817188376 * G + 0.6299787005 * B);
    return [
      0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
      1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
      0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
    ];
  };
  /** The distance in OKLab, for those who see the least of it. */
  const distance = (a: string, b: string) =>
    Math.min(
      ...sights.map((sight) => {
        const [p, q] = [seen(a, sight), seen(b, sight)];
        return Math.hypot(...p.map((value, at) => value - (q[at] ?? 0)));
      }),
    );

  test.each(['tokens.css', 'operator.css'])(
    'with the accent of %s, each stands out from the page, and from each other for every eye',
    (file) => {
      const others = [1, 2, 3, 4, 5, 6].map((at) => pair(css('charts.css'), `--series-${at}`));
      const colours = [pair(css(file), '--accent'), ...others];
      const surface = pair(css('tokens.css'), '--surface');
      for (const theme of ['light', 'dark'] as const) {
        const shown = colours.map((colour) => colour[theme]);
        for (const [at, colour] of shown.entries()) {
          expect(contrast(colour, surface[theme]), `${theme} ${colour}`).toBeGreaterThanOrEqual(3);
          for (const other of shown.slice(0, at)) {
            expect(distance(colour, other), `${theme} ${colour} ${other}`).toBeGreaterThan(0.09);
          }
        }
      }
    },
  );
});
