// The decider: Squid's helper process. Judges by the policy on disk, with or without an agent.
//   decider POLICY_FOLDER RULES_FILE AGENT_SOCKET
import { readFileSync, writeSync } from 'node:fs';
import { connect, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownAddresses, parseNetworks } from '../address.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { decide, type Rules } from '../policy/decide.ts';
import { LastUsedTimes } from '../policy/last_used.ts';
import type { Listener } from '../policy/policy.ts';
import { type Revoked, Sessions } from '../policy/sessions.ts';
import { Replica, type Touched } from '../store/replica.ts';
import { Census } from './census.ts';
import {
  type Asked,
  type FromDecider,
  type Questions,
  readLines,
  type ToDecider,
} from './decider_link.ts';
import { Judge } from './judge.ts';
import { listSockets } from './sockets.ts';

/** The rules as they are on disk. */
export interface RulesFile {
  rules: Omit<Rules, 'allowed' | 'own'>;
  /** As in the settings. */
  allowed: string;
  port_shift: number;
  on_revoke: Config['on_revoke'];
}

/** Without any policy requests are held so long, and refused then: one may be on its way. */
const held_seconds = 10;
const reconnect_milliseconds = 250;
const own_list_milliseconds = 60_000;
/** An agent that starts while Squid changes its decider is there by then. */
const leaving_milliseconds = 5000;
const own_addresses_milliseconds = 5000;

const [policyFolder = '', rulesFile = '', agentSocket = ''] = process.argv.slice(2);
const now = systemClock.now;
const replica = new Replica(policyFolder);
const sessions = new Sessions();
const census = new Census(sessions);
const uses = new LastUsedTimes();
let agent: Socket | undefined;
let toldListeners: ReadonlyMap<number, Listener> | undefined;
/** Squid has no more questions; and the agent was told all. */
let isLeaving = false;
let isParted = false;

let { on_revoke, ...judged } = readRules();
const judge = new Judge({ policy: () => replica.policy, census, uses, ...judged });

function readRules(): Pick<RulesFile, 'port_shift' | 'on_revoke'> & { rules: Rules } {
  const { rules, allowed, ...others } = JSON.parse(readFileSync(rulesFile, 'utf8')) as RulesFile;
  return { ...others, rules: { ...rules, allowed: parseNetworks(allowed), own: ownAddresses() } };
}

// ---- Squid --------------------------------------------------------------------------------

/** Answers what comes on standard input; what came in one piece is answered in one. */
function serveSquid(): void {
  let rest = '';
  const squid = new Socket({
    fd: 0,
    readable: true,
    writable: false,
    onread: {
      buffer: Buffer.allocUnsafe(65_536),
      callback(length, buffer) {
        const text = rest + (buffer as Buffer).toString('latin1', 0, length);
        const time = now();
        let answers = '';
        let from = 0;
        for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
          answers += judge.answer(text.slice(from, end), time);
          from = end + 1;
        }
        rest = text.slice(from);
        writeAll(answers);
        return true;
      },
    },
  });
  // Squid is gone, or has another decider by now.
  squid.on('close', leave);
  squid.on('error', leave);
  squid.resume();
}

const pause = new Int32Array(new SharedArrayBuffer(4));

/** Squid reads its answers as fast as it asks; when it does not, there is nothing else to do. */
function writeAll(text: string): void {
  for (let rest = text; rest !== ''; ) {
    try {
      rest = rest.slice(writeSync(1, rest, null, 'latin1'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') {
        leave();
        return;
      }
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}

/** What was let in lives on without this decider: it ends when the agent knows of all. */
function leave(): void {
  if (isLeaving) return;
  isLeaving = true;
  if (agent) part(agent);
  setTimeout(() => process.exit(0), leaving_milliseconds);
}

function part(socket: Socket): void {
  isParted = true;
  const opened: FromDecider = { opened: census.untold(), uses: uses.take() };
  // The agent closes when it has read it.
  socket.end(`${JSON.stringify(opened)}\n`);
}

// ---- The agent ----------------------------------------------------------------------------

/** Connects, for ever: the agent comes and goes. */
function serveAgent(): void {
  const socket = connect(agentSocket);
  socket.on('connect', () => {
    // The agent wrote them anew when it started.
    ({ on_revoke, ...judged } = readRules());
    Object.assign(judge, judged);
    agent = socket;
    toldListeners = undefined;
    census.restart();
    if (isLeaving) part(socket);
  });
  readLines(socket, (line) => hear(JSON.parse(line) as ToDecider));
  socket.on('error', () => {});
  socket.on('close', () => {
    agent = undefined;
    if (isParted) process.exit(0);
    setTimeout(serveAgent, reconnect_milliseconds);
  });
}

function hear(message: ToDecider): void {
  if ('opened' in message) {
    for (const [connection, authority] of message.opened) census.inherit(connection, authority);
  } else {
    const { id, ask } = message;
    answer(message).then(
      (value) => tell({ id, answer: value }),
      // Unanswered it is asked again, of a new decider.
      (error: Error) => process.stderr.write(`exitward decider: ${ask}: ${error.message}\n`),
    );
  }
}

async function answer({ ask, question }: Asked): Promise<Questions[keyof Questions]['answer']> {
  if (ask === 'catch_up') return catchUp();
  if (ask === 'take_list') return census.take(question);
  if (ask === 'take_uses') return uses.take(question);
  const verdict = decide(replica.policy, judge.rules, question, now());
  const { position } = replica;
  return position ? { verdict, position } : { verdict };
}

async function catchUp(): Promise<Questions['catch_up']['answer']> {
  const touched = await replica.catchUp();
  const { position, policy } = replica;
  const caughtUp: Questions['catch_up']['answer'] = { revoked: revoke(touched) };
  if (position) caughtUp.position = position;
  if (policy.listeners !== toldListeners) {
    toldListeners = policy.listeners;
    caughtUp.listeners = [...policy.listeners.values()];
  }
  return caughtUp;
}

/** What may no longer be, told until the kernel lists it no more: closing it may fail. */
function revoke(touched: Touched): Revoked[] {
  const accounts = touched === 'all' ? undefined : touched;
  const revoked = [...sessions.revoked(replica.policy, judge.rules, now(), accounts)];
  // What may go on is told once.
  if (on_revoke === 'leave') for (const { connection } of revoked) sessions.close(connection);
  return revoked;
}

function tell(message: FromDecider): void {
  if (!isParted) agent?.write(`${JSON.stringify(message)}\n`);
}

/** With the agent away nobody says what is over, and what was let in must not pile up for ever. */
async function takeOwnList(): Promise<void> {
  if (agent || sessions.size === 0) return;
  const ports = Array.from(replica.policy.listeners.keys(), (port) => port + judge.port_shift);
  const sockets = await listSockets(ports);
  if (agent) return;
  census.takeWhole(sockets.map(({ connection }) => connection));
}

// ---- Together -----------------------------------------------------------------------------

const complain = (error: Error) => process.stderr.write(`exitward decider: ${error.message}\n`);

for (let waited = 0; !replica.position && waited < held_seconds; waited += 0.2) {
  if (waited > 0) await sleep(200);
  await replica.load().catch(complain);
}
serveSquid();
serveAgent();
setInterval(() => {
  const revoked = agent ? revoke('all') : [];
  if (revoked.length > 0) tell({ revoked });
}, 1000);
setInterval(() => {
  judge.rules = { ...judge.rules, own: ownAddresses() };
}, own_addresses_milliseconds);
setInterval(() => takeOwnList().catch(complain), own_list_milliseconds);
