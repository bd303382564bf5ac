// The decider, Squid's helper process: decides requests by the policy on disk, with or without an
// agent.
//   main POLICY_FOLDER RULES_FILE AGENT_SOCKET
import { readFileSync, writeSync } from 'node:fs';
import { connect, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseNetworks } from '../../../../kit/src/address.ts';
import { ownedBy } from '../../../../kit/src/owner.ts';
import { ownAddresses } from '../../address.ts';
import { systemClock } from '../../clock.ts';
import { decideWithin, isDrained } from '../../policy/decide.ts';
import type { Authority, Rules } from '../../policy/decision.ts';
import { type DecisionCounts, DecisionTally } from '../../policy/decision_tally.ts';
import { LastUsedTimes } from '../../policy/last_used.ts';
import type { Listener } from '../../policy/policy.ts';
import { type Refusal, Refusals } from '../../policy/refusals.ts';
import { type Revoked, Sessions } from '../../policy/sessions.ts';
import { Replica, type Touched } from '../../store/replica.ts';
import { Unstored } from '../../store/unstored.ts';
import { leaseSeconds, UserCounts } from '../../user_counts.ts';
import {
  type FromDecider,
  type Inquiry,
  type Questions,
  type RulesFile,
  readLines,
  type ToDecider,
  writeLine,
} from '../protocol.ts';
import { type Socket as ClientSocket, listSockets } from '../sockets.ts';
import { Census } from './census.ts';
import { Connections } from './connections.ts';
import { Evaluator } from './evaluator.ts';
import { LeftOpen } from './left_open.ts';

/**
 * Without a policy, requests are rejected after this long: a policy may be on its way.
 */
const heldSeconds = 10;
const reconnectMs = 250;
const ownListMs = 60_000;
/** A leaving decider waits this long for an agent, which may be starting. */
const leavingMs = 5000;
const ownAddressesMs = 5000;
/** Nothing is decided while refusals are written, so those of a flood take several seconds. */
const maxRefusalsAtOnce = 2000;
/** How often the policy's records are counted, which is slow with very many accounts. */
const policySizeMs = 5000;

const [policyFolder = '', rulesFile = '', agentSocket = ''] = process.argv.slice(2);
const now = systemClock.now;
/** As the agent sent them. */
const unstored = new Unstored();
const replica = new Replica(policyFolder, unstored);
const sessions = new Sessions();
const users = new UserCounts(() => replica.policy);
const connections = new Connections(sessions, (connection) => census.close(connection));
const uses = new LastUsedTimes();
const refusals = new Refusals();
const decisions = new DecisionTally();
const leftOpen = new LeftOpen();
const own = ownedBy((error) => logError(error as Error));
let agent: Socket | undefined;
/** The position whose size was sent to the agent. */
let sentSize: unknown;
let toldListeners: ReadonlyMap<number, Listener> | undefined;
/** Ends what the agent last said of other nodes, if it is gone. */
let lease: NodeJS.Timeout | undefined;
/** Squid has no more questions; the agent has received everything. */
let isLeaving = false;
let isParted = false;

let { on_revoke, listen_host, caps, ...settings } = readRules();
const census = new Census({
  list: listSocketsOfClients,
  users,
  onListed: own(() => sendRevoked(reportOf(census.excess(now())))),
  onError: logError,
});
census.caps = caps;
const evaluator = new Evaluator({
  policy: () => replica.policy,
  connections,
  census,
  uses,
  refusals,
  decisions,
  ...settings,
});

function readRules(): Omit<RulesFile, 'rules' | 'allowed'> & { rules: Rules } {
  const { rules, allowed, ...others } = JSON.parse(readFileSync(rulesFile, 'utf8')) as RulesFile;
  return {
    ...others,
    rules: { ...rules, allowed: parseNetworks(allowed), own_addresses: ownAddresses() },
  };
}

// ---- Squid --------------------------------------------------------------------------------

/** Responds to lines on standard input. The responses to the lines of one piece are one write. */
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
        const start = performance.now();
        let responses = '';
        let decided = 0;
        let from = 0;
        for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
          const line = text.slice(from, end);
          decided += 1;
          responses += responseTo(line, time, (when) => {
            decided -= 1;
            void respondLater(line, when, start);
          });
          from = end + 1;
        }
        rest = text.slice(from);
        writeAll(responses);
        decisions.noteTime((performance.now() - start) / 1000, decided);
        return true;
      },
    },
  });
  // Squid is gone, or has another decider.
  squid.on('close', leave);
  squid.on('error', leave);
  squid.resume();
}

