// Detects another firewall of the machine that drops packets that the VPN lets pass.
import { expect, test } from 'vitest';
import { Passage } from '../src/vpn/passage.ts';

test('it is blocked once ten packets began and none left, until one leaves', () => {
  const passage = new Passage();
  expect(passage.isBlocked({ begun: 6000, departed: 6000 })).toBe(false);
  expect(passage.isBlocked({ begun: 6300, departed: 6000 })).toBe(false);
  expect(passage.isBlocked({ begun: 6600, departed: 6000 })).toBe(true);
  // Without traffic the result stays.
  expect(passage.isBlocked({ begun: 6600, departed: 6000 })).toBe(true);
  expect(passage.isBlocked({ begun: 6700, departed: 6060 })).toBe(false);
});

test('packets to one refused destination are not a fault while others leave', () => {
  const passage = new Passage();
  for (let step = 1; step < 100; step += 1) {
    expect(passage.isBlocked({ begun: 1000 * step, departed: 60 * step })).toBe(false);
  }
});

test('a table that was made again begins from zero', () => {
  const passage = new Passage();
  expect(passage.isBlocked({ begun: 9000, departed: 9000 })).toBe(false);
  expect(passage.isBlocked({ begun: 700, departed: 0 })).toBe(false);
  expect(passage.isBlocked({ begun: 1400, departed: 0 })).toBe(true);
});
