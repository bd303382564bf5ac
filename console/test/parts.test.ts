// Many rows at once: what is sent in one part, and what is left when a part fails.
import { expect, test, vi } from 'vitest';
import { inParts } from '../src/forms/parts.ts';

vi.stubGlobal('document', undefined);
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);

test('many rows are sent in parts, one after another', async () => {
  const sent: number[][] = [];
  const send = async (part: number[]) => sent.push(part);
  expect(await inParts(numbers(7), send, 3)).toEqual([1, 2, 3]);
  expect(sent).toEqual([[0, 1, 2], [3, 4, 5], [6]]);
});

test('a part that fails ends it: nothing after it is sent', async () => {
  const sent: number[] = [];
  const send = async ([first = 0]: number[]) => {
    if (first >= 3) throw new Error('no');
    sent.push(first);
  };
  await expect(inParts(numbers(9), send, 3)).rejects.toThrow('no');
  expect(sent).toEqual([0]);
});
