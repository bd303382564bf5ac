// exitward completion: the words that a shell offers at the Tab key. The shells ask `exitward complete`, which asks the table of commands, and a server for names.
import type { Command } from 'commander';
import type { Environment } from '../../../kit/src/settings.ts';
import { AdminApi } from './api.ts';
import { UsageFault } from './failures.ts';
import { print } from './output.ts';

/** The words of a value; it is given the arguments before it. */
type Ask = (what: string, given: readonly string[], begun: string) => Promise<readonly string[]>;

/** The candidates for the last of these words, which may be unfinished; nothing where files can. */
export async function candidates(
  program: Command,
  words: readonly string[],
  ask: Ask,
): Promise<string[]> {
  const current = words.at(-1) ?? '';
  const { command, rest, path } = commandIn(program, words.slice(0, -1));
  const option = optionIn(command, rest.at(-1));
  const given = rest.filter(
    (word, at) => !word.startsWith('-') && !optionIn(command, rest[at - 1]),
  );
  const begun = current.slice(0, current.lastIndexOf(',') + 1);
  const named = async (name: string) => {
    const found = await ask(name, given, current.slice(begun.length));
    return [...new Set(found)].map((one) => begun + one).filter((one) => !unsafe.test(one));
  };
  const possible = async (): Promise<readonly string[]> => {
    if (option) {
      // `--by <hour|day>` names all values there are.
      const choices = /<([\w-]+(?:\|[\w-]+)+)>/.exec(option.flags)?.[1];
      return choices?.split('|') ?? named(option.long?.slice(2) ?? '');
    }
    if (current.startsWith('-')) return longOptions(command);
    const below = command.commands.map((one) => one.name());
    if (below.length > 0 && given.length === 0) return below;
    const { registeredArguments: all } = command;
    const argument = all[given.length] ?? (all.at(-1)?.variadic ? all.at(-1) : undefined);
    if (argument === undefined) return [];
    return argument.argChoices ?? named(argument.name() === 'id' ? `${path} id` : argument.name());
  };
  return (await possible()).filter((one) => one.startsWith(current));
}

/** Text of others is not handed to a shell with anything in it that a name or address does not have. */
const unsafe = /[^\w.:,@-]/;

/** The command that these words begin with, and the words after it. */
function commandIn(program: Command, words: readonly string[]) {
  let command = program;
  let at = 0;
  const path: string[] = [];
  for (; at < words.length; at++) {
    const next = command.commands.find((one) => one.name() === words[at]);
    if (!next) break;
    command = next;
    path.push(next.name());
  }
  return { command, rest: words.slice(at), path: path[0] ?? '' };
}

/** The option that takes the next word as its value. */
function optionIn(command: Command, word: string | undefined) {
  return command.options.find(({ long, required }) => required && long === word);
}

function longOptions(command: Command): string[] {
  const options = command.createHelp().visibleOptions(command);
  return options.flatMap(({ long }) => (long ? [long] : []));
}

const patience_milliseconds = 1000;
const most = 200;

/** Asks a running server, within a second. One that is away or slow (`onAway`), and a missing token, have no words. */
export function asking(env: Environment, onAway: () => void): Ask {
  return async (what, given, begun) => {
    const list = lists[what];
    if (!list) return [];
    try {
      return await list(new AdminApi(env, patience_milliseconds), given, begun);
    } catch {
      onAway();
      return [];
    }
  };
}

type List = (api: AdminApi, given: readonly string[], begun: string) => Promise<string[]>;

const named =
  (path: (given: readonly string[], begun: string) => string, field: string): List =>
  async (api, given, begun) => {
    const rows = await api.list(path(given, begun), most);
    return rows.map((row) => String(row[field]));
  };

const ofAccount = (list: string) => (given: readonly string[]) =>
  `/accounts/${encodeURIComponent(given[0] ?? '')}/${list}`;

// Accounts come by name, from the one that is begun on: there may be many.
const accounts: List = named(
  (_given, begun) => `/accounts?limit=${most}${begun ? `&after=${encodeURIComponent(begun)}` : ''}`,
  'name',
);
const servers: List = async (api) =>
  (await api.list<{ name: string }>('/servers')).map(({ name }) => name);
const portSchemes = named(() => '/port_schemes', 'name');

/** By the name of an argument or option; an id by its noun. */
const lists: Readonly<Record<string, List>> = {
  account: accounts,
  server: servers,
  servers,
  user: named(ofAccount('users'), 'name'),
  ip: async (api, [server = '']) => {
    const path = `/servers/${encodeURIComponent(server)}`;
    const { exit_ips } = await api.get<{ exit_ips: Array<{ ip: string }> }>(path);
    return exit_ips.map(({ ip }) => ip);
  },
  'port-scheme': portSchemes,
  'port-schemes': portSchemes,
  scheme: portSchemes,
  'node id': named(() => '/nodes', 'id'),
  'held-usage id': named(() => '/held_usage', 'id'),
  'operator-token id': named(() => '/tokens', 'id'),
  'token id': named(ofAccount('tokens'), 'id'),
  'authlist id': named(ofAccount('authlist'), 'id'),
  'override id': named(ofAccount('overrides'), 'id'),
  removal: named(ofAccount('removals'), 'removal_id'),
};

const scripts = {
  bash: `_exitward() {
  local IFS=$'\\n'
  COMPREPLY=($({ "$1" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}"; } 2> /dev/null))
}
complete -o default -F _exitward exitward
`,
  zsh: `#compdef exitward
_exitward() {
  local -a found=(\${(f)"$({ "\${words[1]}" complete -- "\${(@)words[2,CURRENT]}"; } 2> /dev/null)"})
  if (( \${#found} )); then compadd -a found; else _files; fi
}
if [[ \${funcstack[1]} == _exitward ]]; then _exitward "$@"; else compdef _exitward exitward; fi
`,
  fish: `function __exitward_complete
    set -l words (commandline -opc)
    $words[1] complete -- $words[2..-1] (commandline -ct) 2> /dev/null
end
complete -c exitward -a '(__exitward_complete)'
`,
} as const;

export function addCompletion(program: Command, env: Environment): void {
  program
    .command('completion <shell>')
    .description('print the script by which a shell completes exitward: bash, zsh or fish')
    .addHelpText(
      'after',
      `
bash: source <(exitward completion bash)     in ~/.bashrc
zsh:  source <(exitward completion zsh)      in ~/.zshrc, after compinit
fish: exitward completion fish | source      in ~/.config/fish/config.fish`,
    )
    .action((shell: string) => {
      const script = scripts[shell as keyof typeof scripts];
      if (!script) throw new UsageFault('<shell>: expected one of bash, zsh, fish');
      print({ value: { shell, script }, parts: [{ text: script }] });
    });
  program
    .command('complete [words...]', { hidden: true })
    .action((words: string[]) => complete(program, words, env));
}

/** Prints candidates, and does not outlive that: a person waits at the Tab key. */
async function complete(program: Command, words: string[], env: Environment): Promise<void> {
  let isAway = false;
  const ask = asking(env, () => {
    isAway = true;
  });
  const found = await candidates(program, words, ask);
  // An end in good order would wait for a name server that does not answer.
  const end = () => void (isAway && process.kill(process.pid, 'SIGKILL'));
  process.stdout.write(found.map((word) => `${word}\n`).join(''), end);
}
