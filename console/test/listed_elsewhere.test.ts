// What is said of an address that is listed already, to whoever cannot take that entry away.
import { describe, expect, test } from 'vitest';
import { listedElsewhere } from '../src/authlist/listed_elsewhere.ts';

const taken = { sentence: '198.51.100.7 is already on the authlist.', field: 'ip' };
const wayOn = 'Ask an admin, or use a token.';

describe('an address that is listed already', () => {
  test('by somebody else: a user without admin is told whom to ask, beside the same field', () => {
    expect(listedElsewhere(taken, [{ ip: '198.51.100.8' }], false)).toEqual({
      sentence: `198.51.100.7 is already on the authlist. ${wayOn}`,
      field: 'ip',
    });
  });

  test('by themselves, or seen by an admin: nobody need be asked', () => {
    expect(listedElsewhere(taken, [{ ip: '198.51.100.7' }], false)).toBe(taken);
    expect(listedElsewhere(taken, [], true)).toBe(taken);
  });

  test('any other error stays as it is', () => {
    const other = { sentence: '"x" is no address.', field: 'ip' };
    expect(listedElsewhere(other, [], false)).toBe(other);
  });
});
