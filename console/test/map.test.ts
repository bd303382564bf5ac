// The map: places are where d3-geo draws them, and any two marks are far enough apart to be
// distinguished.
import { geoNaturalEarth1 } from 'd3-geo';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clusterOf, neighbour, ringOf } from '../src/map/clusters.ts';
import { project } from '../src/map/project.ts';

describe('project', () => {
  test('a place is where the projection that drew the land has it, everywhere on Earth', () => {
    const drawn = geoNaturalEarth1().fitExtent(
      [
        [4, 4],
        [956, 510],
      ],
      { type: 'Sphere' },
    );
    const [x, y] = drawn.translate();
    const drawing = { scale: drawn.scale(), center: [x, y] } as const;
    fc.assert(
      fc.property(
        // d3 turns longitude 180 into -180: the edge itself may lie on either side.
        fc.double({ min: -179.999, max: 179.999, noNaN: true }),
        fc.double({ min: -90, max: 90, noNaN: true }),
        (longitude, latitude) => {
          const [ours_x, ours_y] = project(longitude, latitude, drawing);
          const [d3_x, d3_y] = drawn([longitude, latitude]) as [number, number];
          expect(ours_x).toBeCloseTo(d3_x, 6);
          expect(ours_y).toBeCloseTo(d3_y, 6);
        },
      ),
    );
  });

  test('longitude 0, latitude 0 is in the centre, east is right and north is up', () => {
    const drawing = { scale: 100, center: [480, 235] } as const;
    expect(project(0, 0, drawing)).toEqual([480, 235]);
    expect(project(10, 0, drawing)[0]).toBeGreaterThan(480);
    expect(project(0, 10, drawing)[1]).toBeLessThan(235);
  });
});

const places = fc.array(
  fc.record({
    point: fc.integer(),
    x: fc.integer({ min: 0, max: 300 }),
    y: fc.integer({ min: 0, max: 150 }),
  }),
  { maxLength: 60 },
);

describe('clusterOf', () => {
  test('every point is in exactly one mark, and no two marks are closer than asked', () => {
    fc.assert(
      fc.property(places, (placed) => {
        const clusters = clusterOf(placed, 24);
        const gathered = clusters.flatMap(({ points }) => points).sort((a, b) => a - b);
        expect(gathered).toEqual(placed.map(({ point }) => point).sort((a, b) => a - b));
        for (const [at, cluster] of clusters.entries()) {
          for (const other of clusters.slice(at + 1)) {
            expect(Math.hypot(cluster.x - other.x, cluster.y - other.y)).toBeGreaterThanOrEqual(24);
          }
        }
      }),
    );
  });

  test('of two points that are too close the first keeps its place', () => {
    const placed = [
      { point: 'fra1', x: 10, y: 10 },
      { point: 'fra2', x: 12, y: 10 },
      { point: 'syd1', x: 200, y: 90 },
    ];
    expect(clusterOf(placed, 24)).toEqual([
      { points: ['fra1', 'fra2'], x: 10, y: 10 },
      { points: ['syd1'], x: 200, y: 90 },
    ]);
  });
});

test('a point between two marks joins the nearer one', () => {
  const placed = [
    { point: 'lon1', x: 0, y: 0 },
    { point: 'fra1', x: 30, y: 0 },
    { point: 'ams1', x: 20, y: 0 },
  ];
  expect(clusterOf(placed, 24).map(({ points }) => points)).toEqual([['lon1'], ['fra1', 'ams1']]);
});

describe('neighbour', () => {
  const middle = { x: 50, y: 50 };
  const ahead = { x: 80, y: 52 };
  const aside = { x: 60, y: 90 };
  const behind = { x: 10, y: 50 };
  const all = [middle, ahead, aside, behind];

  test('an arrow leads to what is ahead rather than to what is nearer but aside', () => {
    expect(neighbour(middle, all, 'right')).toBe(ahead);
    expect(neighbour(middle, all, 'left')).toBe(behind);
    expect(neighbour(middle, all, 'down')).toBe(aside);
  });

  test('at the edge an arrow leads nowhere', () => {
    expect(neighbour(middle, all, 'up')).toBeUndefined();
    expect(neighbour(behind, all, 'left')).toBeUndefined();
  });
});

describe('ringOf', () => {
  const shares = (...many: number[]) =>
    ringOf(many.map((count, at) => ({ value: at, many: count }))).map(({ share }) => share);

  test('the parts of a ring are the proportions, and fill it', () => {
    expect(
      ringOf([
        { value: 'a', many: 3 },
        { value: 'b', many: 0 },
        { value: 'c', many: 1 },
      ]),
    ).toEqual([
      { value: 'a', start: 0, share: 0.75 },
      { value: 'c', start: 0.75, share: 0.25 },
    ]);
    for (const counts of [[1], [1, 605], [80, 1], [1, 1, 1, 1], [1, 2, 600]]) {
      expect(shares(...counts).reduce((sum, share) => sum + share)).toBeCloseTo(1);
    }
  });

  test('one of hundreds is seen, and does not take them over', () => {
    const [bad = 0, good = 0] = shares(1, 605);
    expect(bad).toBeGreaterThan(0.05);
    expect(good).toBeGreaterThan(0.9);
  });
});