/** If a decision fails, Squid rejects only that request. */
function responseTo(...[line, ...others]: Parameters<typeof evaluator.respond>): string {
  try {
    return evaluator.respond(line, ...others);
  } catch (error) {
    logError(error as Error);
    return `${line.split(' ', 1)[0]} BH\n`;
  }
}

/** Never rejects: the census reports a failed list. */
async function respondLater(line: string, when: Promise<void>, start: number): Promise<void> {
  await when;
  writeAll(responseTo(line, now()));
  decisions.noteTime((performance.now() - start) / 1000);
}

const pause = new Int32Array(new SharedArrayBuffer(4));

/** Waits while Squid does not read, since there is nothing else to do then. */
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

/** Ends this decider once the agent knows all its connections, which continue without it. */
function leave(): void {
  if (isLeaving) return;
  isLeaving = true;
  if (agent) part(agent);
  setTimeout(
    own(() => process.exit(0)),
    leavingMs,
  );
}

function part(socket: Socket): void {
  isParted = true;
  writeLine(socket, {
    opened: connections.unreported(),
    uses: uses.take(),
    ...newDecisions(Number.POSITIVE_INFINITY),
  });
  // The agent closes the connection once it has read everything.
  socket.end();
}

// ---- The agent ----------------------------------------------------------------------------

/** Connects to the agent, again and again, since agents restart. */
function serveAgent(): void {
  const socket = connect(agentSocket);
  const ownOfAgent = ownedBy((error) => {
    logError(error as Error);
    socket.destroy();
  });
  const greet = () => {
    // Each agent writes the rules when it starts.
    ({ on_revoke, listen_host, caps, ...settings } = readRules());
    census.caps = caps;
    Object.assign(evaluator, settings);
    agent = socket;
    clearTimeout(lease);
    lease = undefined;
    toldListeners = undefined;
    sentSize = undefined;
    sentHeld = '[]';
    // The new agent sends all changes that it holds. Those of an earlier agent are applied, and
    // must not be applied again on top of a newer policy.
    unstored.clear();
    connections.restart();
    if (isLeaving) part(socket);
  };
  socket.on('connect', ownOfAgent(greet));
  readLines(socket, (line) => receive(JSON.parse(line) as ToDecider));
  socket.on('error', () => {});
  const away = () => {
    agent = undefined;
    if (isParted) process.exit(0);
    lease ??= setTimeout(
      own(() => users.share([])),
      leaseSeconds * 1000,
    );
    setTimeout(own(serveAgent), reconnectMs);
  };
  socket.on('close', own(away));
}

function receive(message: ToDecider): void {
  if ('opened' in message) {
    for (const [connection, authority] of message.opened) {
      connections.inherit(connection, authority);
    }
    census.inherit(message.opened);
  } else if ('elsewhere' in message) {
    users.share(message.elsewhere);
    for (const [connection, at] of message.moved) users.moved(connection, at);
  } else if ('unstored' in message) {
    for (const change of message.unstored) unstored.add(change);
    replica.catchUp().then((touched) => sendRevoked(follow(touched)), logError);
  } else {
    const { id, ask } = message;
    respond(message).then(
      (answer) => send({ id, answer }),
      // The agent gets no response, and asks a new decider.
      (error: Error) => logError(new Error(`${ask}: ${error.message}`)),
    );
  }
}

async function respond({
  ask,
  question,
}: Inquiry): Promise<Questions[keyof Questions]['response']> {
  if (ask === 'catch_up') return catchUp();
  if (ask === 'take_list') return connections.take(question);
  if (ask === 'take_uses') return uses.take(question);
  if (ask === 'owners') return [...sessions.all(question.account)];
  const objectionTo = (source: string, authority: Authority) =>
    census.objectionTo(source, authority, now());
  const explain = () => decideWithin(objectionTo, replica.policy, evaluator.rules, question, now());
  let verdict = explain();
  if (verdict.verdict === 'deny' && verdict.reason === 'too_many_connections') {
    await census.nextList();
    verdict = explain();
  }
  const { position } = replica;
  return position ? { verdict, position } : { verdict };
}

