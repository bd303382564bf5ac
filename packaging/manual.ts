// Manual pages, from the tables of commands.
import type { Program, Verb } from './commands.ts';

/** Where a program's settings and records are, by its name, and what to read beside its page. */
const places: Record<string, { files: Array<[string, string]>; also: string }> = {
  exitward: {
    files: [
      ['/etc/exitward/exitward.env', 'every setting, with its default'],
      ['/var/lib/exitward', 'the database, the keys and the first operator token'],
    ],
    also: 'exw(1), exitward-agent(8)',
  },
  'exitward-agent': {
    files: [
      ['/etc/exitward/agent.env', 'every setting, with its default'],
      ['/var/lib/exitward-agent', "the node's token, its policy, and usage that waits"],
    ],
    also: 'exitward(1), squid(8), nft(8)',
  },
  exw: {
    files: [['~/.config/exitward/exw.json', 'the stored login']],
    also: 'exitward(1)',
  },
};

/** A page in the language of man. The day is that of the epoch. */
export function manualPage(program: Program, version: string, epoch: number): string {
  const { name, section, summary, commands, examples, notes } = program;
  const day = new Date(epoch * 1000).toISOString().slice(0, 10);
  const place = places[name] ?? { files: [], also: '' };
  return [
    `.TH ${name.toUpperCase()} ${section} ${day} "Exitward ${version}" "Exitward"`,
    '.SH NAME',
    `${escaped(name)} \\- ${escaped(summary.replace(/\.$/, ''))}`,
    '.SH SYNOPSIS',
    `.B ${escaped(name)}`,
    '.I COMMAND',
    '.RI [ OPTIONS ]',
    '.SH COMMANDS',
    ...commands.flatMap(verb),
    '.SH EXAMPLES',
    ...verbatim(examples.join('\n')),
    '.SH NOTES',
    ...verbatim(notes.trim()),
    '.SH EXIT STATUS',
    '0 when it is done, 1 when it failed, 2 when the command line was not understood.',
    '.SH FILES',
    ...place.files.flatMap(([path, holds]) => ['.TP', `.I ${escaped(path)}`, escaped(holds)]),
    '.SH SEE ALSO',
    escaped(place.also),
    '',
  ].join('\n');
}

function verb({ words, usage, summary, options, notes }: Verb): string[] {
  return [
    `.SS ${escaped(words)}`,
    `.B ${escaped(usage)}`,
    '.PP',
    escaped(summary),
    ...options.flatMap(([flags, text]) => ['.TP', `.B ${escaped(flags)}`, escaped(text)]),
    ...(notes === undefined ? [] : ['.PP', ...verbatim(notes)]),
  ];
}

function verbatim(text: string): string[] {
  return ['.nf', ...text.split('\n').map(escaped), '.fi'];
}

/** A text that man shows as it stands: hyphens are those of commands, and no line is a request. */
function escaped(text: string): string {
  return text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replace(/^[.']/gm, '\\&$&');
}
