// The current billing period against its limit: the usage so far, and the forecast.
import { useMemo } from 'preact/hooks';
import type { AccountResponse } from '../api/reading.ts';
import { Chart } from '../charts/chart.tsx';
import { inBytes } from '../charts/units.ts';
import { bytes, percent, utcDate } from '../format.ts';
import { now } from '../now.ts';
import { Card } from '../ui/ui.ts';
import { forecast } from './forecast.ts';
import { periodPoints } from './period_points.ts';
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
  const { ahead, points } = useMemo(() => {
    const days = report.rows.map(({ day = 0, total }) => ({ day, total }));
    const ahead = forecast({ contract, days, now: minute });
    return { ahead, points: periodPoints({ period, days, now: minute, ahead }) };
  }, [contract, report, minute]);
  const soFar = `${bytes(period.usage)} of ${bytes(period.limit)} used`;
  const to = ahead ? `, on track for ${bytes(ahead.usage)} by ${utcDate(period.end)}` : '';
  const part =
    ahead && period.limit > 0 ? ` (${percent(ahead.usage / period.limit)} of the limit)` : '';
  const reached = ahead?.limit_reached_at;
  const sentence = `${soFar}${to}${part}.${reached === undefined ? '' : ` The limit would be reached on ${utcDate(reached)}.`}`;
  return (
    <Card title="Usage vs. limit" note={sentence}>
      <Chart
        title="Usage vs. limit"
        span={{ from: period.start, to: period.end }}
        starts={points.times}
        seconds={0}
        series={[
          { name: 'Used', color: '--series-0', mark: 'line', values: points.used },
          {
            name: 'Projected',
            color: '--series-2',
            mark: 'line',
            isDashed: true,
            values: points.projected,
          },
        ]}
        limit={period.limit}
        unit={inBytes}
        empty="No traffic yet in this period."
      />
    </Card>
  );
}
