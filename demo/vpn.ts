// `npm run demo:vpn`: a client with strongSwan leaves by a node of a network, all of them in
// network namespaces; each step is printed.
import { client, exit, hostname, ipsec, Machines, origin, until } from './vpn_machines.ts';
import { findNeeds } from './vpn_needs.ts';

const needs = findNeeds();
if (needs) {
  console.error(needs);
  process.exit(1);
}

const machines = new Machines();
// Ctrl-C and a failure in the middle leave nothing behind, either.
const stopped = new Promise<Error>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => resolve(new Error(`it was ended by ${signal}`)));
});
const fault = await Promise.race([show().catch((error: Error) => error), stopped]);
await machines.remove();
say('\nThe machines, their processes and files are removed.');
if (fault) console.error(`The demo of the VPN did not come to its end: ${fault.message}.`);
process.exit(fault ? 1 : 0);

async function show(): Promise<undefined> {
  say(`Three machines in network namespaces. The network of this machine is left alone.

  client ${client}  ---  node, exit ${exit}  ---  origin ${origin}`);
  await machines.start();

  step('The operator makes a server with a VPN, an account and its user');
  const place = '--title Demo --city Geneva --country CH --latitude 46.2 --longitude 6.1';
  await exitward(`server add here --hostname ${hostname} ${place} --services vpn-ikev2`);
  await exitward(`exit add here ${exit} --port-base 1`);
  const account = await exitward('account create acme --plan Team --expiry +1y --limit 10GB');
  const [token] = /ewa_\S+/.exec(account) ?? [];
  await exitward('contract add acme here');
  await exitward('user add acme alice --flags proxy');

  step('A machine becomes its node');
  const [code = ''] = /ewi_\S+/.exec(await exitward('node invite here')) ?? [];
  typed('exitward-agent join http://127.0.0.1:8080 ewi_... && exitward-agent run');
  await machines.startNode(code);
  const sealer = ipsec === 'kernel' ? 'the kernel' : 'charon, as this kernel has no ESP';
  say(`  The node offers vpn-ikev2 at ${exit}. Packets are sealed by ${sealer}.`);

  step('alice gets a profile for strongSwan, and logs in');
  await machines.startClient(
    await exitward('user vpn-profile acme alice here --format strongswan'),
  );
  typed('swanctl --load-all; swanctl --initiate --child exitward-here');
  if (!(await machines.isLetIn())) throw new Error('the login is refused');
  const [, address] = /\[((?:\d+\.){3}\d+)\]/.exec(await machines.swanctl('--list-sas')) ?? [];
  say(`  The tunnel is up. alice's address inside is ${address}.`);

  step('alice visits the origin through the tunnel');
  const { text: seen } = await machines.ask('client', `http://${origin}/`);
  say(`  The origin sees ${seen}${seen === exit ? ', the exit' : ''}.`);
  const { size } = await machines.ask('client', `http://${origin}/bytes`);
  const contract = ['http://127.0.0.1:8080/v0/contract', 'GET', basic(`:${token}`)];
  let usage = 0;
  await until('usage is billed', async () => {
    const { text } = await machines.ask('node', ...contract);
    usage = JSON.parse(text).period.usage;
    return usage > size;
  });
  say(`  It sends ${size} bytes. /v0/contract bills acme ${usage}, which is with the headers.`);

  step("The operator raises alice's token version, which ends her VPN passwords");
  const page = await machines.watch();
  typed('curl -X POST http://127.0.0.1:8081/admin/accounts/acme/users/alice/token_version');
  const raised = await machines.raiseTokenVersion('acme', 'alice');
  const dead_milliseconds = Math.max(0, (await page.ended) - raised.at);
  say(
    `  The tunnel was dead ${dead_milliseconds} ms after the answer: the page that alice was loading stands still.`,
  );
  await until('the client hears of it', async () => (await machines.swanctl('--list-sas')) === '');
  say('  the tunnel of alice is closed.');
  say(
    `  A new login by the same profile is ${(await machines.isLetIn()) ? 'allowed' : 'refused'}.`,
  );
}

/** The command line, which is printed as it is typed. */
function exitward(words: string): Promise<string> {
  typed(`exitward ${words}`);
  return machines.exitward(...words.split(' '));
}

function step(title: string): void {
  say(`\n${title}:`);
}

function typed(command: string): void {
  say(`  $ ${command}`);
}

function say(text: string): void {
  console.log(text);
}

function basic(credentials: string): string {
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}
