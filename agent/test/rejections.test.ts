// Rejected connections, as the node reports them: totals of this run when they have changed, and
// again if the report was not accepted.
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { RejectionReporter } from '../src/link/rejection_reporter.ts';
import { DecisionTally } from '../src/policy/decision_tally.ts';

function scene() {
  const decisions = new DecisionTally();
  const reports: Array<{ boot: string; reasons: object }> = [];
  const state = { isAway: false };
  const reporter = new RejectionReporter({
    engine: { counts: () => ({ decisions: decisions.counts }) },
    control: {
      async reportRejections(boot, reasons) {
        if (state.isAway) throw new Error('away');
        reports.push({ boot, reasons });
      },
    },
    clock: systemClock,
    log: pino({ level: 'silent' }),
  });
  return { decisions, reports, state, reporter };
}

test('the control plane gets the totals by reason when they have changed, and nothing of those let in', async () => {
  const { decisions, reports, reporter } = scene();
  await reporter.report();
  decisions.note('authlist', 9);
  await reporter.report();
  expect(reports).toEqual([]);
  decisions.note('bad_token', 2);
  await reporter.report();
  await reporter.report();
  decisions.note('unknown_address');
  decisions.note('bad_token');
  await reporter.report();
  const [{ boot } = { boot: '' }] = reports;
  expect(reports).toEqual([
    { boot, reasons: { bad_token: 2 } },
    { boot, reasons: { bad_token: 3, unknown_address: 1 } },
  ]);
});

test('counts that were not accepted are sent with the next, and another run has another name', async () => {
  const { decisions, reports, state, reporter } = scene();
  decisions.note('bad_token', 2);
  state.isAway = true;
  await reporter.report();
  state.isAway = false;
  await reporter.report();
  expect(reports.map(({ reasons }) => reasons)).toEqual([{ bad_token: 2 }]);
  const other = scene();
  other.decisions.note('bad_token');
  await other.reporter.report();
  expect(other.reports[0]?.boot).not.toBe(reports[0]?.boot);
});
