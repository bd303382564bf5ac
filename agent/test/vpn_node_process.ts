// A process with a node with a VPN, which a test starts in a network namespace, asks line by line,
// and may kill.
import { mkdirSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pino from 'pino';
import type { EndOrder, UseQuestion } from '../../kit/src/node_interface.ts';
import { systemClock } from '../src/clock.ts';
import { readConfig } from '../src/config.ts';
import { ConnectionLog, connectionLogFolder } from '../src/connection_log/connection_log.ts';
import type { Engine } from '../src/engine.ts';
import { VpnHealth } from '../src/health/vpn_health.ts';
import { loginOf } from '../src/link/questions.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { startEngine } from '../src/start_engine.ts';
import { Store } from '../src/store/store.ts';
import { Journal } from '../src/usage/journal.ts';
import { Meter } from '../src/usage/meter.ts';
import type { Elsewhere } from '../src/user_counts.ts';

export type Question =
  | { do: 'replace' | 'apply'; records: NodeRecord[]; revision: number }
  | { do: 'tick' | 'faults' | 'counts' | 'connections' | 'refusals' | 'health' }
  | { do: 'share'; elsewhere: Elsewhere[] }
  | { do: 'end'; order: EndOrder }
  | { do: 'find'; question: UseQuestion }
  | {
      do: 'explain';
      service: 'vpn-ikev2' | 'vpn-ikev1';
      login: string;
      exit_ip: string;
      from?: string;
    }
  | { do: 'stop'; leave_running: boolean };

const [, , state_dir = ''] = process.argv;
mkdirSync(state_dir, { recursive: true, mode: 0o700 });
const config = readConfig({ ...process.env, EXITWARD_AGENT_STATE_DIR: state_dir });
const log = pino({ level: 'info' }, pino.destination(join(state_dir, 'agent.log')));
const clock = systemClock;
const dir = join(state_dir, 'policy');
const { connect_ports, http_ports, allowed, staleness_seconds } = config;
const rules = { node: 7, connect_ports, http_ports, allowed, staleness_seconds };

const store = await Store.open(dir);
const engine: Engine = await startEngine({
  ...{ config, rules, dir, clock, log },
  unstored: store.unstored,
});
const journal = await Journal.open(join(state_dir, 'usage'), { log });
const connectionLog = new ConnectionLog({
  ...{ dir: connectionLogFolder(state_dir), settings: config.connection_log, engine, clock, log },
});
const health = new VpnHealth({ offer: () => engine.vpn?.(), clock, log });
const meter = new Meter({ engine, journal, clock, log, poll_seconds: 1 });

async function answer(question: Question): Promise<unknown> {
  switch (question.do) {
    case 'replace': {
      const position = { epoch: 'e1', revision: question.revision };
      const lines = [
        { kind: 'snapshot', ...position },
        ...question.records,
        { kind: 'end', records: question.records.length },
      ];
      const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
      await store.replace(bytesOf(text), clock.now());
      return engine.catchUp();
    }
    case 'apply':
      store.append(question.revision, clock.now(), question.records);
      return engine.catchUp();
    case 'tick':
      return meter.tick();
    case 'faults':
      return engine.faults();
    case 'counts':
      return engine.counts();
    case 'connections':
      return [...engine.connections()];
    case 'refusals':
      return engine.takeRefusals();
    case 'share':
      return engine.share(question.elsewhere);
    case 'end':
      return engine.end(question.order);
    case 'find':
      return (await connectionLog.find(question.question)).uses;
    case 'health':
      await health.check(new AbortController().signal);
      return { ...health.report(), faults: health.faults() };
    case 'explain': {
      return engine.explain(loginOf(question));
    }
    case 'stop': {
      await engine.stop({ leave_running: question.leave_running });
      const rows = await meter.tick();
      await journal.close();
      await store.close();
      return rows;
    }
  }
}

async function* bytesOf(text: string) {
  yield Buffer.from(text);
}

process.stdout.write('"ready"\n');
// Tests kill it.
flushCompileCache();
for await (const line of createInterface({ input: process.stdin })) {
  const question = JSON.parse(line) as Question;
  const response = await answer(question).catch((error: Error) => ({ error: error.stack }));
  process.stdout.write(`${JSON.stringify(response ?? null)}\n`);
  if (question.do === 'stop') process.exit(0);
}
