// Answers with months of traffic, for the charts of both consoles: as full as those of a network
// with traffic by day and night, whatever time range a page asks for.
import type { FakeAnswer, FakeRequest, Rule } from './fake_api.ts';

const hour = 3600;
const day = 24 * hour;

/** Higher by day than by night, lower at weekends, and never the same twice. */
function busyness(at: number): number {
  const ofDay = 0.55 + 0.45 * Math.sin(((at % day) / day) * 2 * Math.PI - 2);
  const isWeekend = [0, 6].includes(new Date(at * 1000).getUTCDay());
  return ofDay * (isWeekend ? 0.5 : 1) * (0.85 + 0.3 * Math.abs(Math.sin(at / 977)));
}

function spanOf({ query }: FakeRequest, now: number) {
  const to = Math.min(Number(query.to ?? now), now);
  return { from: Number(query.from ?? to - 20 * day), to };
}

/** The starts of the steps of a span that are not in the future. */
function starts({ from, to }: { from: number; to: number }, step: number): number[] {
  const first = from - ((((from - 4 * day) % step) + step) % step);
  return Array.from(
    { length: Math.max(0, Math.ceil((to - first) / step)) },
    (_, at) => first + at * step,
  );
}

function history(request: FakeRequest, now: number, gap: (at: number) => boolean): FakeAnswer {
  const { from, to } = spanOf(request, now);
  const narrowest = to - from <= 2 * day ? 300 : to - from <= 35 * day ? hour : day;
  const step = Math.max(1, Math.ceil(Number(request.query.step ?? 0) / narrowest)) * narrowest;
  const points = starts({ from, to }, step)
    .filter((at) => !gap(at))
    .map((at) => {
      const rate = Math.round(busyness(at) * 90_000_000);
      const connections = Math.round(busyness(at) * 3000);
      const measured_seconds = Math.max(1, Math.min(step, to - at));
      return {
        ...{
          at,
          measured_seconds,
          up: Math.round((rate * measured_seconds) / 5),
          down: rate * measured_seconds,
        },
        ...{ up_min: Math.round(rate / 8), up_peak: Math.round(rate / 3) },
        ...{ down_min: Math.round(rate * 0.6), down_peak: Math.round(rate * 1.5) },
        ...{ connections, connections_min: Math.round(connections * 0.7) },
        ...{ connections_peak: Math.round(connections * 1.4) },
        ...{ lag_peak: at % (7 * hour) === 0 ? 9 : 1, faults_peak: at % (5 * hour) === 0 ? 2 : 0 },
        rejected: {
          unknown_address: Math.round((connections * step) / 20_000),
          bad_token: Math.round((connections * step) / 40_000),
          limit_reached: Math.round((connections * step) / 90_000),
        },
      };
    });
  return { body: { from: Number(request.query.from), to: Number(request.query.to), step, points } };
}

function usage(request: FakeRequest, now: number): FakeAnswer {
  const { from, to } = spanOf(request, now);
  const { by = 'day', server } = request.query;
  const part = by === 'hour' ? hour : day;
  const share = server === undefined ? 1 : server === 'fra1' ? 0.5 : 0.3;
  const amounts = (bytes: number) => {
    const up = Math.round(bytes / 6);
    const down = Math.round(bytes) - up;
    return { up, down, total: up + down };
  };
  const inTime = starts({ from, to }, part).map((at) => ({
    [by]: at,
    ...amounts(busyness(at + 9 * hour) * share * part * 300_000),
  }));
  const total = inTime.reduce((sum, row) => sum + Number(row.total), 0);
  const names = by === 'server' ? ['fra1', 'zrh1', 'ams2'] : ['alice', 'bob'];
  const rows =
    by === 'hour' || by === 'day'
      ? inTime
      : names.map((name, at) => ({ [by]: name, ...amounts(total * ([0.5, 0.3, 0.2][at] ?? 0)) }));
  return { body: { from, to, by, rows, ...amounts(total) } };
}

function overTime(request: FakeRequest, now: number): FakeAnswer {
  const { from, to } = spanOf(request, now);
  const { by = 'account', each } = request.query;
  const step = each === 'hour' ? hour : day;
  const names = by === 'account' ? ['acme', 'globex', 'umbrella', null] : ['fra1', 'zrh1', null];
  const parts = names.map((name, index) => {
    const steps = starts({ from, to }, step).map((at) => ({
      at,
      bytes: Math.round((busyness(at + 9 * hour) * step * 90_000_000) / (index + 2)),
    }));
    return { name, total: steps.reduce((sum, { bytes }) => sum + bytes, 0), steps };
  });
  return { body: { from, to, by, step, parts } };
}

/** The time of the document's examples, and so of the pages. */
export const sampleNow = 1_798_848_000;

/** The rule with all that charts show, up to now; `gap`: nothing is known of such a step. */
export function charted(gap: (at: number) => boolean = () => false, now = sampleNow): Rule {
  const period = { start: now - (now % day) - 20 * day, end: now - (now % day) + 10 * day };
  const earlier = { start: period.start - 30 * day, end: period.start };
  return ({ name, example }, request) => {
    if (name === 'GET /admin/history') return history(request, now, gap);
    if (name === 'GET /admin/usage/over_time') return overTime(request, now);
    if (name === 'GET /console/usage' || name.endsWith('{account}/usage'))
      return usage(request, now);
    if (name === 'GET /console/contract' || name.endsWith('{account}/contract')) {
      const used = { ...period, usage: 310_000_000_000, limit: 900_000_000_000 };
      return {
        body: {
          ...(example as object),
          start: earlier.start,
          period: used,
          earlier_periods: [earlier],
        },
      };
    }
    return undefined;
  };
}
