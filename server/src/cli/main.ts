// The command line `exitward`: nouns and verbs over the /admin API, and commands that run on this machine.
import { Command, CommanderError, Option } from 'commander';
import { usual_every_seconds, watch } from '../../../kit/src/cli/watch.ts';
import { terminalWidth, wrapped } from '../../../kit/src/cli/wrapped.ts';
import type { Environment } from '../../../kit/src/settings.ts';
import { SettingsFault } from '../../../kit/src/settings.ts';
import { version } from '../version.ts';
import { accountNoun, undoNoun } from './accounts.ts';
import { AdminApi } from './api.ts';
import { applyVerb } from './apply.ts';
import type { Noun, Verb } from './command.ts';
import { addCompletion } from './completion.ts';
import { contractNoun, portSchemeNoun } from './contracts.ts';
import { addDoctor } from './doctor.ts';
import { explainVerb } from './explain.ts';
import { Differs, Told, UsageFault } from './failures.ts';
import { geoNoun } from './geo.ts';
import { type Choice, Given } from './given.ts';
import { heldUsageNoun } from './held_usage.ts';
import { inventoryNoun } from './inventory.ts';
import { authlistNoun, overrideNoun } from './lists.ts';
import { addLocalCommands } from './local.ts';
import {
  auditVerb,
  historyVerb,
  maintenanceNoun,
  operatorTokenNoun,
  statusVerb,
  usageVerb,
} from './network.ts';
import { nodeNoun } from './nodes.ts';
import { notify, print, printDocument, screenOf } from './output.ts';
import { confirmed } from './question.ts';
import { exitNoun, serverNoun } from './servers.ts';
import { tokenNoun } from './tokens.ts';
import { userNoun } from './users.ts';
import { lifetime } from './values.ts';

/** Nouns and verbs over the API, as help groups them. */
const groups: Readonly<Record<string, ReadonlyArray<Noun | Verb>>> = {
  'The network at a glance': [statusVerb, usageVerb, historyVerb, auditVerb, explainVerb],
  'Accounts and their people': [accountNoun, contractNoun, userNoun, tokenNoun],
  'Lists of accounts': [authlistNoun, overrideNoun, undoNoun],
  'The whole network': [applyVerb],
  'Servers and nodes': [
    serverNoun,
    exitNoun,
    inventoryNoun,
    nodeNoun,
    heldUsageNoun,
    portSchemeNoun,
    geoNoun,
  ],
  'Who operates': [operatorTokenNoun, maintenanceNoun],
};
const onThisMachine = 'On this machine';

const hint = 'Add --help for what is expected.';
/** Below the commands, in --help and in the manual page. */
export const notes = `
Examples:
  exitward account create acme --plan small --expiry +1y --limit 500GB
  exitward node invite fra1
  exitward usage --account acme --by server

Commands talk to a running server:
  EXITWARD_ADMIN_URL         where it listens for operators (http://127.0.0.1:8081)
  EXITWARD_ADMIN_INSECURE    yes: send the token over plain http to another machine, too
  EXITWARD_ADMIN_TOKEN       an operator token; or
  EXITWARD_ADMIN_TOKEN_FILE  a file that holds it (admin-token in the data folder)
serve, migrate, backup, restore, keys and doctor work on this machine, with the settings of the server.

Sizes: 500GB, 1TiB or bytes. Times: epoch seconds, 2027-01-31, 2027-01-31T12:00Z or +30d, +1y; of the audit log also 2h, 7d ago.
Off a terminal, lists are tab-separated with plain numbers; --json prints what the server said.`;

/** Every command, from which parsing, help, the manual page and completions come. */
export function commandLine(env: Environment): Command {
  const program = new Command('exitward')
    .description('The control plane for proxy and VPN networks.')
    .version(version)
    .addHelpText('after', notes)
    .exitOverride()
    .configureOutput({
      outputError: (text) => notify(...faultText(text).split('\n')),
      // Commander's own lines are as long as they are; then all text is broken in one way.
      getOutHelpWidth: () => Number.POSITIVE_INFINITY,
      getErrHelpWidth: () => Number.POSITIVE_INFINITY,
      writeOut: (text) => process.stdout.write(wrapped(text, terminalWidth())),
      writeErr: (text) => process.stderr.write(wrapped(text, terminalWidth())),
    })
    .showHelpAfterError(hint);
  for (const [title, members] of Object.entries(groups)) {
    program.commandsGroup(`${title}:`);
    for (const one of members) {
      if ('usage' in one) addVerb(program, one, env);
      else addNoun(program, one, env);
    }
  }
  program.commandsGroup(`${onThisMachine}:`);
  addLocalCommands(program, env);
  addDoctor(program, env);
  addCompletion(program, env);
  program.helpCommand('help [command]', 'display help for command');
  return program;
}

