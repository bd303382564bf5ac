// The usage of the last thirty days through one server, or by one user.
import { Link } from 'wouter-preact';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { daysBack } from '../charts/days.ts';
import { now } from '../now.ts';
import { addressOf } from '../paths.ts';
import '../style/usage.css';
import { Card, Empty, Loaded } from '../ui/ui.ts';
import { OverTimeCard } from './over_time.tsx';

export function LastDays({ of }: { of: { server: string } | { user: string } }) {
  const scope = useScope();
  const query = { from: daysBack(now.value, 30), ...of };
  const usage = useReadIn(scope, 'get_usage', { query: { ...query, by: 'day' } });
  return (
    <Loaded of={usage} what="its usage">
      {(report) =>
        report.total > 0 ? (
          <>
            <OverTimeCard report={report} query={query} servers={[]} />
            <p>
              <Link href={addressOf(scope.paths.usage, of)}>Other days, and usage in detail</Link>
            </p>
          </>
        ) : (
          <Card title="By day">
            <Empty title="No traffic in the last 30 days" />
          </Card>
        )
      }
    </Loaded>
  );
}
