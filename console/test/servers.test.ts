// How a server's health is summed up, and the places of servers as the map shows them.
import { describe, expect, test } from 'vitest';
import {
  countsOf,
  keysText,
  placesName,
  pointOf,
  type ServerPlace,
} from '../src/servers/places.ts';
import { exitsOf, summaryOf } from '../src/servers/rows.ts';

describe('summaryOf', () => {
  const of = (...statuses: Array<'ok' | 'warn' | 'crit' | 'unknown'>) =>
    summaryOf({
      nodes: { all: 2, live: 1 },
      exits: exitsOf({ ips: statuses.map((status) => ({ status })) }),
    });

  test('the worst exit IP decides, and it is said how many are like it', () => {
    expect(of('ok', 'ok')).toEqual({ state: 'ok', text: 'healthy' });
    expect(of('ok', 'warn', 'crit')).toEqual({ state: 'crit', text: 'down, 1 of 3' });
    expect(of('warn', 'unknown', 'warn')).toEqual({ state: 'warn', text: 'degraded, 2 of 3' });
    expect(of('crit', 'crit')).toEqual({ state: 'crit', text: 'down' });
  });

  test('however well its exit IPs were, a server that nobody serves is not ok', () => {
    const exits = { ok: 1, warn: 0, crit: 0, unknown: 0 };
    expect(summaryOf({ nodes: { all: 0, live: 0 }, exits })).toEqual({
      state: 'no_node',
      text: 'no node yet',
    });
    expect(summaryOf({ nodes: { all: 2, live: 0 }, exits }).state).toBe('not_connected');
  });

  test('what is unknown is not ok', () => {
    expect(of('ok', 'unknown').state).toBe('unknown');
    expect(of()).toEqual({ state: 'unknown', text: 'no exit IPs' });
  });
});

describe('places', () => {
  const none = { ok: 0, warn: 0, crit: 0, unknown: 0, not_connected: 0, no_node: 0, others: 0 };
  const place = (city: string, country: string, of: Partial<typeof none>): ServerPlace => {
    const states = { ...none, ...of };
    const servers = Object.values(states).reduce((sum, many) => sum + many, 0);
    const server = servers === 1 ? `${city.toLowerCase()}1` : null;
    return { city, country, latitude: 1, longitude: 2, servers, states, server };
  };
  const berlin = place('Berlin', 'DE', { ok: 3, crit: 1, others: 2 });
  const bonn = place('Bonn', 'DE', { ok: 1 });
  const oslo = place('Oslo', 'NO', { others: 1 });
  const all = [berlin, bonn, oslo];

  test('they count the servers of the contract and the others', () => {
    expect(countsOf(all)).toEqual({
      ...{ all: 8, others: 3, contract: 5, countries: 1 },
      byState: [
        { state: 'ok', many: 4 },
        { state: 'crit', many: 1 },
      ],
    });
  });

  test('a mark has the tones of all of its servers, and the worst decides', () => {
    const { tone, counts, text } = pointOf(berlin, false);
    expect(tone).toBe('bad');
    const shown = [...(counts ?? [])].filter(([, many]) => many > 0);
    expect(Object.fromEntries(shown)).toEqual({ good: 3, bad: 1, faint: 2 });
    expect(text).toBe('Germany, 3 healthy, 1 down, 2 not on the contract');
    expect(pointOf(bonn, false)).toMatchObject({ name: 'bonn1', text: 'Bonn, Germany, healthy' });
    expect(pointOf(oslo, true)).toMatchObject({
      ...{ tone: 'faint', selected: true, text: 'Oslo, Norway, not on the contract' },
    });
  });

  test('the selected places have a name', () => {
    expect(placesName('DE Berlin', all)).toBe('Berlin, Germany');
    expect(placesName(keysText(['NO Oslo', 'DE Berlin', 'NO Oslo']), all)).toBe('2 places');
  });
});
