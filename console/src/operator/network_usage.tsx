// The usage of the whole network over time: in both directions, or by account or server.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useAddressField } from '../address.ts';
import type { ResponseOf } from '../api/api.ts';
import { useRead } from '../api/reading.ts';
import { bucketFor } from '../charts/axis.ts';
import { bucketsIn, daySeconds, everyPart, startOfBucket } from '../charts/days.ts';
import type { Series } from '../charts/marks.ts';
import { csvOf } from '../charts/numbers.ts';
import { changeInWords, type Span, type SpanName } from '../charts/span.ts';
import { SpanFilters, useSpan } from '../charts/span_fields.tsx';
import { inBytes } from '../charts/units.ts';
import { csv, download } from '../csv.ts';
import { bytes, columnBytes, percent } from '../format.ts';
import { now } from '../now.ts';
import { paths } from '../paths.ts';
import {
  Card,
  ExportCsvButton,
  isOneOf,
  Loaded,
  optionsIn,
  SelectField,
  Stat,
  Table,
  together,
} from '../ui/ui.ts';
import { usePixels } from '../ui/width.ts';
import { colorOfOthers, colorsOf } from '../usage/colors.ts';
import { byDirection, UsageChart } from '../usage/over_time.tsx';

const splits = { direction: 'Direction', account: 'Account', server: 'Server' } as const;
type Split = keyof typeof splits;

const names: SpanName[] = ['day', 'week', 'month', 'quarter', 'year', 'own'];

const hourSeconds = 3600;
const pixelsOfBar = 5;
const maxParts = 6;

type OverTime = ResponseOf<'admin_get_usage_over_time'>;

export function NetworkOverTime() {
  const [box, pixels] = usePixels<HTMLDivElement>();
  const splitField = useAddressField('split', 'direction');
  const split: Split = isOneOf(splits, splitField.value) ? splitField.value : 'direction';
  const selected = useSpan({ names, standard: 'month', grain: daySeconds });
  const { span, before } = selected;
  const isShort = span !== undefined && span.to - span.from <= 2 * daySeconds;
  const seconds = bucketFor(span ?? { from: 0, to: 30 * daySeconds }, pixels || 1000, {
    narrowest: isShort ? hourSeconds : daySeconds,
    pixelsOfBucket: pixelsOfBar,
  });
  const usage = useUsage(split, span, isShort, seconds);
  const earlier = useUsage(split, before, isShort, seconds);
  const { starts, series } = useMemo(() => {
    const starts = span ? bucketsIn(span, seconds) : [];
    const totals = earlier.data?.totals;
    const previous: Series[] = totals
      ? [
          {
            ...{ name: 'Previous period', color: '--text-soft', mark: 'line', isDashed: true },
            values: starts.map((_, at) => totals[at] ?? null),
          },
        ]
      : [];
    return { starts, series: [...(usage.data?.series ?? []), ...previous] };
  }, [usage.data, earlier.data, span?.from, span?.to, seconds]);
  const shown = together<unknown>([usage.reading, ...(before ? [earlier.reading] : [])]);
  const save = () => {
    const { header, rows } = csvOf({ starts, seconds, series, unit: inBytes });
    download(`usage-network-by-${split}.csv`, csv(header, rows));
  };
  return (
    <Card
      title="Over time"
      note="The whole network. Times are UTC."
      actions={<ExportCsvButton records="over time" disabled={!shown.data} onClick={save} />}
    >
      <SpanFilters selected={selected}>
        <SelectField label="Split by" {...splitField} value={split} options={optionsIn(splits)} />
      </SpanFilters>
      <div ref={box} class="stack">
        <Loaded reading={shown} name="usage over time">
          {() => (
            <>
              <dl class="stats">
                <Stat
                  name="Traffic"
                  note={earlier.data && changeInWords(usage.data?.total ?? 0, earlier.data.total)}
                >
                  {bytes(usage.data?.total ?? 0)}
                </Stat>
              </dl>
              <UsageChart
                span={span ?? { from: 0, to: daySeconds }}
                starts={starts}
                seconds={seconds}
                series={series}
              />
              {usage.parts && <Parts by={split} parts={usage.parts} />}
            </>
          )}
        </Loaded>
      </div>
    </Card>
  );
}

/** The usage of a span in buckets, and their totals; nothing is read without a span. */
function useUsage(split: Split, span: Span | undefined, isShort: boolean, seconds: number) {
  const part = span ?? { from: 0, to: daySeconds };
  const isSplit = split !== 'direction';
  const narrowest = isShort ? hourSeconds : daySeconds;
  const history = useRead(
    'admin_get_history',
    { query: { ...part, step: seconds } },
    { enabled: span !== undefined && !isSplit },
  );
  const parts = useRead(
    'admin_get_usage_over_time',
    {
      query: {
        ...part,
        by: split === 'server' ? 'server' : 'account',
        each: narrowest === hourSeconds ? 'hour' : 'day',
        parts: maxParts,
      },
    },
    { enabled: span !== undefined && isSplit },
  );
  const data = useMemo(() => {
    if (!span) return undefined;
    const drawn = isSplit
      ? parts.data && ofParts(parts.data, span, seconds)
      : history.data &&
        byDirection(
          everyPart(
            span,
            history.data.points.map(({ at, up, down }) => ({
              hour: at,
              up,
              down,
              total: up + down,
            })),
            'hour',
            seconds,
          ),
        );
    if (!drawn) return undefined;
    const totals = bucketsIn(span, seconds).map((_, at) =>
      drawn.reduce((sum, { values }) => sum + (values[at] ?? 0), 0),
    );
    return { series: drawn, totals, total: totals.reduce((sum, value) => sum + value, 0) };
  }, [history.data, parts.data, isSplit, span?.from, span?.to, seconds]);
  return {
    data,
    parts: isSplit ? parts.data?.parts : undefined,
    reading: isSplit ? parts : history,
  };
}

const others = 'Others';

function ofParts({ parts }: OverTime, span: Span, seconds: number): Series[] {
  const colors = colorsOf(parts.flatMap(({ name }) => name ?? []));
  const starts = bucketsIn(span, seconds);
  return parts.map(({ name, steps }): Series => {
    const sums = new Map(starts.map((start) => [start, 0]));
    for (const { at, bytes } of steps) {
      const start = startOfBucket(at, seconds);
      sums.set(start, (sums.get(start) ?? 0) + bytes);
    }
    const values = starts.map((start) => (start > now.peek() ? null : (sums.get(start) ?? 0)));
    const color = (name !== null && colors.get(name)) || colorOfOthers;
    return { name: name ?? others, color, mark: 'bar', values };
  });
}

/** The parts of the span as a whole, each with a link to its page. */
function Parts({ by, parts }: { by: Split; parts: OverTime['parts'] }) {
  const all = parts.reduce((sum, { total }) => sum + total, 0);
  const link = (name: string | null): ComponentChildren => {
    if (name === null) return others;
    if (name.startsWith('#')) return name;
    const href =
      by === 'account' ? paths.operator.account(name, 'usage') : paths.operator.server(name);
    return <Link href={href}>{name}</Link>;
  };
  return (
    <Table
      caption={`Usage by ${by} in this time range`}
      rows={parts}
      keyOf={({ name }) => name ?? ''}
      columns={[
        { heading: splits[by], names: true, cell: ({ name }) => link(name) },
        { heading: 'Total', numeric: true, cell: ({ total }) => columnBytes(total) },
        {
          heading: 'Share',
          numeric: true,
          cell: ({ total }) => percent(all > 0 ? total / all : 0),
        },
      ]}
    />
  );
}
