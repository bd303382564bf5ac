// No circle of imports, of files or of folders, by value or by type: each can be read behind those
// that it imports.
import { expect, test } from 'vitest';
import { importsWithin } from './imports.ts';

type Edges = ReadonlyMap<string, readonly string[]>;

/** Circles that are left, by the folder that they are in. The list only becomes shorter. */
const debts: Record<string, Record<string, string[][]>> = {
  'server/src': {
    // Opening a PostgreSQL database to write in it begins a new history where a standby took over:
    // no caller may forget to say so.
    '': [['changes', 'db']],
  },
};

/** The files that import themselves by way of others: the names of each circle. */
function circlesOf(edges: Edges): string[][] {
  const reached = new Map([...edges.keys()].map((node) => [node, reachedFrom(node, edges)]));
  const circles = [...edges.keys()].map((node) =>
    [...(reached.get(node) ?? [])].filter((other) => reached.get(other)?.has(node)).sort(),
  );
  const named = new Map(
    circles.filter(({ length }) => length > 1).map((circle) => [`${circle}`, circle]),
  );
  return [...named.values()].sort();
}

function reachedFrom(start: string, edges: Edges): Set<string> {
  const reached = new Set<string>();
  const next = [...(edges.get(start) ?? [])];
  for (let node = next.pop(); node !== undefined; node = next.pop()) {
    if (reached.has(node)) continue;
    reached.add(node);
    next.push(...(edges.get(node) ?? []));
  }
  return reached;
}

/** The direct content of a folder, files and folders, each with its neighbours that it imports. */
function roomsIn(folder: string, files: Edges): Edges {
  const beginning = folder === '' ? '' : `${folder}/`;
  const roomOf = (path: string) => path.slice(beginning.length).split('/')[0] as string;
  const isIn = (path: string) => path.startsWith(beginning);
  const rooms = new Map<string, string[]>();
  for (const [path, targets] of [...files].filter(([path]) => isIn(path))) {
    const room = roomOf(path);
    const others = targets.filter(isIn).map(roomOf);
    rooms.set(room, [...(rooms.get(room) ?? []), ...others.filter((other) => other !== room)]);
  }
  return rooms;
}

/** The circles of what is in each folder, by the folder. */
function circlesOfRooms(files: Edges): Record<string, string[][]> {
  const within = new Set(['']);
  for (const path of files.keys()) {
    const parts = path.split('/').slice(0, -1);
    for (const [at] of parts.entries()) within.add(parts.slice(0, at + 1).join('/'));
  }
  const circlesOfRooms = [...within].map(
    (room) => [room, circlesOf(roomsIn(room, files))] as const,
  );
  return Object.fromEntries(circlesOfRooms.filter(([, circles]) => circles.length > 0));
}

const folders = [
  ...['kit/src', 'server/src', 'agent/src', 'client/src', 'console/src'],
  ...['scripts', 'packaging', 'demo', 'bench'],
];

test.each(folders)('%s: no files import each other', (folder) => {
  const files = importsWithin(folder);
  expect([...files.values()].flat().length).toBeGreaterThan(files.size / 2);
  expect(circlesOf(files)).toEqual([]);
});

test.each(folders)('%s: no folders import each other', (folder) => {
  expect(circlesOfRooms(importsWithin(folder))).toEqual(debts[folder] ?? {});
});

test('control: a circle of three files is seen, and one of two folders without a circle of files', () => {
  const files = new Map([
    ['main.ts', ['in/a/one.ts']],
    ['in/a/one.ts', ['in/b/two.ts']],
    ['in/a/low.ts', []],
    ['in/b/two.ts', []],
    ['in/b/three.ts', ['in/a/low.ts']],
  ]);
  expect([circlesOf(files), circlesOfRooms(files)]).toEqual([[], { in: [['a', 'b']] }]);
  files.set('in/b/two.ts', ['in/b/three.ts']).set('in/b/three.ts', ['in/a/one.ts']);
  expect(circlesOf(files)).toEqual([['in/a/one.ts', 'in/b/three.ts', 'in/b/two.ts']]);
});
