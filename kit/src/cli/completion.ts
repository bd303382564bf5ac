// The words that a shell offers at the Tab key. It runs `PROGRAM complete` to get them.
import {
  type Ask,
  type Command,
  commandsOf,
  commandsWith,
  optionsOf,
  type Program,
} from './command.ts';
import type { Option } from './options.ts';
import { findCommand } from './parse.ts';

/** The words that a value can be: fixed ones, or the names of records, which are asked for. */
interface Possible {
  words: readonly string[];
  records?: string | undefined;
  /** The arguments before it. */
  given?: readonly string[];
}

/** The candidates for the last word, which may be unfinished; none for files, and after `--`. */
export async function candidates<Session>(
  program: Program<Session>,
  words: readonly string[],
  ask: Ask,
): Promise<string[]> {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  const [, flag, value] = /^(--[\w-]+)=(.*)$/.exec(current) ?? [];
  if (flag !== undefined && value !== undefined && !before.includes('--')) {
    const values = await candidates(program, [...before, flag, value], ask);
    return values.map((word) => `${flag}=${word}`);
  }
  const { words: fixed, records, given = [] } = possible(program, before, current);
  if (!records) return fixed.filter((word) => word.startsWith(current));
  // In a list with commas the last name is completed.
  const begun = current.slice(0, current.lastIndexOf(',') + 1);
  const all = (await ask(records, given, current.slice(begun.length))).map((name) => begun + name);
  return [...new Set(all)].filter((name) => name.startsWith(current) && !unsafe.test(name));
}

/** Characters that no name or address has: untrusted text with one is not handed to a shell. */
const unsafe = /[^\w.:,@-]/;

function possible<Session>(program: Program<Session>, before: string[], current: string): Possible {
  if (before.includes('--')) return { words: [] };
  const commands = commandsOf(program);
  const match = findCommand(commands, before);
  if (!match) return { words: nextWords(commands, before) };
  const options = optionsOf(program, match.command);
  const given = positionals(match.rest, options);
  const previous = options[(before.at(-1) ?? '').replace(/^--/, '')];
  if (previous?.value && before.at(-1)?.startsWith('--')) {
    return { words: previous.choices ?? [], records: previous.completes, given };
  }
  if (current.startsWith('-')) return { words: Object.keys(options).map((name) => `--${name}`) };
  const all = Object.values(match.command.arguments ?? {});
  const argument = all[given.length] ?? (all.at(-1)?.many ? all.at(-1) : undefined);
  // A command may have others below it: `backup verify`.
  const below = match.rest.length === 0 ? nextWords(commands, before) : [];
  return {
    words: [...(argument?.choices ?? []), ...below.filter(Boolean)],
    records: argument?.completes,
    given,
  };
}

/** The arguments among these words, without options and their values. */
function positionals(words: readonly string[], options: Record<string, Option>): string[] {
  const isValue = (at: number) => {
    const [, name = ''] = /^--([\w-]+)$/.exec(words[at - 1] ?? '') ?? [];
    return options[name]?.value !== undefined;
  };
  return words.filter((word, at) => !word.startsWith('-') && !isValue(at));
}

/** The words with which commands continue after these. */
export function nextWords<Session>(
  commands: ReadonlyArray<Command<Session>>,
  before: readonly string[],
): string[] {
  const begun = before.map((word) => `${word} `).join('');
  const names = commands.map(({ name }) => name).filter((name) => name.startsWith(begun));
  const words = names.map((name) => name.slice(begun.length).split(' ')[0] ?? '');
  return [...new Set(words)];
}

const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** The script by which a shell asks a program for candidates. */
export function completionScript(program: string, shell: Shell): string {
  const name = program.replaceAll('-', '_');
  return {
    // bash divides words at COMP_WORDBREAKS and replaces only the part after the last of them, so
    // 2001:db8::1 and --user=olga are joined for the program, and cut again for bash.
    bash: `_${name}() {
  local IFS=$'\\n' word last=0 joined=
  local -a words=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if (( last )) && [[ $word == [:=@]* || ( -n $joined && -n $word ) ]]; then
      words[last]+=$word
    else
      words[++last]=$word
    fi
    [[ $word == *[:=@] ]] && joined=yes || joined=
  done
  if [[ \${COMP_WORDS[COMP_CWORD-1]} == -- ]]; then
    COMPREPLY=($(compgen -c -- "$2"))
  else
    COMPREPLY=($({ "$1" complete "\${words[@]}"; } 2> /dev/null))
    word=\${words[last]%"$2"}
    COMPREPLY=("\${COMPREPLY[@]#"$word"}")
  fi
}
complete -o default -F _${name} ${program}
`,
    zsh: `#compdef ${program}
_${name}() {
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
if [[ \${funcstack[1]} == _${name} ]]; then _${name} "$@"; else compdef _${name} ${program}; fi
`,
    fish: `function __${name}_complete
    set -l words (commandline -opc)
    $words[1] complete $words[2..-1] (commandline -ct) 2> /dev/null
end
complete -c ${program} -a '(__${name}_complete)'
`,
  }[shell];
}

/** The command that prints the script. */
export function completionOf<Session>(program: string): Command<Session> {
  return commandsWith<Session>()({
    name: 'completion',
    summary: `print the shell completion script of ${program}`,
    arguments: {
      shell: {
        summary: 'bash, zsh or fish',
        choices: shells,
        read: (text: string) => text as Shell,
      },
    },
    notes: `bash: source <(${program} completion bash)     in ~/.bashrc
zsh:  source <(${program} completion zsh)      in ~/.zshrc, after compinit
fish: ${program} completion fish | source      in ~/.config/fish/config.fish`,
    run: async ({ arguments: { shell } }) => {
      const script = completionScript(program, shell);
      return { value: { shell, script }, parts: [{ text: script }] };
    },
  });
}
