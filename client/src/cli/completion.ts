// exw completion: the words that a shell offers at the Tab key. The shells ask `exw complete`, which asks the table of commands.
import { type Command, command, optionsOf } from './command.ts';
import { findCommand } from './parse.ts';

/** The candidates for the last of these words, which may be unfinished; nothing where files can, or behind `--`. */
export function candidates(commands: readonly Command[], words: readonly string[]): string[] {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  return possible(commands, before, current).filter((one) => one.startsWith(current));
}

function possible(commands: readonly Command[], before: string[], current: string): string[] {
  if (before.includes('--')) return [];
  const found = findCommand(commands, before);
  if (!found) return nextWords(commands, before);
  const options = optionsOf(found.command);
  const previous = options[(before.at(-1) ?? '').replace(/^--/, '')];
  if (previous?.value && before.at(-1)?.startsWith('--')) return [...(previous.choices ?? [])];
  if (current.startsWith('-')) return Object.keys(options).map((name) => `--${name}`);
  const [first] = Object.values(found.command.arguments ?? {});
  return [...(first?.choices ?? [])];
}

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
    COMPREPLY=($("$1" complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null))
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
  local -a found=(\${(f)"$("\${words[1]}" complete "\${(@)words[2,CURRENT]}" 2> /dev/null)"})
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
