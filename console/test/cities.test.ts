// The cities that a server's form suggests.
import { expect, test } from 'vitest';
import { cityNamed, readCities } from '../src/operator/forms/cities.ts';

const cities = await readCities();

test('a city is found by its name in any spelling, the largest of several, or the one of a country', () => {
  expect(cityNamed(cities, ' zurich', '')).toMatchObject({ name: 'Zürich', country: 'CH' });
  expect(cityNamed(cities, 'Frankfurt', 'DE')).toMatchObject({ latitude: 50.1, longitude: 8.68 });
  expect(cityNamed(cities, 'San José', '')?.country).toBe('US');
  expect(cityNamed(cities, 'San Jose', 'CR')?.country).toBe('CR');
  expect(cityNamed(cities, 'Frankfurt', 'FR')).toBeUndefined();
  expect(cityNamed(cities, 'Frank', '')).toBeUndefined();
});

test('each has a name of its own in its country, and a position', () => {
  expect(cities.length).toBeGreaterThan(600);
  expect(new Set(cities.map(({ name, country }) => `${name} ${country}`)).size).toBe(cities.length);
  for (const { name, country, latitude, longitude } of cities) {
    expect(country, name).toMatch(/^[A-Z]{2}$/);
    expect(Math.abs(latitude), name).toBeLessThan(90);
    expect(Math.abs(longitude), name).toBeLessThanOrEqual(180);
  }
});
