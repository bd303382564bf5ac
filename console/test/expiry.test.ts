// Expiries as people select them, in several time zones.
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import {
  defaultLifetime,
  expiryFrom,
  keep,
  lifetimeFor,
  lifetimes,
  localText,
} from '../src/forms/expiry.ts';

/**
 * Calls a function of expiry.ts with each of `given` in each of these time zones, which a thread
 * cannot change: in a process.
 */
function inZones(zones: Record<string, unknown[]>, name: string): Record<string, unknown[]> {
  const program = `
    import * as expiry from ${JSON.stringify(new URL('../src/forms/expiry.ts', import.meta.url))};
    const answers = {};
    for (const [zone, given] of Object.entries(${JSON.stringify(zones)})) {
      process.env.TZ = zone;
      answers[zone] = given.map((choice) => expiry[${JSON.stringify(name)}](choice, 0));
    }
    console.log(JSON.stringify(answers));`;
  const answer = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  return JSON.parse(answer);
}

const epoch = (text: string) => Date.parse(text) / 1000;

describe('a choice', () => {
  test('counts from now, by as many seconds as its words say', () => {
    const sizes: Record<string, number> = {
      hour: 3600,
      day: 86_400,
      week: 604_800,
      year: 31_536_000,
    };
    for (const { value, text } of lifetimes) {
      const [number, unit = ''] = text.replace(/s$/, '').split(' ');
      const seconds = Number(number) * (sizes[unit] as number);
      expect(expiryFrom(value, 1_000_000_000), text).toBe(1_000_000_000 + seconds);
    }
  });

  test.each([
    ['without entries', [], defaultLifetime],
    ['of entries that end sooner', [50, 900], defaultLifetime],
    ['of an entry that lasts as long', [900, 28_800], defaultLifetime],
    ['of an entry that lasts longer', [50, 28_801], '86400'],
    ['of an entry that lasts 20 days', [20 * 86_400, 90_000], '2592000'],
    ['of an entry that lasts longer than all choices', [40_000_000], '31536000'],
  ])('is made for you %s, and shortens none if it can', (_, lasting, expected) => {
    const now = 1_000_000_000;
    const expiries = lasting.map((seconds) => now + seconds);
    expect(lifetimeFor(expiries, now)).toBe(expected);
  });

  test('can leave the expiry as it is', () => {
    expect(expiryFrom(keep, 1_000_000_000)).toBeUndefined();
  });
});

describe('an exact date and time', () => {
  test("is of the reader's own zone, in summer and in winter", () => {
    const texts = ['2026-11-21T22:19', '2026-07-01T12:00'];
    expect(inZones({ 'Europe/Berlin': texts, 'Asia/Kathmandu': texts }, 'expiryFrom')).toEqual({
      'Europe/Berlin': [epoch('2026-11-21T21:19:00Z'), epoch('2026-07-01T10:00:00Z')],
      'Asia/Kathmandu': [epoch('2026-11-21T16:34:00Z'), epoch('2026-07-01T06:15:00Z')],
    });
  });

  test('of an hour that comes twice is its first time, of one that is left out the hour after it', () => {
    const texts = ['2026-10-25T02:30', '2026-03-29T02:30'];
    expect(inZones({ 'Europe/Berlin': texts }, 'expiryFrom')).toEqual({
      'Europe/Berlin': [epoch('2026-10-25T00:30:00Z'), epoch('2026-03-29T01:30:00Z')],
    });
  });

  test('is shown again as it was written', () => {
    const texts = ['2026-01-02T03:04', '2027-12-31T23:59', '2028-02-29T00:00'];
    const written = { UTC: texts, 'America/St_Johns': texts, 'Pacific/Auckland': texts };
    expect(inZones(inZones(written, 'expiryFrom'), 'localText')).toEqual(written);
  });

  test('keeps its seconds when it is saved as shown', () => {
    const current = epoch('2026-11-21T21:19:37Z');
    expect(expiryFrom(localText(current), 0, current)).toBe(current);
    expect(expiryFrom(localText(current).replace('T', ' '), 0, current)).toBe(current);
    expect(expiryFrom(localText(current + 60), 0, current)).toBe(epoch('2026-11-21T21:20:00Z'));
  });

  test('is none when it is not a date', () => {
    for (const text of ['', 'tomorrow', '2026-11-21', '2026-13-01T00:00', '-5', '1e3']) {
      expect(expiryFrom(text, 0), text).toBeUndefined();
    }
  });
});

test('the time zone is shown with its offset at the time in question', () => {
  const times = [epoch('2026-11-21T00:00:00Z'), epoch('2026-07-01T00:00:00Z')];
  const zones = { 'Europe/Berlin': times, 'America/St_Johns': times, UTC: times };
  expect(inZones(zones, 'zoneAt')).toEqual({
    'Europe/Berlin': ['Europe/Berlin, UTC+1', 'Europe/Berlin, UTC+2'],
    'America/St_Johns': ['America/St_Johns, UTC−3:30', 'America/St_Johns, UTC−2:30'],
    UTC: ['UTC', 'UTC'],
  });
});
