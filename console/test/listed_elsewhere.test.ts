// The words about an address that is listed already, for a person who cannot remove that entry.
import { describe, expect, test, vi } from 'vitest';

// Only browsers have one.
vi.stubGlobal('sessionStorage', { getItem: () => null });

const { ApiError } = await import('../src/api/api.ts');
const { explainListed } = await import('../src/authlist/listed_elsewhere.ts');

const ip = '198.51.100.7';
const said = `${ip} is already on the authlist.`;
const conflict = new ApiError(409, {
  message: `ip: ${said}`,
  code: 'address_taken' as const,
  field: 'ip',
});
const wayOn = 'Ask an admin, or use a token.';

describe('an address that is listed already', () => {
  test('by somebody else: a user without admin sees whom to ask, next to the same field', () => {
    expect(explainListed(conflict, false)).toEqual({
      sentence: `198.51.100.7 is already on the authlist. ${wayOn}`,
      field: 'ip',
    });
  });

  test('by themselves, or seen by an admin: nobody need be asked', () => {
    const plain = { sentence: said, field: 'ip' };
    expect(explainListed(conflict, true)).toEqual(plain);
  });

  test('any other error stays as it is', () => {
    const body = { message: 'ip: "x" is no address.', code: 'invalid_field' as const, field: 'ip' };
    const other = new ApiError(400, body);
    expect(explainListed(other, false)).toEqual({
      sentence: '"x" is no address.',
      field: 'ip',
    });
  });
});
