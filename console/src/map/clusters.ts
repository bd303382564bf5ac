// Points that are too close to tell apart become one mark; pure, so that it needs no map in tests.

export interface Placed<T> {
  point: T;
  x: number;
  y: number;
}

export interface Cluster<T> {
  /** The most important one first: the mark has its position. */
  points: [T, ...T[]];
  x: number;
  y: number;
}

/**
 * Puts each point into the nearest mark closer than `distance`, or makes it a mark of its own.
 * Earlier points come first: of two that are too close, the first keeps its position. No two marks
 * are closer than `distance`.
 */
export function clusterOf<T>(placed: ReadonlyArray<Placed<T>>, distance: number): Cluster<T>[] {
  const clusters: Cluster<T>[] = [];
  for (const { point, x, y } of placed) {
    let nearest: Cluster<T> | undefined;
    let least = distance;
    for (const cluster of clusters) {
      const away = Math.hypot(cluster.x - x, cluster.y - y);
      if (away < least) [nearest, least] = [cluster, away];
    }
    if (nearest) nearest.points.push(point);
    else clusters.push({ points: [point], x, y });
  }
  return clusters;
}

export type Direction = 'left' | 'right' | 'up' | 'down';

/** The mark that an arrow key leads to: the nearest one in that direction, if possible ahead. */
export function neighbour<M extends { x: number; y: number }>(
  from: M,
  all: readonly M[],
  direction: Direction,
): M | undefined {
  const sideways = direction === 'left' || direction === 'right';
  const sign = direction === 'left' || direction === 'up' ? -1 : 1;
  let best: M | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of all) {
    const ahead = sign * (sideways ? candidate.x - from.x : candidate.y - from.y);
    const aside = Math.abs(sideways ? candidate.y - from.y : candidate.x - from.x);
    if (ahead <= 0) continue;
    const away = ahead + 2 * aside;
    if (away < least) [best, least] = [candidate, away];
  }
  return best;
}

export interface Arc<T> {
  value: T;
  /** Its start on the ring, and its length; 0 to 1. */
  start: number;
  share: number;
}

/** The smallest share on a ring, so that even one of a thousand is visible. */
const minShare = 0.08;

/**
 * The proportions of a whole as a ring, in their order. Small parts are larger than they are, at
 * the cost of large ones.
 */
export function ringOf<T>(parts: ReadonlyArray<{ value: T; many: number }>): Arc<T>[] {
  const nonEmpty = parts.filter(({ many }) => many > 0);
  const all = nonEmpty.reduce((sum, { many }) => sum + many, 0);
  const isSmall = (many: number) => many / all < minShare;
  const small = nonEmpty.filter(({ many }) => isSmall(many));
  const large = all - small.reduce((sum, { many }) => sum + many, 0);
  const room = 1 - small.length * minShare;
  let start = 0;
  return nonEmpty.map(({ value, many }) => {
    const share = isSmall(many) ? minShare : (many / large) * room;
    const arc = { value, start, share };
    start += share;
    return arc;
  });
}
