// A server's lives on one disk, recorded: a first start, several clients that write at once,
// deaths, a disk that fails, a backup, a restart.
import { openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Environment } from '../../kit/src/settings.ts';
import { isStorageFault } from '../../server/src/db/faults.ts';
import { type Running, serve } from '../../server/src/main.ts';
import { TestClient } from '../../server/test/client.ts';
import { Random } from '../../server/test/random.ts';
import { marks } from './trace.ts';

/** A client's write, from before it was sent; an expiry of null takes the entry off. */
export interface Asked {
  list: 'ip-authlist' | 'overrides';
  name: string;
  expiry: number | null;
}
export type ServerMark =
  | { started: true }
  | { account: string }
  | { asked: number; write: Asked }
  | { answered: number }
  | { backup: string };

/** The Authorization header of an account's client. */
export const headersOf = (api_token: string) => ({
  authorization: `Basic ${Buffer.from(`:${api_token}`).toString('base64')}`,
});

/** Later than any run of the tests ends. */
const soon = Math.floor(Date.now() / 1000) + 1_000_000;
const rounds = 60;
const clients = 4;
const seed = Number(process.env.POWERCUT_SEED);

/**
 * It is killed while it writes; it dies of a disk that fails for its log, which it saw; and lives
 * on with another failure, of the log or the database, and through a stop, until the power fails.
 */
export function serverLives(random: Random): NodeJS.ProcessEnv[] {
  const failing = (from: number, to: number) => ({
    POWERCUT_FAIL_NAME: '-wal',
    POWERCUT_FAIL_AT: String(random.between(from, to)),
  });
  const failingDatabase = () => ({
    POWERCUT_FAIL_NAME: 'exitward.db',
    POWERCUT_FAIL_AT: String(random.between(1, 3)),
  });
  return [
    { POWERCUT_DIES_AT: String(random.between(clients * 5, clients * (rounds - 5))) },
    { ...failing(5, rounds), POWERCUT_DIES: 'of its disk' },
    random.next() < 0.3 ? failingDatabase() : failing(5, 2 * rounds),
  ].map((life, number) => ({
    ...life,
    POWERCUT_LIFE: String(number),
    POWERCUT_SEED: String(random.between(1, 2 ** 30)),
  }));
}

export const settingsIn = (folder: string): Environment => ({
  // Two folders that are not there yet: the server makes them.
  EXITWARD_DATA_DIR: join(folder, 'made', 'data'),
  EXITWARD_LISTEN: '127.0.0.1:0',
  EXITWARD_ADMIN_LISTEN: '127.0.0.1:0',
  EXITWARD_METRICS_LISTEN: '127.0.0.1:0',
});

export const startIn = (folder: string): Promise<Running> =>
  serve(settingsIn(folder), { jobs: false, log: pino({ level: 'silent' }) });

async function live(folder: string, number: number): Promise<void> {
  const file = openSync(join(folder, marks), 'a');
  const mark = (mark: ServerMark) => writeSync(file, `${JSON.stringify(mark)}\n`);
  const die = () => process.kill(process.pid, 'SIGKILL');
  const { POWERCUT_DIES: dies, POWERCUT_DIES_AT: dies_at } = process.env;
  let running = await startIn(folder);
  mark({ started: true });
  const api_token = number === 0 ? await setUp(running, mark) : accountIn(folder);

  const perLife = 10_000;
  let lastId = number * perLife;
  let answered = 0;
  const run = async (of: number, random: Random) => {
    const client = new TestClient(`${running.base_url}/v0/contract`, headersOf(api_token));
    const own = new Map<string, Asked & { id: number }>();
    const write = async ({ list, name, expiry }: Asked, entry?: { id: number }) => {
      if (entry && expiry === null) {
        await must(client.delete(`/${list}/${entry.id}`));
        own.delete(name);
      } else if (entry) {
        await must(client.patch(`/${list}/${entry.id}`, { expiry }));
      } else {
        const body =
          list === 'overrides'
            ? { server: 'fra1', hostname: name, ip: '192.0.2.1', expiry }
            : { ip: name, user: 'alice', expiry };
        own.set(name, { list, name, expiry, id: (await must(client.post(`/${list}`, body))).id });
      }
    };
    for (let round = 0; round < rounds; round += 1) {
      const entry = own.size > 0 && random.next() < 0.5 ? random.one([...own.values()]) : undefined;
      const list = entry?.list ?? random.one(['ip-authlist', 'overrides'] as const);
      const fresh = list === 'overrides' ? `n${round}.c${of}.example` : `10.0.${of}.${round}`;
      const name = entry?.name ?? fresh;
      const expiry = entry && random.next() < 0.4 ? null : soon + round;
      const id = ++lastId;
      mark({ asked: id, write: { list, name, expiry } });
      try {
        await write({ list, name, expiry }, entry);
      } catch (error) {
        if (!/^503 /.test((error as Error).message)) throw error;
        if (dies) die();
        // It may have been written, or not, and is left alone.
        own.delete(name);
        continue;
      }
      mark({ answered: id });
      answered += 1;
      if (answered === Number(dies_at)) die();
    }
  };
  const random = new Random(seed);
  const runAll = (first: number) =>
    Promise.all(Array.from({ length: clients }, (_, at) => run(first + at, random.fork())));
  await runAll(1 + 2 * clients * number);
  if (dies) die();
  // The disk may have failed a moment ago: then there is no backup, and none is promised.
  const isBackedUp = await running.ctx.db.backup(join(folder, 'backup.db')).then(
    () => true,
    (error) => {
      if (isStorageFault(error)) return false;
      throw error;
    },
  );
  if (isBackedUp) mark({ backup: 'backup.db' });
  await running.stop();
  // One that meets the failure is repeated.
  running = await startIn(folder).catch(() => startIn(folder));
  await runAll(1 + clients + 2 * clients * number);
  // No stop: the power fails at the end at the latest.
  process.exit(0);
}

/** The API token of the account, which an earlier life has marked. */
function accountIn(folder: string): string {
  const lines = readFileSync(join(folder, marks), 'utf8').trim().split('\n');
  const all = lines.map((line) => JSON.parse(line) as ServerMark);
  return (all.find((mark) => 'account' in mark) as { account: string }).account;
}

async function setUp(running: Running, mark: (mark: ServerMark) => void): Promise<string> {
  const token = readFileSync(running.ctx.config.admin_token_file, 'utf8').trim();
  const operator = new TestClient(`${running.admin_url}/admin`, {
    authorization: `Bearer ${token}`,
  });
  const terms = { plan: 'Team', expiry: 4_000_000_000, limit_bytes: 2 ** 50 };
  const { api_token } = await must(operator.post('/accounts', { name: 'acme', ...terms }));
  await must(operator.post('/accounts/acme/users', { name: 'alice', flags: { proxy: true } }));
  const place = { city: 'Frankfurt', country: 'DE', latitude: 50, longitude: 8 };
  const server = { name: 'fra1', hostname: 'fra1.example', title: 'Frankfurt', ...place };
  await must(operator.post('/servers', { ...server, services: ['proxy'] }));
  await must(operator.put('/accounts/acme/servers/fra1', {}));
  mark({ account: api_token });
  return api_token;
}

async function must(answer: ReturnType<TestClient['post']>) {
  const { status, text, body } = await answer;
  if (status >= 300) throw new Error(`${status} ${text}`);
  return body;
}

if (import.meta.main) await live(process.argv[2] as string, Number(process.env.POWERCUT_LIFE));
