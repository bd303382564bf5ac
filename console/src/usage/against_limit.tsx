// The current billing period against its limit: the usage so far, and the forecast.
import { useMemo } from 'preact/hooks';
import type { AccountResponse } from '../api/reading.ts';
import { LineChart, type Lines } from '../charts/line_chart.tsx';
import { bytes, percent, utcDate } from '../format.ts';
import { now } from '../now.ts';
import { Card } from '../ui/ui.ts';
import { forecast } from './forecast.ts';
import { type PeriodPoints, periodPoints } from './period_points.ts';
import type { Report } from './report.ts';

interface AgainstLimitProps {
  contract: AccountResponse<'get_contract'>;
  /** The usage of the period, by day. */
  report: Report;
}

export function AgainstLimit({ contract, report }: AgainstLimitProps) {
  const { period } = contract;
  // Whole minutes: a line shows no more, and is not drawn again for less.
  const minute = Math.floor(now.value / 60) * 60;
  const { ahead, lines } = useMemo(() => {
    const days = report.rows.map(({ day = 0, total }) => ({ day, total }));
    const ahead = forecast({ contract, days, now: minute });
    return { ahead, lines: linesOf(periodPoints({ period, days, now: minute, ahead })) };
  }, [contract, report, minute]);
  const soFar = `${bytes(period.usage)} of ${bytes(period.limit)} used`;
  const to = ahead ? `, on track for ${bytes(ahead.usage)} by ${utcDate(period.end)}` : '';
  const part =
    ahead && period.limit > 0 ? ` (${percent(ahead.usage / period.limit)} of the limit)` : '';
  const reached = ahead?.limit_reached_at;
  const sentence = `${soFar}${to}${part}.${reached === undefined ? '' : ` The limit would be reached on ${utcDate(reached)}.`}`;
  return (
    <Card title="Usage vs. limit" note={sentence}>
      <LineChart label={sentence} of={lines} value={bytes} time={utcDate} />
    </Card>
  );
}

/** A limit this many times above usage is not drawn: it would flatten the line, if there is one. */
const reach = 4;

function linesOf({ times, used, projected, limit }: PeriodPoints): Lines {
  const max = Math.max(0, ...[...used, ...projected].map((value) => value ?? 0));
  const lines = [
    { name: 'Used', variable: '--series-0', values: used },
    { name: 'Projected', variable: '--series-2', values: projected, isDashed: true },
  ];
  const isInReach = max === 0 || limit <= reach * max;
  const values = times.map(() => limit);
  return {
    times,
    lines: isInReach ? [...lines, { name: 'Limit', variable: '--series-5', values }] : lines,
  };
}
