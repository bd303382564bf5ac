// The network over time on one screen: a line of blocks for each measure, with its figures.
import { bitsInWords, bytesInWords, timeInWords } from '../../../kit/src/cli/values.ts';

export interface Point {
  at: number;
  up: number;
  down: number;
  measured_seconds: number;
  /** Null: no node reported it. */
  connections_peak: number | null;
  lag_peak: number;
  faults_peak: number;
  rejected: Readonly<Record<string, number>>;
}

export interface History {
  from: number;
  to: number;
  /** Seconds of a point. */
  step: number;
  points: readonly Point[];
}

const blocks = Array.from('▁▂▃▄▅▆▇█');
const labelWidth = 14;
const figuresWidth = 30;

/** A block for each value, as high as its share of the highest; a blank where there is none. */
export function sparkline(values: ReadonlyArray<number | undefined>): string {
  const highest = Math.max(...values.map((value) => value ?? 0), 0);
  return values
    .map((value) => {
      if (value === undefined) return ' ';
      const share = highest === 0 ? 0 : value / highest;
      return blocks[Math.ceil(share * (blocks.length - 1))];
    })
    .join('');
}

/** The whole span in `width` columns of a terminal. */
export function historyInWords({ from, to, step, points }: History, width: number): string {
  const span = `${timeInWords(from)} to ${timeInWords(to)}`;
  if (points.length === 0) return `${span}: nothing was measured.\n`;
  const columns = Math.max(16, Math.min(72, width - labelWidth - figuresWidth));
  const first = Math.floor(from / step) * step;
  const steps = Math.max(1, Math.ceil((to - first) / step));
  const size = Math.ceil(steps / columns);
  const buckets = Map.groupBy(points, ({ at }) => Math.floor((at - first) / step / size));
  const line = (label: string, figures: string, highest: (point: Point) => number) => {
    const values = Array.from({ length: Math.ceil(steps / size) }, (_, at) => {
      const bucket = buckets.get(at);
      return bucket && Math.max(...bucket.map(highest));
    });
    return `${label.padEnd(labelWidth)}${sparkline(values)}  ${figures}\n`;
  };
  const highestOf = (value: (point: Point) => number) => Math.max(...points.map(value));
  const sum = (value: (point: Point) => number) =>
    points.reduce((total, point) => total + value(point), 0);
  const speed = (field: 'up' | 'down') => (point: Point) =>
    point.measured_seconds === 0 ? 0 : (point[field] * 8) / point.measured_seconds;
  const traffic = (label: string, field: 'up' | 'down') => {
    const all = bytesInWords(sum((point) => point[field]));
    return line(label, `max ${bitsInWords(highestOf(speed(field)))}, ${all}`, speed(field));
  };
  const rejections = ({ rejected }: Point) =>
    Object.values(rejected).reduce((total, count) => total + count, 0);
  const connections = ({ connections_peak }: Point) => connections_peak ?? 0;
  const lag = ({ lag_peak }: Point) => lag_peak;
  const problems = ({ faults_peak }: Point) => faults_peak;
  return [
    `${span}, highest in each ${bucketInWords(size * step)}\n`,
    traffic('to clients', 'down'),
    traffic('from clients', 'up'),
    line('connections', `max ${highestOf(connections)}`, connections),
    line('rejected', `${sum(rejections)} in all`, rejections),
    line('lag', `max ${highestOf(lag)} s`, lag),
    line('problems', `max ${highestOf(problems)}`, problems),
    reasonsInWords(points),
  ].join('');
}

const bucketInWords = (seconds: number) =>
  seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;

function reasonsInWords(points: readonly Point[]): string {
  const counts = new Map<string, number>();
  for (const { rejected } of points) {
    for (const [reason, count] of Object.entries(rejected)) {
      counts.set(reason, (counts.get(reason) ?? 0) + count);
    }
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  if (sorted.length === 0) return '';
  return `Rejected:  ${sorted.map(([reason, count]) => `${reason} ${count}`).join(', ')}\n`;
}
