// An agent after a power cut: its identity, Squid's configuration, the policy and the usage that it
// had said to keep.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { pino } from 'pino';
import { journalPath, policyFolder, readIdentity } from '../../agent/src/identity.ts';
import { Store } from '../../agent/src/store/store.ts';
import { Journal } from '../../agent/src/usage/journal.ts';
import { storeCallsIn, story } from '../../agent/test/crash_process.ts';
import { readStored, stateAfter } from '../../agent/test/stored.ts';
import { type AgentMark, confIn, confOf, stateIn } from './agent_life.ts';

const changes = storeCallsIn(story);

/** The faults of what a cut has left below `folder`, a sentence each. */
export async function agentFaults(folder: string, marks: AgentMark[]): Promise<string[]> {
  const last = lastIn(marks);
  const faults = fileFaults(folder, last);
  const state_dir = stateIn(folder);
  if (last('joined') < 2) return faults;
  // The identity is there: so is its folder.
  mkdirSync(state_dir, { recursive: true });
  faults.push(...(await policyFaults(policyFolder(state_dir), last)));
  faults.push(...(await usageFaults(journalPath(state_dir), marks)));
  return faults;
}

type Last = (kind: string) => number;

/** The last number that was marked so; 0 before the first. */
function lastIn(marks: AgentMark[]): Last {
  return (kind) => {
    const mark = marks.findLast((mark) => kind in mark) as Record<string, number> | undefined;
    return mark?.[kind] ?? 0;
  };
}

/**
 * Files that are whole, and of a version from the last one that was written to the one that was
 * being written.
 */
function fileFaults(folder: string, last: Last): string[] {
  const path = confIn(folder);
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const conf = [0, 1, 2, 3].find((version) => text === (version === 0 ? '' : confOf(version)));
  let token = 0;
  const faults: string[] = [];
  try {
    token = Number(readIdentity(stateIn(folder)).token.slice('ewn_'.length));
  } catch (error) {
    const { message } = error as Error;
    if (!message.includes('has not joined')) faults.push(message);
  }
  for (const [what, state, from, to] of [
    ['the configuration', conf, last('configured'), last('configuring')],
    ['the identity', token, last('joined'), last('joining')],
  ] as const) {
    if (state === undefined || state < from || state > to) {
      faults.push(`${what} is ${state}, expected ${from} to ${to}`);
    }
  }
  return faults;
}

async function policyFaults(dir: string, last: Last): Promise<string[]> {
  const faults: string[] = [];
  const store = await Store.open(dir, { onFault: (error) => faults.push(error.message) });
  const { position } = store;
  await store.close();
  const { state } = await readStored(dir);
  const [least, max] = [last('durable'), Math.max(last('telling'), last('durable'))];
  const lengths = Array.from({ length: max - least + 1 }, (_, more) => least + more);
  const isSo = lengths.some(
    (length) =>
      JSON.stringify(positionAfter(length)) === JSON.stringify(position) &&
      (length === 0 ||
        JSON.stringify(stateAfter(changes.slice(0, length))) === JSON.stringify(state)),
  );
  if (!isSo) faults.push(`the policy is at ${JSON.stringify(position)}, told ${least} to ${max}`);
  return faults;
}

function positionAfter(length: number): unknown {
  const before = changes.slice(0, length);
  const begun = before.findLast((change) => 'replaced' in change)?.replaced;
  const end = before.at(-1);
  return begun && end && 'revision' in end ? { epoch: begun.epoch, revision: end.revision } : begun;
}

async function usageFaults(path: string, marks: AgentMark[]): Promise<string[]> {
  const log = pino({ level: 'silent' });
  const journal = await Journal.open(path, { log }).catch((error: Error) => error);
  if (journal instanceof Error) return [journal.message];
  const faults: string[] = [];
  const pending = journal.pending().map(({ account }) => account);
  const batches = new Map(
    marks.flatMap((mark) => ('batch' in mark ? [[mark.batch, mark.accounts]] : [])),
  );
  const accountsOf = (kind: 'acknowledging' | 'acknowledged') =>
    new Set(
      marks.flatMap((mark) =>
        kind in mark ? (batches.get((mark as Record<string, string>)[kind] ?? '') ?? []) : [],
      ),
    );
  const [maybe, surely] = [accountsOf('acknowledging'), accountsOf('acknowledged')];
  const ticked = new Set(marks.flatMap((mark) => ('ticked' in mark ? [mark.ticked] : [])));
  for (let account = 1; account <= lastIn(marks)('ticking'); account += 1) {
    const times = pending.filter((candidate) => candidate === account).length;
    const least = ticked.has(account) && !maybe.has(account) ? 1 : 0;
    const max = surely.has(account) ? 0 : 1;
    if (times < least || times > max) faults.push(`tick ${account} is pending ${times} times`);
  }
  // One that was handed out, and not acknowledged, may have been taken: its name stands for the
  // same rows.
  const batch = await journal.next();
  const name = batch && `${batch.boot} ${batch.seq}`;
  const accounts = name === undefined ? undefined : batches.get(name);
  if (
    accounts &&
    JSON.stringify(accounts) !== JSON.stringify(batch?.rows.map(({ account }) => account))
  ) {
    faults.push(`batch ${name} has other rows than before`);
  }
  await journal.close();
  return faults;
}
