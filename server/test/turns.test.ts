// Turns: nobody who waits is passed over again and again.
import { expect, test } from 'vitest';
import { Turns } from '../src/db/turns.ts';

test('a key with several things has its turn in each round, though others come back all the time', () => {
  const turns = new Turns<{ key: string; isUrgent?: boolean }>();
  for (const key of ['many', 'many', 'many', 'many', 'one', 'other']) turns.push({ key });
  const turnsTaken = Array.from({ length: 12 }, () => {
    const { key = '' } = turns.take() ?? {};
    // As a client does that sends its next request once it has its answer.
    if (key !== 'many') turns.push({ key });
    return key;
  });
  expect(turnsTaken.filter((key) => key === 'many')).toHaveLength(4);
  expect(turnsTaken.slice(0, 6).sort()).toEqual(['many', 'many', 'one', 'one', 'other', 'other']);
});

test('what is urgent goes ahead in a round, and keeps nobody from their turn by coming back', () => {
  const turns = new Turns<{ key: string; isUrgent?: boolean }>();
  turns.push({ key: 'addition' });
  turns.push({ key: 'removal', isUrgent: true });
  turns.push({ key: 'other removal', isUrgent: true });
  const turnsTaken = Array.from({ length: 4 }, () => {
    const thing = turns.take();
    if (thing?.isUrgent) turns.push(thing);
    return thing?.key;
  });
  expect(turnsTaken).toEqual(['removal', 'other removal', 'addition', 'removal']);
});

test('a key that comes once nobody waits has its turn as if it were new', () => {
  const turns = new Turns<{ key: string }>();
  turns.push({ key: 'one' });
  turns.take();
  expect(turns.take()).toBe(undefined);
  for (const key of ['one', 'two', 'one']) turns.push({ key });
  expect([turns.take(), turns.take(), turns.take()].map((thing) => thing?.key)).toEqual([
    'one',
    'two',
    'one',
  ]);
});
