// The usage of all accounts over time, as operators read it: the accounts or servers with the most,
// and the others together.
import { beforeAll, describe, expect, test } from 'vitest';
import { recordUsage } from '../src/usage/usage.ts';
import { eachApp } from './apps.ts';

const hour = 3600;
const day = 24 * hour;

interface Part {
  name: string | null;
  total: number;
  steps: Array<{ at: number; bytes: number }>;
}

eachApp((t) => {
  let midnight: number;

  beforeAll(async () => {
    for (const server of ['fra1', 'zrh1']) await t.server(server);
    // More accounts than one slice reads.
    for (let at = 0; at < 25; at += 1) {
      const { account } = await t.account(`a${String(at).padStart(2, '0')}`, { servers: ['fra1'] });
      midnight = t.now() - (t.now() % day);
      const bucket = { account_id: account.id, user_id: 1, up: 0 };
      await t.write((tx) =>
        recordUsage(
          tx,
          [
            { ...bucket, server_id: 1, hour: midnight - day, down: 10 + at },
            { ...bucket, server_id: 2, hour: midnight - hour, down: 1 },
          ],
          () => 0,
        ),
      );
    }
  });
  const read = async (query: string) => {
    const { status, body } = await t.operator.get(`/usage/over_time?${query}`);
    expect(status, JSON.stringify(body)).toBe(200);
    return body as { step: number; parts: Part[] };
  };

  test('the accounts with the most have parts of their own, and the others share one', async () => {
    const { step, parts } = await read('by=account&parts=2');
    expect(step).toBe(day);
    expect(parts.map(({ name, total }) => [name, total])).toEqual([
      ['a24', 35],
      ['a23', 34],
      [null, 25 * 11 + 300 - 69],
    ]);
    expect(parts[0]?.steps).toEqual([{ at: midnight - day, bytes: 35 }]);
  });

  test('servers have the bytes of all accounts, by the hour of the span', async () => {
    const span = `by=server&each=hour&from=${midnight - day}&to=${midnight}`;
    expect((await read(span)).parts).toEqual([
      { name: 'fra1', total: 550, steps: [{ at: midnight - day, bytes: 550 }] },
      { name: 'zrh1', total: 25, steps: [{ at: midnight - hour, bytes: 25 }] },
    ]);
    const late = await read(`by=server&each=hour&from=${midnight - hour}&to=${midnight}`);
    expect(late.parts.map(({ name }) => name)).toEqual(['zrh1']);
  });

  describe('a question that makes no sense is rejected, and the field is named', () => {
    test.each([
      ['', 'by'],
      ['by=user', 'by'],
      ['by=account&parts=21', 'parts'],
      ['by=account&from=5&to=5', 'from'],
      [`by=account&from=0&to=${93 * day}`, 'from'],
      [`by=account&each=hour&from=0&to=${9 * day}`, 'from'],
    ])('%s', async (query, field) => {
      const { status, body } = await t.operator.get(`/usage/over_time?${query}`);
      expect(status).toBe(400);
      expect(body).toMatchObject({ field });
    });
  });
});
