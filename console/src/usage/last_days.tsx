// The usage through one server, or by one user, in the last days or any time range.
import { Link } from 'wouter-preact';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { daySeconds } from '../charts/days.ts';
import { SpanFilters, useSpan } from '../charts/span_fields.tsx';
import { addressOf } from '../paths.ts';
import '../style/usage.css';
import { Loaded } from '../ui/ui.ts';
import { OverTimeCard } from './over_time.tsx';

export function LastDays({ filter }: { filter: { server: string } | { user: string } }) {
  const scope = useScope();
  const selected = useSpan({
    names: ['day', 'week', 'month', 'quarter', 'own'],
    standard: 'month',
    grain: daySeconds,
  });
  const { span, before } = selected;
  const query = { ...span, ...filter };
  const usage = useReadIn(
    scope,
    'get_usage',
    { query: { ...query, by: 'day' } },
    { enabled: span !== undefined },
  );
  return (
    <Loaded reading={usage} name="its usage">
      {(report) => (
        <>
          <OverTimeCard
            report={report}
            query={query}
            span={span ?? report}
            before={before}
            servers={[]}
          >
            <SpanFilters selected={selected} />
          </OverTimeCard>
          <p>
            <Link href={addressOf(scope.paths.usage, filter)}>Usage in detail</Link>
          </p>
        </>
      )}
    </Loaded>
  );
}