/** Runs one command line and returns the exit code: 0 done, 1 failed, 2 not understood. */
export async function main(argv: readonly string[], env: Environment): Promise<number> {
  // The reader may stop early, as head does; that is no failure of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  try {
    await commandLine(env).parseAsync(argv);
    return 0;
  } catch (error) {
    return exitCodeOf(error);
  }
}

/** Commander's own sentence, less what may be a secret: the value of an unknown option, an argument too many. */
function faultText(text: string): string {
  return text
    .trimEnd()
    .replace(/^error: /, 'exitward: ')
    .replace(/(unknown option '[^'=]*)=.*'/s, "$1'")
    .replace(/(too many arguments).*/s, '$1');
}

function exitCodeOf(error: unknown): number {
  // Commander has printed its own: help and version end well, everything else is a usage fault.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof Told) return 1;
  if (error instanceof Differs) return 3;
  const message = `exitward: ${error instanceof Error ? error.message : String(error)}`;
  notify(...(error instanceof SettingsFault ? message.split('\n') : [message]));
  if (!(error instanceof UsageFault)) return 1;
  notify(hint);
  return 2;
}

function addNoun(program: Command, { name, summary, verbs }: Noun, env: Environment): void {
  const group = program.command(name).description(summary);
  for (const verb of verbs) addVerb(group, verb, env);
}

function addVerb(group: Command, verb: Verb, env: Environment): void {
  const { question, required = [], options = [], isAsked = () => true, list, examples } = verb;
  const command = group.command(verb.usage).description(verb.summary);
  for (const [flags, description] of required)
    command.addOption(new Option(flags, description).makeOptionMandatory());
  for (const [flags, description] of options) command.option(flags, description);
  if (question) command.option('-y, --yes', 'do it without being asked');
  if (list) {
    command.option('--wide', 'show all columns, also those that the terminal is too narrow for');
    command.option('--watch', 'look again and again, and draw in place, until Ctrl-C');
    command.option(everyChoice[0], everyChoice[1]);
  }
  command.option('--json', 'print what the server said, for programs');
  if (examples)
    command.addHelpText('after', `\nExamples:\n${examples.map((one) => `  ${one}`).join('\n')}`);
  command.action(async () => {
    const choices = [...required, ...options, ...(list ? [everyChoice] : [])];
    const given = new Given(command, choices);
    const api = new AdminApi(env);
    if (question && isAsked(given) && !given.has('yes')) {
      await confirmed(given.text(question), () => verb.extent?.(given, api));
    }
    if (given.has('watch')) await watchVerb(verb, given, api);
    const shown = await verb.run(given, api);
    if ('pieces' in shown) await printDocument(shown);
    else print(shown, given.has('json'), list && !given.has('wide') ? terminalWidth() : undefined);
  });
}

const everyChoice: Choice = [
  '--every <lifetime>',
  'with --watch: how often; 5s when omitted',
  undefined,
  lifetime,
];

/** Errors: a usage fault off a terminal, where nothing can be drawn in place. */
async function watchVerb(verb: Verb, given: Given, api: AdminApi): Promise<never> {
  if (!process.stdout.isTTY || given.has('json') || given.has('wide')) {
    throw new UsageFault('--watch: expected a terminal, without --json and --wide');
  }
  const every = (given.option('every') as number | undefined) ?? usual_every_seconds;
  if (every < 1 || every > 86_400) throw new UsageFault('--every: expected 1s to 1d');
  const render = async () => {
    const shown = await verb.run(given, api);
    return 'pieces' in shown ? '' : screenOf(shown, terminalWidth());
  };
  return watch(render, every);
}