async function catchUp(): Promise<Questions['catch_up']['response']> {
  const touched = await replica.catchUp();
  const { position, policy, read } = replica;
  if (read) unstored.dropUntil(read);
  const drained = isDrained(policy, evaluator.rules);
  const caughtUp: Questions['catch_up']['response'] = { revoked: follow(touched), drained };
  if (position) caughtUp.position = position;
  if (policy.listeners !== toldListeners) {
    toldListeners = policy.listeners;
    caughtUp.listeners = [...policy.listeners.values()];
  }
  return caughtUp;
}

/** After a change: connections count from the moment that their user has a limit. */
function follow(touched: Touched): Revoked[] {
  census.follow(touched === 'all' ? sessions.all() : sessions.of(touched));
  return reportOf(revoked(touched));
}

/** The connections that are no longer allowed. */
function revoked(touched: Touched): Revoked[] {
  const accounts = touched === 'all' ? undefined : touched;
  const time = now();
  return [
    ...sessions.revoked(replica.policy, evaluator.rules, time, accounts),
    ...census.excess(time),
  ];
}

/** Revoked connections are reported until the kernel has closed them, which may fail. */
function reportOf(revoked: Revoked[]): Revoked[] {
  return on_revoke === 'leave' ? leftOpen.unreported(revoked) : revoked;
}

/** Checks all connections, since expiries pass without a change. */
function reportRevoked(): void {
  const all = revoked('all');
  sendRevoked(reportOf(all), leftOpen.takeOver(on_revoke === 'leave' ? all : []));
}

function sendRevoked(revoked: Revoked[], over = 0): void {
  if (revoked.length > 0 || over > 0) send({ revoked, ...(over > 0 && { over }) });
}

function sendDecisions(): void {
  const message = newDecisions(maxRefusalsAtOnce);
  if (message.decided || message.refused) send(message);
}

function newDecisions(maxRefusals: number): { decided?: DecisionCounts; refused?: Refusal[] } {
  const decided = decisions.take();
  const refused = refusals.take(maxRefusals);
  return { ...(decided && { decided }), ...(refused.length > 0 && { refused }) };
}

/** The holdings that were sent last. */
let sentHeld = '[]';

function sendHeld(): void {
  const held = users.held(now());
  const text = JSON.stringify(held);
  if (text === sentHeld) return;
  sentHeld = text;
  send({ held });
}

function sendSize(): void {
  const { position, policy } = replica;
  if (!position || sentSize === position) return;
  sentSize = position;
  send({ policy: policy.size });
}

function send(message: FromDecider): void {
  if (agent && !isParted) writeLine(agent, message);
}

/** Makes a list while there is no agent, so that connections do not accumulate. */
async function takeOwnList(): Promise<void> {
  if (agent || sessions.size === 0) return;
  const open = await listOpen();
  if (!agent) connections.takeWhole(open);
}

/** The client connections that the kernel lists. */
async function listOpen(): Promise<string[]> {
  return (await listSocketsOfClients()).map(({ connection }) => connection);
}

function listSocketsOfClients(): Promise<ClientSocket[]> {
  const ports = Array.from(replica.policy.listeners.keys(), (port) => port + evaluator.port_shift);
  return listSockets(ports, listen_host);
}

// ---- Together -----------------------------------------------------------------------------

function logError(error: Error): void {
  process.stderr.write(`exitward decider: ${error.message}\n`);
}

/**
 * Repeats work that may fail, for example without a free descriptor: the next time it may succeed.
 */
function every(milliseconds: number, work: () => unknown): void {
  setInterval(own(work), milliseconds);
}

for (let waited = 0; !replica.position && waited < heldSeconds; waited += 0.2) {
  if (waited > 0) await sleep(200);
  await replica.load().catch(logError);
}
serveSquid();
serveAgent();
every(1000, () => {
  if (!agent) return;
  reportRevoked();
  sendDecisions();
  sendHeld();
});
every(policySizeMs, () => {
  if (agent) sendSize();
});
every(ownAddressesMs, () => {
  const { rules } = evaluator;
  evaluator.rules = { ...rules, own_addresses: ownAddresses(rules.own_addresses) };
});
every(ownListMs, takeOwnList);
