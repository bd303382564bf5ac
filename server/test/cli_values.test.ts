// The sizes, lifetimes and lists that exitward reads, and what it shows; kit/test/cli.test.ts has
// what all command lines do alike.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { textOf } from '../../kit/src/cli/output.ts';
import { list, pastFrom, span } from '../../kit/src/cli/values.ts';
import { countsInWords, statusesInWords } from '../src/cli/columns.ts';
import { lifetime, size, sizeOrNone } from '../src/cli/values.ts';

const empty = { noun: 'rows' };

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

test('a lifetime is seconds, or counted in larger units', () => {
  expect([lifetime('90'), lifetime('12h'), lifetime('30d'), lifetime('1y')]).toEqual([
    90, 43_200, 2_592_000, 31_536_000,
  ]);
  expect(() => lifetime('1mo')).toThrow(`"1mo" isn't a lifetime; expected 90s, 15m,`);
});

test('a past time is counted back from now; m is minutes there, and in every other value', () => {
  const now = Date.parse('2027-03-31T12:00Z') / 1000;
  expect(['2m', '2min', '-2m'].map((text) => now - pastFrom(text, now))).toEqual([120, 120, 120]);
  expect(pastFrom('1mo', now)).toBe(Date.parse('2027-02-28T12:00Z') / 1000);
  expect([lifetime('15m'), span('15m')]).toEqual([900, 900]);
});

test('a list has no empty words', () => {
  expect(list('a, b')).toEqual(['a', 'b']);
  expect(() => list('a,,b')).toThrow('"a,,b": expected names separated by commas');
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
    expect(textOf({ rows, columns, empty }, true)).toBe(
      [
        'NAME      LIMIT  SEEN               LIVE',
        'a       1.25 TB  2027-01-15 08:00Z  yes',
        'longer    999 B  -                  no',
        'bare          -  -                  -',
        '',
      ].join('\n'),
    );
    expect(textOf({ rows: [], columns, empty }, true)).toBe('No rows.\n');
  });

  test('counts are reported by name, without what there is none of', () => {
    const exits = [{ ok: 3, warn: 0, crit: 1 }, { ok: 0 }];
    const all = exits.map((counts) => ({ counts }));
    const shown = textOf(
      { rows: all, columns: [['health', 'counts', countsInWords]], empty },
      false,
    );
    expect(shown).toBe('3 ok, 1 crit\n-\n');
  });

  test('the services of a VPN are reported with their status', () => {
    const rows = [{ vpn: [{ service: 'vpn-ikev2', status: 'ok' }] }, { vpn: [] }];
    rows[0]?.vpn.push({ service: 'vpn-ikev1', status: 'crit' });
    const columns = [['VPN', 'vpn', statusesInWords]] as const;
    expect(textOf({ rows, columns, empty }, false)).toBe('vpn-ikev2 ok,vpn-ikev1 crit\n\n');
    expect(textOf({ rows, columns, empty }, true)).toBe('VPN\nvpn-ikev2 ok, vpn-ikev1 crit\n-\n');
  });

  test('programs see tabs and plain numbers', () => {
    expect(textOf({ rows, columns, empty }, false)).toBe(
      'a\t1250000000000\t1800000000\tyes\nlonger\t999\t0\tno\nbare\t\t\t\n',
    );
    expect(textOf({ rows: [], columns, empty }, false)).toBe('');
  });

  test('whatever the text, a row stays one line with as many cells', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        const line = textOf({ rows: [{ name }], columns, empty }, false);
        expect(line.split('\n')).toHaveLength(2);
        expect(line.split('\t')).toHaveLength(columns.length);
        expect(textOf({ rows: [{ name }], columns, empty }, true).split('\n')).toHaveLength(3);
      }),
    );
  });
});
