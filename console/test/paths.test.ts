// Addresses within the console: a name comes out of one as it went in.
import { expect, test } from 'vitest';
import { nameIn, paths } from '../src/paths.ts';

const last = (path: string) => path.split('/').at(-1) ?? '';

test('the name of a server or an account is read from its address, whatever characters it has', () => {
  for (const name of ['fra1', 'edge@home', 'a.b_c-d', 'x@y.example']) {
    expect(nameIn(last(paths.server(name)))).toBe(name);
    expect(nameIn(last(paths.operator.server(name)))).toBe(name);
    expect(nameIn(last(paths.operator.account(name)))).toBe(name);
  }
});

test('an address with a broken escape names what it says', () => {
  expect(nameIn('100%')).toBe('100%');
});
