// The running billing period against its limit: how far it is, and where it is going.
import { useMemo } from 'preact/hooks';
import type { AccountResponse } from '../api/reading.ts';
import { PeriodChart } from '../charts/period_chart.tsx';
import { bytes, date, percent } from '../format.ts';
import { now } from '../now.ts';
import { Card } from '../ui/ui.ts';
import { forecast } from './forecast.ts';
import { periodPoints } from './period_points.ts';
import type { Report } from './report.ts';

interface AgainstLimitProps {
  contract: AccountResponse<'get_contract'>;
  /** Of the period, by day. */
  report: Report;
}

export function AgainstLimit({ contract: { period }, report }: AgainstLimitProps) {
  // To the minute: a line does not show more, and is not drawn anew for it.
  const minute = Math.floor(now.value / 60) * 60;
  const { ahead, points } = useMemo(() => {
    const days = report.rows.map(({ day = 0, total }) => ({ day, total }));
    const ahead = forecast({ period, days, now: minute });
    return { ahead, points: periodPoints({ period, days, now: minute, forecast: ahead?.usage }) };
  }, [period, report, minute]);
  const soFar = `${bytes(period.usage)} of ${bytes(period.limit)} used`;
  const to = ahead ? `, about ${bytes(ahead.usage)} by ${date(period.end)} at this pace` : '';
  const part =
    ahead && period.limit > 0 ? ` (${percent(ahead.usage / period.limit)} of the limit)` : '';
  const reached = ahead?.limit_reached_at;
  const sentence = `${soFar}${to}${part}.${reached === undefined ? '' : ` The limit would be reached on ${date(reached)}.`}`;
  return (
    <Card title="Against the limit" note={sentence}>
      <PeriodChart label={sentence} points={points} />
    </Card>
  );
}
