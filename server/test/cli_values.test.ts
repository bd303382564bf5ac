// What the command line understands of sizes and times, and how it shows them.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { textOf } from '../src/cli/output.ts';
import { lifetime, size, sizeOrNone, timeFrom } from '../src/cli/values.ts';

describe('sizes', () => {
  test.each([
    ['0', 0],
    ['1000', 1000],
    ['500GB', 500e9],
    ['1TiB', 2 ** 40],
    ['1.5tb', 1.5e12],
    ['2 kB', 2000],
    ['64KiB', 65_536],
    ['7B', 7],
  ])('%s is %i bytes', (text, bytes) => {
    expect(size(text)).toBe(bytes);
  });

  test.each(['', '-5', '5XB', '1.5B', 'GB', '1e9', '9PiB9', '100000PB', '5 G B', 'none'])(
    '%j is refused',
    (text) => {
      expect(() => size(text)).toThrow(/whole bytes/);
    },
  );

  test('"none" lifts a limit', () => {
    expect(sizeOrNone('none')).toBeNull();
  });
});

describe('times', () => {
  const now = Date.UTC(2028, 0, 31, 12) / 1000;
  const at = (text: string) => new Date(timeFrom(text, now) * 1000).toISOString();

  test.each([
    ['1800000000', '2027-01-15T08:00:00.000Z'],
    ['2027-01-31', '2027-01-31T00:00:00.000Z'],
    ['2027-01-31T12:30', '2027-01-31T12:30:00.000Z'],
    ['2027-01-31 12:30:05', '2027-01-31T12:30:05.000Z'],
    ['2027-01-31T12:30Z', '2027-01-31T12:30:00.000Z'],
    ['2027-01-31T12:30+02:00', '2027-01-31T10:30:00.000Z'],
    ['+90s', '2028-01-31T12:01:30.000Z'],
    ['+12h', '2028-02-01T00:00:00.000Z'],
    ['+30d', '2028-03-01T12:00:00.000Z'],
    ['+1mo', '2028-02-29T12:00:00.000Z'],
    ['+13mo', '2029-02-28T12:00:00.000Z'],
    ['+1y', '2029-01-31T12:00:00.000Z'],
  ])('%s is %s', (text, iso) => {
    expect(at(text)).toBe(iso);
  });

  test.each([
    '',
    'tomorrow',
    '2027-13-01',
    '2027-02-30T00:00:00.5',
    '31.01.2027',
    '+1',
    '+1x',
    '-30d',
    '1.5',
  ])('%j is refused', (text) => {
    expect(() => timeFrom(text, now)).toThrow(/Expected epoch seconds/);
  });

  test('a lifetime is seconds, or counted in larger units', () => {
    expect([lifetime('90'), lifetime('12h'), lifetime('30d'), lifetime('1y')]).toEqual([
      90, 43_200, 2_592_000, 31_536_000,
    ]);
    expect(() => lifetime('1mo')).toThrow(/Expected seconds/);
  });
});

describe('what is shown', () => {
  const columns = [
    ['name', 'name'],
    ['limit', 'limit.bytes', 'bytes'],
    ['seen', 'seen', 'time'],
    ['live', 'live'],
  ] as const;
  const rows = [
    { name: 'a', limit: { bytes: 1_250_000_000_000 }, seen: 1_800_000_000, live: true },
    { name: 'longer', limit: { bytes: 999 }, seen: 0, live: false },
    { name: 'bare' },
  ];

  test('people see aligned columns with words', () => {
    expect(textOf({ rows, columns }, true)).toBe(
      [
        'NAME    LIMIT    SEEN               LIVE',
        'a       1.25 TB  2027-01-15 08:00Z  yes',
        'longer  999 B    -                  no',
        'bare    -        -                  -',
        '',
      ].join('\n'),
    );
    expect(textOf({ rows: [], columns }, true)).toBe('none\n');
  });

  test('counts are told by name, without what there is none of', () => {
    const exits = [{ ok: 3, warn: 0, crit: 1 }, { ok: 0 }];
    const all = exits.map((counts) => ({ counts }));
    const shown = textOf({ rows: all, columns: [['health', 'counts', 'counts']] }, false);
    expect(shown).toBe('3 ok, 1 crit\n-\n');
  });

  test('programs see tabs and plain numbers', () => {
    expect(textOf({ rows, columns }, false)).toBe(
      'a\t1250000000000\t1800000000\tyes\nlonger\t999\t0\tno\nbare\t\t\t\n',
    );
    expect(textOf({ rows: [], columns }, false)).toBe('');
  });

  test('whatever the text, a row stays one line with as many cells', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        const line = textOf({ rows: [{ name }], columns }, false);
        expect(line.split('\n')).toHaveLength(2);
        expect(line.split('\t')).toHaveLength(columns.length);
        expect(textOf({ rows: [{ name }], columns }, true).split('\n')).toHaveLength(3);
      }),
    );
  });
});
