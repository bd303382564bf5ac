// Sentences with figures, in SECURITY.md and docs/limits.md: each figure is the one of the program.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const limits = read('docs/limits.md');

const words = [
  ...['none', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'],
  ...['eleven', 'twelve', 'thirteen', 'fourteen', 'fifteen', 'sixteen', 'seventeen', 'eighteen'],
];

test('SECURITY.md counts the direct dependencies of each package', () => {
  const [server, agent, client] = ['server', 'agent', 'client'].map((name) => {
    const { dependencies = {} } = JSON.parse(read(`${name}/package.json`));
    return words[Object.keys(dependencies).length];
  });
  expect(read('SECURITY.md').replaceAll('\n', ' ')).toContain(
    `The server has ${server} direct dependencies, the agent ${agent}, the client library ${client}.`,
  );
});

/** The cells of each row of limits.md, without the heads. */
const rows = [...limits.matchAll(/^\| (.*) \|$/gm)]
  .map(([, cells = '']) => cells.split(' | ').map((cell) => cell.trim()))
  .filter(([first]) => !/^(---|what others choose)/.test(first ?? ''));

const units: Record<string, number> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
const unitsOfDays: Record<string, number> = { days: 86_400, day: 86_400, hours: 3600, hour: 3600 };

/** The numbers of a cell, in the unit of a setting. */
function figuresIn(cell: string): number[] {
  return [...cell.matchAll(/([\d,]*\d) ?([A-Za-z]+)?/g)].map(([, digits = '', unit = '']) => {
    const number = Number(digits.replaceAll(',', ''));
    return number * (units[unit] ?? unitsOfDays[unit] ?? 1);
  });
}

/** The defaults in configuration.md, which are those of the program (`packaging.test.ts`). */
const defaults = new Map(
  [...read('docs/configuration.md').matchAll(/^\| `(EXITWARD_\w+)` *\| `(\d+)`/gm)].map(
    ([, name = '', text]) => [name, Number(text)] as const,
  ),
);

const withSetting = rows.flatMap(([what = '', , limit = '', setting = '']) => {
  const [, name = ''] = /`(EXITWARD_\w+)`/.exec(setting) ?? [];
  const value = defaults.get(name);
  // A sentence is no figure.
  return value && /^[\d,]/.test(limit) ? [{ what, limit, name, value }] : [];
});

test.each(withSetting)('$name: the limit "$limit" is its default', ({ limit, value }) => {
  expect(figuresIn(limit)).toContain(value);
});

test('limits.md has rows for the settings that bound something', () => {
  expect(withSetting.length).toBeGreaterThan(10);
});

test('a limit of the control plane is answered by a status that its API has', () => {
  const document = JSON.parse(read('docs/openapi.json')) as {
    paths: Record<string, Record<string, { responses?: Record<string, unknown> }>>;
  };
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  // Of requests that are no valid HTTP, which reach no route.
  const statuses = new Set(['408', '431', ...operations.flatMap(statusesOf)]);
  const parts = limits.split(/^## /m).filter((part) => !/^(Clients of a|Websites)/.test(part));
  const statusAtStart = /\| (\d{3})\b[^|]*\|$/gm;
  const answers = parts.flatMap((part) => [...part.matchAll(statusAtStart)].map(([, one]) => one));
  const unknown = answers.filter((status = '') => !statuses.has(status));
  expect([answers.length > 5, unknown]).toEqual([true, []]);
});

const statusesOf = ({ responses = {} }: { responses?: Record<string, unknown> }) =>
  Object.keys(responses);
