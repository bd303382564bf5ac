// No circle of imports, of files or of rooms, by value or by type: each can be read behind those that it imports.
import { expect, test } from 'vitest';
import { importsWithin } from './imports.ts';

type Edges = ReadonlyMap<string, readonly string[]>;

/** Circles of rooms that are left, each with its reason. The list only becomes shorter. */
const debts: Record<string, string[][]> = {
  // Who opens a PostgreSQL database to write in it must begin a new history where a standby took over: nobody may forget to say so.
  'server/src': [['changes', 'db']],
};

/** What imports itself by way of others: the names of each circle. */
function circlesOf(edges: Edges): string[][] {
  const reached = new Map([...edges.keys()].map((one) => [one, reachedFrom(one, edges)]));
  const circles = [...edges.keys()].map((one) =>
    [...(reached.get(one) ?? [])].filter((other) => reached.get(other)?.has(one)).sort(),
  );
  const named = new Map(circles.filter(({ length }) => length > 1).map((one) => [`${one}`, one]));
  return [...named.values()].sort();
}

function reachedFrom(start: string, edges: Edges): Set<string> {
  const reached = new Set<string>();
  const next = [...(edges.get(start) ?? [])];
  for (let one = next.pop(); one !== undefined; one = next.pop()) {
    if (reached.has(one)) continue;
    reached.add(one);
    next.push(...(edges.get(one) ?? []));
  }
  return reached;
}

/** The rooms of these files: the folders beside each other, and each file beside them. */
function roomsOf(files: Edges): Edges {
  const roomOf = (path: string) => path.split('/')[0] as string;
  const rooms = new Map<string, string[]>();
  for (const [path, targets] of files) {
    const room = roomOf(path);
    const others = targets.map(roomOf).filter((target) => target !== room);
    rooms.set(room, [...(rooms.get(room) ?? []), ...others]);
  }
  return rooms;
}

const folders = [
  ...['server/src', 'agent/src', 'client/src', 'console/src'],
  ...['scripts', 'packaging', 'demo', 'bench'],
];

test.each(folders)('%s: no files import each other', (folder) => {
  const files = importsWithin(folder);
  expect([...files.values()].flat().length).toBeGreaterThan(files.size / 2);
  expect(circlesOf(files)).toEqual([]);
});

test.each(folders)('%s: no rooms import each other', (folder) => {
  expect(circlesOf(roomsOf(importsWithin(folder)))).toEqual(debts[folder] ?? []);
});

test('control: a circle of three files is seen, and one of two rooms without a circle of files', () => {
  const files = new Map([
    ['main.ts', ['a/one.ts']],
    ['a/one.ts', ['b/two.ts']],
    ['a/low.ts', []],
    ['b/two.ts', []],
    ['b/three.ts', ['a/low.ts']],
  ]);
  expect([circlesOf(files), circlesOf(roomsOf(files))]).toEqual([[], [['a', 'b']]]);
  files.set('b/two.ts', ['b/three.ts']).set('b/three.ts', ['a/one.ts']);
  expect(circlesOf(files)).toEqual([['a/one.ts', 'b/three.ts', 'b/two.ts']]);
});
