// exw completion: the words that a shell offers at the Tab key. The shells ask `exw complete`, which asks the table of commands.
import { statSync } from 'node:fs';
import type { Exitward } from '../client.ts';
import type { CallOptions } from '../options.ts';
import { type Command, command, optionsOf } from './command.ts';
import type { Known, Option } from './options.ts';
import { findCommand } from './parse.ts';
import { Session } from './session.ts';
import type { Environment } from './stored_login.ts';

/** The words that a value can be: known here, or of records that the service is asked for. */
interface Possible {
  words: readonly string[];
  known?: Known | undefined;
}

/** Asks the service, and is quick to give up. */
export type Ask = (known: Known) => Promise<readonly string[]>;

/** The candidates for the last of these words, which may be unfinished; nothing where files can, or behind `--`. */
export async function candidates(
  commands: readonly Command[],
  words: readonly string[],
  ask: Ask,
): Promise<string[]> {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  const { words: fixed, known } = possible(commands, before, current);
  if (!known) return fixed.filter((one) => one.startsWith(current));
  // Of a list with commas the last one is completed.
  const begun = current.slice(0, current.lastIndexOf(',') + 1);
  const all = (await ask(known)).map((one) => begun + one);
  return [...new Set(all)].filter((one) => one.startsWith(current) && !unsafe.test(one));
}

/** Text of others is not handed to a shell with anything in it that a name or address does not have. */
const unsafe = /[^\w.:,@-]/;

function possible(commands: readonly Command[], before: string[], current: string): Possible {
  if (before.includes('--')) return { words: [] };
  const found = findCommand(commands, before);
  if (!found) return { words: nextWords(commands, before) };
  const options = optionsOf(found.command);
  const previous = options[(before.at(-1) ?? '').replace(/^--/, '')];
  if (previous?.value && before.at(-1)?.startsWith('--')) {
    return { words: previous.choices ?? [], known: previous.known };
  }
  if (current.startsWith('-')) return { words: Object.keys(options).map((name) => `--${name}`) };
  const given = positionals(found.rest, options);
  const all = Object.values(found.command.arguments ?? {});
  const argument = all[given] ?? (all.at(-1)?.many ? all.at(-1) : undefined);
  return { words: argument?.choices ?? [], known: argument?.known };
}

/** How many arguments these words hold, beside options and their values. */
function positionals(words: readonly string[], options: Record<string, Option>): number {
  const isValue = (at: number) => {
    const [, name = ''] = /^--([\w-]+)$/.exec(words[at - 1] ?? '') ?? [];
    return options[name]?.value !== undefined;
  };
  return words.filter((word, at) => !word.startsWith('-') && !isValue(at)).length;
}

const patience_seconds = 1;

/**
 * Asks the service of the login, within a second. A service that is away or slow (`onAway`), and a
 * login that fails, have no words.
 */
export function asking(words: readonly string[], env: Environment, onAway: () => void): Ask {
  return async (known) => {
    const { EXW_TOKEN_FILE: file } = env;
    // Standard input is the shell's, and a pipe may never end.
    if (file && !statSync(file, { throwIfNoEntry: false })?.isFile()) return [];
    const wordAfter = (option: string) => {
      const at = words.indexOf(option);
      return at < 0 ? undefined : words[at + 1];
    };
    const options = { url: wordAfter('--url'), variant: wordAfter('--variant') };
    const flags = { insecure: words.includes('--insecure'), json: false, help: false };
    try {
      const { client } = await new Session({ ...options, ...flags }, env).account();
      return await lists[known](client, { retries: 0, timeoutSeconds: patience_seconds });
    } catch {
      onAway();
      return [];
    }
  };
}

const lists: Record<Known, (client: Exitward, call: CallOptions) => Promise<string[]>> = {
  servers: async (client, call) =>
    (await client.contract.servers.list({}, call)).map(({ server }) => server),
  exits: async (client, call) =>
    (await client.contract.servers.list({}, call)).flatMap(({ ips }) => ips.map(({ ip }) => ip)),
  users: async (client, call) => (await client.users.list(call)).map(({ name }) => name),
  addresses: async (client, call) => (await client.authlist.list({}, call)).map(({ ip }) => ip),
  entries: async (client, call) =>
    (await client.overrides.list({}, call)).map(({ id }) => String(id)),
};

/** The words that commands go on with behind these. */
export function nextWords(commands: readonly Command[], before: readonly string[]): string[] {
  const begun = before.map((word) => `${word} `).join('');
  const names = commands.map(({ name }) => name).filter((name) => name.startsWith(begun));
  const words = names.map((name) => name.slice(begun.length).split(' ')[0] ?? '');
  return [...new Set(words)];
}

const scripts = {
  bash: `_exw() {
  local IFS=$'\\n'
  if [[ \${COMP_WORDS[COMP_CWORD-1]} == -- ]]; then
    COMPREPLY=($(compgen -c -- "$2"))
  else
    COMPREPLY=($({ "$1" complete "\${COMP_WORDS[@]:1:COMP_CWORD}"; } 2> /dev/null))
  fi
}
complete -o default -F _exw exw
`,
  zsh: `#compdef exw
_exw() {
  local -i at=\${words[(i)--]}
  if (( at < CURRENT )); then
    shift $at words
    (( CURRENT -= at ))
    _normal
    return
  fi
  local -a found=(\${(f)"$({ "\${words[1]}" complete "\${(@)words[2,CURRENT]}"; } 2> /dev/null)"})
  if (( \${#found} )); then compadd -a found; else _files; fi
}
if [[ \${funcstack[1]} == _exw ]]; then _exw "$@"; else compdef _exw exw; fi
`,
  fish: `function __exw_complete
    set -l words (commandline -opc)
    $words[1] complete $words[2..-1] (commandline -ct) 2> /dev/null
end
complete -c exw -a '(__exw_complete)'
`,
} as const;

type Shell = keyof typeof scripts;

export const completion = command({
  name: 'completion',
  summary: 'print the script by which a shell completes exw',
  arguments: {
    shell: {
      summary: 'bash, zsh or fish',
      choices: ['bash', 'zsh', 'fish'],
      read: (text: string) => text as Shell,
    },
  },
  notes: `bash: source <(exw completion bash)     in ~/.bashrc
zsh:  source <(exw completion zsh)      in ~/.zshrc, after compinit
fish: exw completion fish | source      in ~/.config/fish/config.fish`,
  run: async ({ arguments: { shell } }) => ({
    value: { shell, script: scripts[shell] },
    parts: [{ text: scripts[shell] }],
  }),
});
