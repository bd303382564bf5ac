// The current billing period: the usage and its limit, the forecast, and the last thirty days.
import { useMemo } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { Chart } from '../../charts/chart.tsx';
import { daySeconds, everyPart, writtenDay } from '../../charts/days.ts';
import type { Series } from '../../charts/marks.ts';
import { inBytes } from '../../charts/units.ts';
import { bytes, count, percent, periodText, utcDate } from '../../format.ts';
import { now } from '../../now.ts';
import { paths } from '../../paths.ts';
import { Time, Until } from '../../relative_time.tsx';
import { Card, Meter } from '../../ui/ui.ts';
import { chartedDays, type Overview } from './use_overview.ts';

type Contract = NonNullable<Overview['contract']>;

interface PeriodCardProps extends Pick<Overview, 'forecast' | 'month'> {
  contract: Contract;
}

export function PeriodCard({ contract, forecast, month }: PeriodCardProps) {
  const { end, usage, limit } = contract.period;
  const share = limit > 0 ? usage / limit : 1;
  return (
    <Card
      title="This billing period"
      note={
        <>
          {periodText(contract.period)} (UTC), <Time at={end} text={timeLeft(end)} />
        </>
      }
      actions={<Link href={paths.usage}>Usage in detail</Link>}
    >
      <div class="stack-tight">
        <p class="figure">
          <Link href={paths.usage}>
            <strong>{bytes(usage)}</strong>
          </Link>{' '}
          of {bytes(limit)}
          <span class="note"> · {percent(share)}</span>
        </p>
        <Meter
          label="Usage of the limit in this period"
          value={usage}
          max={limit}
          text={`${bytes(usage)} of ${bytes(limit)}, ${percent(share)}`}
        />
      </div>
      {forecast && <ForecastLines contract={contract} forecast={forecast} />}
      {month && month.total > 0 && <LastDays month={month} />}
    </Card>
  );
}

function timeLeft(end: number): string {
  const days = Math.floor((end - now.value) / daySeconds);
  return days < 1 ? 'ends within a day' : `${count(days, 'day')} left`;
}

function ForecastLines({
  contract: { period },
  forecast,
}: {
  contract: Contract;
  forecast: NonNullable<Overview['forecast']>;
}) {
  const { usage, bytes_per_day, days, limit_reached_at } = forecast;
  const share = period.limit > 0 ? ` (${percent(usage / period.limit)} of the limit)` : '';
  return (
    <div class="stack-tight">
      <p>
        On track for <strong>{bytes(usage)}</strong>
        {share} by {utcDate(period.end)}.
        {limit_reached_at !== undefined && (
          <>
            {' '}
            The limit would be reached{' '}
            <strong>
              <Until at={limit_reached_at} />
            </strong>
            , on {utcDate(limit_reached_at)}.
          </>
        )}
      </p>
      <p class="note">
        {`Forecast from ${count(days, 'full day')} of this period, with more weight on recent days: ${bytes(bytes_per_day)} a day.`}
      </p>
    </div>
  );
}

function LastDays({ month }: { month: NonNullable<Overview['month']> }) {
  const { parts, starts, series } = useMemo(() => {
    const parts = everyPart(month, month.rows, 'day');
    const values = parts.map(({ total }) => total);
    const series: Series[] = [{ name: 'Usage', color: '--series-0', mark: 'bar', values }];
    return { parts, starts: parts.map(({ start }) => start), series };
  }, [month]);
  const busiest = parts.reduce((max, day) => (day.total > max.total ? day : max));
  const busiestText =
    busiest.total > 0 ? `; most on ${writtenDay(busiest.start)}: ${bytes(busiest.total)}` : '';
  return (
    <div class="stack-tight">
      <Chart
        title="Usage by day"
        span={{ from: starts[0] ?? month.from, to: (starts.at(-1) ?? month.to) + daySeconds }}
        starts={starts}
        seconds={daySeconds}
        series={series}
        unit={inBytes}
        empty="No traffic in these days."
        heightPixels={140}
      />
      <p class="note">{`${bytes(month.total)} in the last ${chartedDays} days${busiestText}.`}</p>
    </div>
  );
}
