// The versions by which responses are cached: those at the arrival of a request, or later, however
// long reading them takes.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bumpUsage, bumpVersion, networkVersion } from '../src/changes/changes.ts';
import { openVersions, type Versions } from '../src/changes/versions.ts';
import type { Database, Row, Transaction } from '../src/db/database.ts';
import { setMaintenance } from '../src/operators/operators.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';
import { until } from './waiting.ts';

/**
 * A reading that the database has answered; the answer is on its way until the test lets it arrive.
 */
interface UnderWay {
  arrive(): void;
  fail(error: Error): void;
}

/** The same database, far away until the test says that it is near. */
class Distant {
  readonly underWay: UnderWay[] = [];
  readonly dataVersion: Database['dataVersion'];
  isNear = false;
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
    this.dataVersion = db.dataVersion?.bind(db);
  }
  async all<R = Row>(...args: Parameters<Database['all']>): Promise<R[]> {
    const rows = await this.#db.all<R>(...args);
    if (this.isNear) return rows;
    const { promise, resolve, reject } = Promise.withResolvers<R[]>();
    this.underWay.push({ arrive: () => resolve(rows), fail: reject });
    return promise;
  }
}

eachDatabase((database) => {
  /** Two processes on one database: the first reads, the changes are those of either. */
  let a: TestApp;
  let b: TestApp;
  let acme: number;
  let other: number;

  beforeAll(async () => {
    const url = await database.url();
    a = await startTestApp(url);
    b = await startTestApp(url, { EXITWARD_DATA_DIR: a.data_dir });
    acme = (await a.account('acme')).account.id;
    other = (await a.account('other')).account.id;
  });
  afterAll(async () => {
    await b?.stop();
    await a?.stop();
  });

  /** Versions as one process reads them, from a database that is far. */
  function start() {
    const far = new Distant(a.running.ctx.db);
    const versions = openVersions(far as Partial<Database> as Database);
    /** A request that comes in now. */
    const ask = async (account_id: number) => versions.current(account_id);
    /**
     * The reading for a request, once the database has answered it. Errors: the request was
     * answered without one.
     */
    const readingFor = async (request: Promise<unknown>): Promise<UnderWay> => {
      let isAnswered = false;
      const note = () => {
        isAnswered = true;
      };
      request.then(note, note);
      const reading = await until(() => far.underWay.shift() ?? isAnswered);
      if (reading === true) throw new Error('It was answered by a reading for another request.');
      return reading;
    };
    return { far, ask, readingFor };
  }

  let isDown = false;
  /** Each part of the versions, and a change that moves it. */
  const parts: Array<[keyof Versions, (tx: Transaction) => Promise<unknown>]> = [
    ['account', (tx) => bumpVersion(tx, acme, 'authlist')],
    ['contract', (tx) => bumpVersion(tx, acme)],
    ['usage', (tx) => bumpUsage(tx, acme)],
    ['network', (tx) => bumpVersion(tx, networkVersion)],
    [
      'maintenance',
      (tx) => {
        isDown = !isDown;
        return setMaintenance(tx, isDown);
      },
    ],
  ];
  const changes = parts.flatMap(([part, change]) =>
    ['this process', 'another process'].map((by) => ({ part, change, by })),
  );

  test.each(changes)(
    'a change of the $part version by $by is seen by each request that arrives after it, whatever is being read at the time',
    async ({ part, change, by }) => {
      const { far, ask, readingFor } = start();
      const seen: unknown[] = [];
      let request = ask(acme);
      // More than once: the next reading is, in turn, too old for requests that arrive during it.
      for (let round = 0; round < 3; round += 1) {
        const reading = await readingFor(request);
        await (by === 'this process' ? a : b).write(change);
        const next = ask(acme);
        reading.arrive();
        seen.push((await request)[part]);
        request = next;
      }
      const reading = await readingFor(request);
      await (by === 'this process' ? a : b).write(change);
      const last = [ask(acme), ask(other), ask(acme)] as const;
      far.isNear = true;
      reading.arrive();
      seen.push((await request)[part]);
      const [own, ofOther, again] = await Promise.all(last);
      seen.push(own[part]);
      expect(seen.map((value, at) => value === seen[at - 1])).toEqual(seen.map(() => false));
      expect(again).toEqual(own);
      expect(ofOther.network).toBe(own.network);
    },
  );

  test('a reading that fails fails the requests that arrived before it, and no others', async () => {
    const { far, ask, readingFor } = start();
    const request = ask(acme);
    const reading = await readingFor(request);
    const next = [ask(acme), ask(other)];
    far.isNear = true;
    reading.fail(new Error('cut off'));
    await expect(request).rejects.toThrow('cut off');
    const [own, ofOther] = await Promise.all(next);
    expect(own?.epoch).not.toBe('');
    expect(ofOther?.epoch).toBe(own?.epoch);
  });
});
