// A server after a power cut: it starts, has all that it answered before, and nothing that
// contradicts itself.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { TestClient } from '../../server/test/client.ts';
import { contradictions } from '../../server/test/contradictions.ts';
import { type Asked, headersOf, type ServerMark, startIn } from './server_life.ts';

/** The faults of what a cut has left below `folder`, a sentence each. */
export async function serverFaults(folder: string, marks: ServerMark[]): Promise<string[]> {
  const running = await startIn(folder).catch((error: Error) => error);
  if (running instanceof Error) return [`it does not start: ${running.message}`];
  const faults: string[] = [];
  try {
    const { db, config } = running.ctx;
    faults.push(...(await contradictions(db)));
    const [check] = await db.all<{ integrity_check: string }>('pragma integrity_check');
    if (check?.integrity_check !== 'ok') faults.push(`${check?.integrity_check}`);
    const token = readFileSync(config.admin_token_file, 'utf8').trim();
    const operator = new TestClient(`${running.admin_url}/admin`, {
      authorization: `Bearer ${token}`,
    });
    const { status } = await operator.get('/accounts');
    if (status !== 200) faults.push(`the operator's token: ${status}`);
    const account = marks.find((mark) => 'account' in mark)?.account;
    if (account !== undefined) {
      const client = new TestClient(`${running.base_url}/v0/contract`, headersOf(account));
      faults.push(...(await entryFaults(client, marks)));
    }
  } finally {
    await running.stop();
  }
  const backup = marks.find((mark) => 'backup' in mark)?.backup;
  if (backup !== undefined) faults.push(...backupFaults(join(folder, backup)));
  return faults;
}

async function entryFaults(client: TestClient, marks: ServerMark[]): Promise<string[]> {
  const there = new Map<string, number>();
  for (const list of ['ip-authlist', 'overrides'] as const) {
    const { status, text, body } = await client.get(`/${list}`);
    if (status !== 200) return [`${list}: ${status} ${text}`];
    for (const { ip, hostname, expiry } of body) there.set(hostname ?? ip, expiry);
  }
  const faults: string[] = [];
  for (const [name, allowed] of allowedOf(marks)) {
    const stored = there.get(name) ?? null;
    if (!allowed.includes(stored))
      faults.push(`${name} is ${stored}, expected ${allowed.join(' or ')}`);
    there.delete(name);
  }
  for (const name of there.keys()) faults.push(`${name} is there, and was not asked for`);
  return faults;
}

/**
 * Of each entry the expiries that it may have: the last one answered, and one that was on its way.
 */
function allowedOf(marks: ServerMark[]): Map<string, Array<number | null>> {
  const requests = new Map<number, Asked>();
  const allowed = new Map<string, Array<number | null>>();
  for (const mark of marks) {
    if ('asked' in mark) {
      const { name, expiry } = mark.write;
      requests.set(mark.asked, mark.write);
      allowed.set(name, [...(allowed.get(name) ?? [null]), expiry]);
    } else if ('answered' in mark) {
      const { name, expiry } = requests.get(mark.answered) as Asked;
      allowed.set(name, [expiry]);
    }
  }
  return allowed;
}

function backupFaults(file: string): string[] {
  try {
    const db = new DatabaseSync(file, { readOnly: true });
    const check = db.prepare('pragma integrity_check').get()?.integrity_check;
    db.close();
    return check === 'ok' ? [] : [`the backup: ${check}`];
  } catch (error) {
    return [`the backup: ${(error as Error).message}`];
  }
}
