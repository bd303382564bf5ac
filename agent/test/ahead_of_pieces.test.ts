// A whole agent with the embedded engine gets a revocation between the pieces of a long change. It
// applies the revocation at once, and has everything in the end.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { readConfig } from '../src/config.ts';
import { joinNetwork } from '../src/identity.ts';
import { askExplain, askStatus } from '../src/local.ts';
import { runAgent } from '../src/main.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { listed } from './fake_engine.ts';
import { ScriptedControl } from './scripted_control.ts';
import { readStored, stateAfter } from './stored.ts';

const later = 4_000_000_000;
const question = {
  ...{ from: '192.0.2.10', port: 10_001, method: 'CONNECT' },
  ...{ host: '1.1.1.1', destination_port: 443 },
};
const user = (id: number): NodeRecord => ({
  ...{ kind: 'user', account: 90, id },
  value: { name: `user${id}`, active: true, proxy: true, token_version: 1 },
});
const revoked: NodeRecord = { kind: 'authlist', account: 1, id: 1, value: null };
const pieces: NodeRecord[][] = [
  [{ kind: 'account', account: 90, value: null }, user(1)],
  [user(2), user(3)],
  [user(4)],
];

test('a revocation between the pieces of a long change acts ahead of it, and nothing is lost or acknowledged too soon', async () => {
  const control = await ScriptedControl.start();
  onTestFinished(() => control.stop());
  control.records = listed(later);
  const state_dir = join(mkdtempSync(join(tmpdir(), 'exitward-ahead-')), 'state');
  onTestFinished(() => rmSync(join(state_dir, '..'), { recursive: true, force: true }));
  await joinNetwork({ state_dir, url: control.url, code: 'ewi_x', name: 'a', again: false });
  const config = readConfig({
    EXITWARD_AGENT_STATE_DIR: state_dir,
    EXITWARD_AGENT_ENGINE: 'embedded',
    EXITWARD_AGENT_METRICS_LISTEN: 'off',
    EXITWARD_AGENT_PORT_SHIFT: String(20_000 + 40 * Number(process.env.VITEST_POOL_ID ?? 0)),
  });
  const running = await runAgent(config, { log: pino({ level: 'silent' }) });
  onTestFinished(() => running.stop());
  const reason = async () => (await askExplain(state_dir, question)).reason;
  const send = (revision: number, records: NodeRecord[]) =>
    control.write(`id: e1:${revision}\nevent: change\ndata: ${JSON.stringify(records)}\n\n`);
  await control.until(() => control.acknowledged.length > 0);
  expect(await reason()).toBe('authlist');

  // The first piece, then the revocation with the revision before it, then nothing for a while.
  send(1, pieces[0] as NodeRecord[]);
  send(1, [revoked]);
  await vi.waitFor(async () => expect(await reason()).toBe('unknown_address'), 90_000);
  const { stored, applied } = await askStatus(state_dir);
  expect([stored, applied]).toMatchObject([{ revision: 1 }, { revision: 1 }]);

  // The stream breaks in the middle: the long change and its revocation are sent again, after the
  // acknowledged one.
  send(1, pieces[1] as NodeRecord[]);
  const streams = control.resumed.length;
  control.cut();
  await control.until(() => control.resumed.length > streams && control.streams === 1);
  expect(control.resumed.at(-1)).toBe('e1:1');
  send(1, pieces[0] as NodeRecord[]);
  send(1, pieces[1] as NodeRecord[]);
  send(1, [revoked]);
  expect(control.acknowledged.every(({ revision }) => revision === 1)).toBe(true);
  send(2, pieces[2] as NodeRecord[]);
  send(3, [revoked]);
  await control.until(() => control.acknowledged.at(-1)?.revision === 3);
  expect(await reason()).toBe('unknown_address');

  const whole = { replaced: { epoch: 'e1', revision: 1 }, heard_at: 0, records: control.records };
  const rest = { revision: 3, heard_at: 0, records: [...pieces.flat(), revoked] };
  const { position, state } = await readStored(join(state_dir, 'policy'));
  expect(position).toEqual({ epoch: 'e1', revision: 3 });
  expect({ ...(state as object), heard_at: 0 }).toEqual(stateAfter([whole, rest]));
});
