// The doctor says whether a node logs who used its exits.
import { expect, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { readConfig } from '../src/config.ts';
import type { ConnectionLogState } from '../src/connection_log/connection_log.ts';
import { nodeChecks } from '../src/doctor/node.ts';
import type { Subject } from '../src/doctor/subject.ts';

const check = nodeChecks.find(({ name }) => name === 'connection_log');

test.each<[string, ConnectionLogState | undefined, string]>([
  ['off', undefined, 'This node does not log who used its exits.'],
  ['sources', undefined, 'This node logs who used its exits for 30 days.'],
  [
    'destinations',
    { mode: 'destinations', kept_since: 1_795_564_800 },
    'This node logs who used its exits, with their destinations, for 30 days; its files begin on 2026-11-25.',
  ],
  [
    'off',
    { mode: 'off', kept_since: 1_795_564_800 },
    'This node does not log who used its exits any more; its files, from 2026-11-25 on, are removed as they age.',
  ],
])('with the setting %s and the log %j: %s', async (setting, state, sentence) => {
  const config = readConfig({ EXITWARD_AGENT_CONNECTION_LOG: setting });
  const status = state && ({ connection_log: state } as Subject['status']);
  const subject = { ...{ config, status, clock: systemClock }, url: undefined } as Subject;
  expect(await check?.run(subject)).toEqual({ state: 'ok', sentence, remedy: null });
});
