// The disk of the state folder: is there space, and how long does a flush take?
import { judgeFlushes, judgeSpace, nearestFolder } from '../../../kit/src/doctor/disk.ts';
import type { NodeCheck } from './subject.ts';

const mib = 1024 ** 2;

export const diskChecks: NodeCheck[] = [
  {
    name: 'disk_space',
    run: ({ config: { state_dir, engine } }) =>
      judgeSpace(nearestFolder(state_dir), {
        // A new snapshot of the policy is written before the old one is removed. With less space,
        // not even a small one is certain to fit.
        least_bytes: 64 * mib,
        below_least: 'no snapshot of the policy fits',
        // Squid's usage log is rotated at 1 GiB, and the next one is written while the old one is
        // read.
        expected_bytes: engine === 'squid' ? 2048 * mib : 512 * mib,
        below_expected: ', for the policy and the log of usage',
        in_memory:
          "the node's token, and usage that was not reported, are gone when the machine restarts",
        remedy: 'set EXITWARD_AGENT_STATE_DIR to a folder on a disk',
      }),
  },
  {
    name: 'disk_speed',
    run: ({ config: { state_dir }, clock }) =>
      judgeFlushes(nearestFolder(state_dir), clock, {
        // A change is in force once it is flushed. This is the disk's share of the 50 ms that it
        // may take.
        slow_ms: 20,
        when_slow: 'changes, revocations too, take effect that much later; expected 20 ms at most',
        // Usage is flushed once a second.
        too_slow_ms: 1000,
        when_too_slow: 'usage is flushed each second, and does not keep up',
        remedy: 'iostat -x 1 5, then another disk for EXITWARD_AGENT_STATE_DIR',
      }),
  },
];
