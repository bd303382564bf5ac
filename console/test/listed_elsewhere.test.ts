// The words about an address that is listed already, by what their reader may see and do.
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

const person = { isOperator: false, flags: { admin: false } };
const admin = { isOperator: false, flags: { admin: true } };
const operator = { ...admin, isOperator: true };

describe('an address that is listed already', () => {
  test('by somebody else: a user without admin reads whom to ask, at the same field', () => {
    expect(explainListed(conflict, false, person)).toEqual({
      sentence: `198.51.100.7 is already on the authlist. ${wayOn}`,
      field: 'ip',
    });
  });

  test('on the list that the reader sees: nothing is added', () => {
    for (const reader of [person, admin, operator])
      expect(explainListed(conflict, true, reader)).toEqual({ sentence: said, field: 'ip' });
  });

  test('by another account: an admin reads that, and how to verify it', () => {
    const { sentence, field } = explainListed(conflict, false, admin);
    expect(sentence).toMatch(/^Another account lists this address\. If it is yours, verify it: /);
    expect(field).toBe('ip');
  });

  test('by another account: an operator is shown where to see whose', () => {
    expect(explainListed(conflict, false, operator).sentence).toBe(
      'Another account lists this address. Look it up under Addresses.',
    );
  });

  test('any other error stays as it is', () => {
    const body = { message: 'ip: "x" is no address.', code: 'invalid_field' as const, field: 'ip' };
    const other = new ApiError(400, body);
    expect(explainListed(other, false, admin)).toEqual({
      sentence: '"x" is no address.',
      field: 'ip',
    });
  });
});
