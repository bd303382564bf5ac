// What a shell offers at the Tab key for exitward-agent, from its table of commands. exitward and exw complete themselves.
import type { Program } from './commands.ts';

/** The words behind each beginning of a command line: nouns, verbs, and the options of a whole command. */
function wordsAfter({ commands }: Program): Map<string, string[]> {
  const after = new Map<string, string[]>();
  const add = (begun: string, word: string) => {
    const words = after.get(begun) ?? [];
    if (!words.includes(word)) words.push(word);
    after.set(begun, words);
  };
  for (const { words, options } of commands) {
    const path = words.split(' ');
    for (const [at, word] of path.entries()) add(path.slice(0, at).join(' '), word);
    for (const [flags] of options) add(words, /--[\w-]+/.exec(flags)?.[0] ?? flags);
  }
  // Behind the nouns: what begins with an option is a whole command.
  for (const option of ['--help', '--version']) add('', option);
  // Verbs come first: a noun that is a command as well has both.
  const isOption = (word: string) => Number(word.startsWith('--'));
  for (const words of after.values()) words.sort((one, other) => isOption(one) - isOption(other));
  return after;
}

export function bashCompletion(program: Program): string {
  const cases = [...wordsAfter(program)].map(
    ([begun, words]) => `      '${begun}') words='${words.join(' ')}' ;;`,
  );
  const name = program.name.replaceAll('-', '_');
  return `# Made from the table of commands of ${program.name}.
_${name}() {
  local begun='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}" ''; do
    words=''
    case "$begun" in
${cases.join('\n')}
    esac
    if [[ -n $word && $word != -* && " $words " == *" $word "* ]]; then
      begun="\${begun:+$begun }$word"
    elif [[ -z $word || -n $begun && " $words" == *' --'* ]]; then
      break
    else
      return
    fi
  done
  if [[ $2 == -* || $words != --* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$2"))
  fi
}
complete -o default -F _${name} ${program.name}
`;
}

export function fishCompletion(program: Program): string {
  const lines = program.commands.flatMap(({ words, summary, options }) => {
    const [noun = '', verb] = words.split(' ');
    const seen = words.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`);
    const text = summary.replaceAll("'", "\\'");
    const offered = verb
      ? `complete -c ${program.name} -f -n '__fish_seen_subcommand_from ${noun}' -a ${verb} -d '${text}'`
      : `complete -c ${program.name} -f -n __fish_use_subcommand -a ${noun} -d '${text}'`;
    return [
      offered,
      ...options.flatMap(([flags]) => {
        const long = /--([\w-]+)/.exec(flags)?.[1];
        return long ? [`complete -c ${program.name} -n '${seen.join('; and ')}' -l ${long}`] : [];
      }),
    ];
  });
  const nouns = new Set(program.commands.flatMap(({ words }) => words.split(' ').slice(0, -1)));
  const top = [...nouns].map(
    (noun) => `complete -c ${program.name} -f -n __fish_use_subcommand -a ${noun}`,
  );
  return `# Made from the table of commands of ${program.name}.\n${[...top, ...lines].join('\n')}\n`;
}

/** zsh reads bash's, once its own bridge is loaded. */
export function zshCompletion(program: Program): string {
  return `#compdef ${program.name}
autoload -U +X bashcompinit && bashcompinit
source /usr/share/bash-completion/completions/${program.name}
`;
}
