// Erasures reach the connection log: at the start, also after an outage, and on a record.
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { ExitUseQuestions } from '../src/link/exit_use_questions.ts';

test('a node that was offline erases when it is back, and each question gets its answer', async () => {
  const erasures: string[][] = [];
  const answers: unknown[] = [];
  let isOffline = true;
  let wake = () => {};
  const questions = new ExitUseQuestions({
    connectionLog: {
      ...{ state: { mode: 'sources', kept_since: 5 }, hasFiles: true },
      find: async () => ({ uses: [], more: 0 }),
      erase: async (people) => void erasures.push([...people]),
    },
    control: {
      answerExitUses: async (...answer) => void answers.push(answer),
      erasedUsers: async () => {
        if (isOffline) throw new Error('no connection');
        return [{ account: 1, user: 2 }];
      },
    },
    clock: {
      ...{ now: () => 0, steady: () => 0 },
      sleep: (_, signal) =>
        new Promise((resolve) => {
          wake = resolve;
          signal?.addEventListener('abort', () => resolve());
        }),
    },
    log: pino({ level: 'silent' }),
  });
  const stopping = new AbortController();
  const running = questions.run(stopping.signal);
  const settle = async () => {
    for (let turns = 0; turns < 10; turns += 1) await setImmediate();
  };
  await settle();
  expect(questions.faults()).toMatchObject([{ kind: 'connection_log' }]);
  isOffline = false;
  wake();
  await settle();
  expect(erasures).toEqual([['1 2']]);
  expect(questions.faults()).toEqual([]);
  questions.note({ kind: 'erased_users', value: null });
  await settle();
  expect(erasures).toHaveLength(2);
  const value = { exit_ip: '198.51.100.7', at: 9, margin_seconds: 1 };
  questions.note({ kind: 'exit_uses', id: 4, value });
  await settle();
  expect(answers).toEqual([[4, { mode: 'sources', kept_since: 5, uses: [], more: 0 }]]);
  stopping.abort();
  await running;
});
