// exitward inventory …: import and export of servers and exit IPs.
import { UsageFault } from '../../../kit/src/cli/failures.ts';
import { readInput } from '../../../kit/src/cli/input.ts';
import { type Column, table } from '../../../kit/src/cli/output.ts';
import { type Count, countsInWords } from './actions.ts';
import type { Row } from './columns.ts';
import { nounOf } from './command.ts';

interface Summary {
  dry_run: boolean;
  changed: Array<{ name: string; fields: string[] }>;
  added: string[];
  removed: string[];
  exit_ips_added: number;
  exit_ips_removed: number;
}

const json = 'application/json';
const csv = 'text/csv';

interface Servers {
  servers: Row[];
}

export const inventoryNoun = nounOf('inventory', 'import and export of servers and exit IPs', [
  {
    usage: 'import <file>',
    summary: 'import servers and exit IPs from a .json or .csv file or stdin (-), all or none',
    options: [
      ['--dry-run', 'show what would change or be refused'],
      ['--remove-missing', 'remove servers that are not in the file'],
    ],
    examples: ['exitward inventory import network.csv --dry-run'],
    question: async (given) =>
      given.has('remove-missing') && !given.has('dry-run')
        ? given.text('This removes every server that is not in <file>.')
        : undefined,
    extent: async (given, api) => {
      const { text, type } = readInventoryFile(given.word('file'));
      const query = '?dry_run=true&remove_missing=true';
      const { removed } = await api.postText<Summary>(`/inventory${query}`, text, type);
      return `${removed.length} would be removed; "exitward inventory export" saves the current inventory.`;
    },
    run: async (given, api) => {
      const { text, type } = readInventoryFile(given.word('file'));
      const query = `?dry_run=${given.has('dry-run')}${given.has('remove-missing') ? '&remove_missing=true' : ''}`;
      const value = await api.postText<Summary>(`/inventory${query}`, text, type);
      const rows = [
        ...value.added.map((name) => ({ what: 'added', name, fields: [] as string[] })),
        ...value.changed.map(({ name, fields }) => ({ what: 'changed', name, fields })),
        ...value.removed.map((name) => ({ what: 'removed', name, fields: [] as string[] })),
      ];
      const counts: Count[] = [
        ['add', value.added.length, 'server'],
        ['change', value.changed.length, 'server'],
        ['remove', value.removed.length, 'server'],
        ['add', value.exit_ips_added, 'exit IP'],
        ['remove', value.exit_ips_removed, 'exit IP'],
      ];
      const sentence = countsInWords(counts, value.dry_run);
      const columns: Column[] = ['what', ['server', 'name'], ['fields', 'fields', 'list']];
      return { ...table(rows, columns, undefined), value, sentence };
    },
  },
  {
    usage: 'export',
    summary: 'print the inventory of the network as CSV, or with --json as JSON',
    run: async (given, api) => {
      if (given.has('json')) return { value: await api.get<Servers>('/inventory'), parts: [] };
      return { value: undefined, parts: [{ text: await api.getText('/inventory.csv') }] };
    },
  },
]);

function readInventoryFile(file: string): { text: string; type: string } {
  const named = { json, csv }[/\.(json|csv)$/i.exec(file)?.[1]?.toLowerCase() ?? ''];
  if (!named && file !== '-')
    throw new UsageFault(`${file}: expected a file that ends in .json or .csv, or - for stdin.`);
  const text = readInput(file);
  return { text, type: named ?? (/^\s*\{/.test(text) ? json : csv) };
}
