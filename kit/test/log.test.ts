// The log as people read it at a terminal.

import { pino } from 'pino';
import { expect, test } from 'vitest';
import { readableLine } from '../src/log.ts';

/** The text of what is logged by `write`. */
function read(write: (log: pino.Logger) => void): string {
  const lines: string[] = [];
  const timestamp = () => `,"time":${Date.UTC(2026, 10, 28, 14, 31, 2)}`;
  write(pino({ timestamp }, { write: (line) => void lines.push(readableLine(line)) }));
  return lines.join('');
}

test('a line has the time, the level, the message and the facts', () => {
  expect(
    read((log) =>
      log.info({ server: 'fra1', node: 2, url: 'http://a b/' }, 'the agent has started'),
    ),
  ).toBe('14:31:02Z info  the agent has started  server=fra1  node=2  url="http://a b/"\n');
});

test('an error is its message, without a stack trace', () => {
  const err = new Error('spawn squid ENOENT');
  expect(read((log) => log.error({ err, part: 'link' }, 'a part of the agent failed'))).toBe(
    '14:31:02Z error  a part of the agent failed: spawn squid ENOENT  part=link\n',
  );
  expect(read((log) => log.warn('alone'))).toBe('14:31:02Z warn  alone\n');
});

test('texts of others neither steer the terminal nor begin a line', () => {
  const steering = '\u001b[2J\nfatal';
  const text = read((log) => log.info({ login: steering }, steering));
  expect(text.split('\n')).toHaveLength(2);
  expect(text).not.toContain('\u001b');
});
