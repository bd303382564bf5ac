// The remedy of a clock that is wrong, by what the machine has.
import { expect, test } from 'vitest';
import { clockRemedy } from '../src/doctor/clock.ts';

test.each([
  ['/usr/lib/systemd/systemd-timesyncd', 'systemd-timesyncd'],
  ['/usr/sbin/chronyd', 'chrony'],
])('a machine that has %s is not asked to install another', (installed, service) => {
  const remedy = clockRemedy((program) => program === installed);
  expect(remedy).toMatch(new RegExp(`^systemctl enable --now ${service};`));
});

test('a machine without any installs one', () => {
  expect(clockRemedy(() => false)).toBe('apt-get install systemd-timesyncd');
});
