// New keys that are refused in an open tunnel, as charon's log shows them.
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { RefusedKeys } from '../src/vpn/refused_keys.ts';

const at = '2026-11-27T23:00:00 12[ENC]';
const lines = {
  'by the node': `${at} generating CREATE_CHILD_SA response 2 [ N(NO_PROP) ]\n`,
  'by the client': `${at} parsed CREATE_CHILD_SA response 0 [ N(NO_PROP) ]\n`,
  'by the node, with IKEv1': `${at} generating INFORMATIONAL_V1 request 3456 [ HASH N(NO_PROP) ]\n`,
};
/** A stranger's first message that was refused, and new keys that were accepted. */
const others = `${at} generating IKE_SA_INIT response 0 [ N(NO_PROP) ]
${at} generating INFORMATIONAL_V1 request 3456 [ N(NO_PROP) ]
${at} generating CREATE_CHILD_SA response 2 [ SA No KE TSi TSr ]
`;

function scene() {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-refused-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const path = join(dir, 'charon.log');
  return { path, refused: new RefusedKeys(path) };
}

test.each(Object.entries(lines))('a refusal %s is counted once, for an hour', (_, line) => {
  const { path, refused } = scene();
  writeFileSync(path, line);
  expect(refused.look(0), 'before this agent').toBe(0);
  appendFileSync(path, others);
  expect(refused.look(1)).toBe(0);
  appendFileSync(path, line.slice(0, 40));
  expect(refused.look(2)).toBe(0);
  appendFileSync(path, line.slice(40));
  expect([3, 4, 3602].map((now) => refused.look(now))).toEqual([1, 1, 1]);
  expect(refused.look(3603)).toBe(0);
});

test('a log that is new or was emptied is read from its beginning', () => {
  const { path, refused } = scene();
  expect(refused.look(0)).toBe(0);
  writeFileSync(path, others + lines['by the node']);
  expect(refused.look(1)).toBe(1);
  writeFileSync(path, lines['by the client']);
  expect(refused.look(2)).toBe(2);
});
