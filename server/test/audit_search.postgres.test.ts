// The search of the audit log: what a plain filter over all records finds, page by page, and
// nothing by what is hidden.

import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { mapValues } from '../../scripts/openapi/shapes.ts';
import { deepTest } from '../../test/deep_test.ts';
import { tries } from '../../test/effort.ts';
import type { AuditRecord } from '../src/changes/audit_record.ts';
import { nextId } from '../src/changes/changes.ts';
import type { Row } from '../src/db/database.ts';
import { eachApp } from './apps.ts';
import { byItself } from './choices.ts';
import { readPages } from './client.ts';
import type { TestClient } from './harness.ts';

const start = 1_790_000_000;
const hour = 3600;

/** A record as operators get it. */
type Entry = Omit<AuditRecord, 'account_id' | 'before' | 'after'> & {
  account: string | null;
  before: unknown;
  after: unknown;
};
/** As the query of a request writes it. */
type Filter = Partial<
  Record<'search' | 'actor' | 'action' | 'since' | 'until' | 'account', string>
>;

const arbitrary = {
  actor: fc.constantFrom(
    { actor_kind: 'user', actor: 'acme/alice' },
    { actor_kind: 'account', actor: 'acme/ci' },
    { actor_kind: 'user', actor: 'other/alice' },
    { actor_kind: 'operator', actor: 'alice' },
    { actor_kind: 'system', actor: 'expiries' },
  ),
  address: fc.constantFrom('', '203.0.113.7', '198.51.100.77'),
  account: fc.constantFrom('acme', 'other', null),
  action: fc.constantFrom(
    'server.create',
    // No record of a server.
    'servers.change',
    'contract_server.add',
    'authlist.create',
    'authlist.remove',
    'user.change',
  ),
  target: fc.constantFrom('authlist/12', 'FRA1', '100%_of', 'Zoë', 'zoË'),
  value: fc.constantFrom(
    null,
    { ip: '203.0.113.7' },
    { name: 'A "quoted" na\\me' },
    { name: "o'Brien 50%" },
  ),
};
const arbitraryEntry = fc.record({
  // Of clocks that differ.
  skew: fc.oneof(fc.constant(0), fc.integer({ min: -1800, max: 1800 })),
  who: arbitrary.actor,
  address: arbitrary.address,
  account: arbitrary.account,
  action: arbitrary.action,
  target: arbitrary.target,
  before: arbitrary.value,
  after: arbitrary.value,
});
const records = 60;
/** Always the same, and enough of them that each choice below finds some and leaves some. */
const sample = fc.sample(arbitraryEntry, { seed: 1, numRuns: records });
const times = Array.from({ length: 62 }, (_, hours) => String(start + (hours - 1) * hour));
const choices = {
  search: [
    'fra1',
    '203.0.113.7',
    '198.51.100.77',
    'ALICE authlist',
    'other authlist',
    '%',
    '_',
    'quoted me',
    '"quoted"',
    'zoë',
    "o'brien",
    'req-1',
    'Null',
    '12 12',
  ],
  actor: ['alice', 'acme/alice', 'ci', 'ali', 'nobody'],
  action: ['server', 'authlist', 'authlist.remove', 'user,authlist.create'],
  account: ['acme', 'other', 'nobody'],
};
// Of the hours a few, at which there are records.
const eachByItself: Filter[] = byItself({
  ...{ ...choices, since: times.slice(20, 24), until: times.slice(20, 24) },
});

/** Values of all fields; each filter has one or two of them, so that it finds some. */
const fields = mapValues({ ...choices, since: times, until: times }, (values) =>
  fc.constantFrom(...values),
);
const arbitraryFilter: fc.Arbitrary<Filter> = fc
  .tuple(fc.subarray(Object.keys(fields), { minLength: 1, maxLength: 2 }), fc.record(fields))
  .map(([names, all]) => Object.fromEntries(names.map((name) => [name, all[name]])));

const small = (text: string) => text.toLowerCase();

/** The plain filter. */
function isFound(entry: Entry, filter: Filter, isPerson: boolean): boolean {
  const { actor_kind, actor, address, request_id, action, target, before, after } = entry;
  const isHidden = isPerson && !['account', 'user'].includes(actor_kind);
  const values = [before, after].map((value) => (value === null ? '' : JSON.stringify(value)));
  const text = small(
    [
      action,
      target,
      actor,
      request_id,
      entry.account ?? '',
      isHidden ? '' : address,
      ...values,
    ].join('\n'),
  );
  const words = small(filter.search ?? '').split(/[\s"\\]+/);
  const kinds = filter.action?.split(',') ?? [];
  return (
    words.every((word) => text.includes(word)) &&
    (filter.account === undefined || entry.account === filter.account) &&
    (filter.actor === undefined ||
      actor === filter.actor ||
      actor === `${entry.account}/${filter.actor}`) &&
    (kinds.length === 0 ||
      kinds.some((kind) => kind === action || action.startsWith(`${kind}.`))) &&
    entry.at >= Number(filter.since ?? 0) &&
    entry.at < Number(filter.until ?? Number.MAX_SAFE_INTEGER)
  );
}

eachApp((t) => {
  let alice: Pick<TestClient, 'get'>;
  let accounts: Map<string | null, number | null>;
  beforeAll(async () => {
    await t.account('acme');
    await t.account('other');
    alice = await t.signIn('acme', 'alice');
    const rows = await t.running.ctx.db.all<{ id: number; name: string }>(
      'select id, name from accounts',
    );
    accounts = new Map([[null, null], ...rows.map(({ id, name }) => [name, id] as const)]);
  });

  const clear = () => t.write((tx) => tx.run('delete from audit'));
  /** Stores entries behind those that there are; answers them as they are shown to an operator. */
  const add = (entries: ReadonlyArray<Omit<Entry, 'id'>>) =>
    t.write(async (tx) => {
      const all: Entry[] = [];
      for (const entry of entries) all.push({ ...entry, id: await nextId(tx, 0, 'audit') });
      const json = (value: unknown) => (value === null ? null : JSON.stringify(value));
      const rows = all.map(({ account, before, after, ...rest }): Row => {
        const account_id = accounts.get(account) ?? null;
        return { ...rest, account_id, before: json(before), after: json(after) };
      });
      if (rows.length > 0) await tx.insertMany('audit', rows);
      return all;
    });
  const made = (
    drawn: ReadonlyArray<typeof arbitraryEntry extends fc.Arbitrary<infer E> ? E : never>,
  ): Array<Omit<Entry, 'id'>> =>
    drawn.map(({ skew, who, ...rest }, index) => ({
      ...{ ...rest, ...who },
      ...{ at: start + index * hour + skew, request_id: `req-${index}` },
    }));

  /** All pages; `between` runs ahead of each but the first. */
  async function matches(
    client: Pick<TestClient, 'get'>,
    filter: Filter,
    limit: number,
    between: () => Promise<unknown> = async () => undefined,
  ): Promise<Entry[]> {
    const account_id = client === alice ? (accounts.get('acme') as number) : 0;
    const numberOf = (id: string) => t.running.ctx.secrets.unveil('audit', account_id, id);
    const query = new URLSearchParams({ ...filter, limit: String(limit) });
    const { answers, rows } = await readPages<Entry & { id: string }>(
      client,
      `/audit?${query}`,
      between,
    );
    for (const { body } of answers) expect(body.length).toBeLessThanOrEqual(limit);
    return rows.map((entry) => ({ ...entry, id: numberOf(entry.id) as number }));
  }

  test('pages of a search are what a plain filter finds among the records of its beginning', async () => {
    const property = fc.asyncProperty(
      fc.array(arbitraryEntry, { minLength: 20, maxLength: 60 }),
      fc.array(arbitraryFilter, { minLength: 8, maxLength: 8 }),
      fc.integer({ min: 3, max: 9 }),
      async (drawn, filters, limit) => {
        await clear();
        const entries = made(drawn);
        const all = await add(entries);
        for (const filter of filters) {
          const records = [...all];
          const wanted = records.filter((record) => isFound(record, filter, false)).reverse();
          const later = entries
            .slice(0, 2)
            .map((entry, index) => ({ ...entry, at: start + (all.length + index) * hour }));
          const more = async () => all.push(...(await add(later.splice(0))));
          expect(await matches(t.operator, filter, limit, more)).toEqual(wanted);
        }
      },
    );
    await fc.assert(property, {
      ...{ numRuns: tries(10) + 1, examples: [[sample, eachByItself, 9]], endOnFailure: true },
    });
  });

  test('an account finds what it is shown, and nothing by an address that is hidden from it', async () => {
    const property = fc.asyncProperty(
      fc.array(arbitraryEntry, { minLength: 20, maxLength: 40 }),
      fc.array(arbitraryFilter, { minLength: 8, maxLength: 8 }),
      async (drawn, filters) => {
        await clear();
        const all = await add(made(drawn));
        for (const { account: _, ...filter } of filters) {
          const wanted = all.filter((record) =>
            isFound(record, { ...filter, account: 'acme' }, true),
          );
          const shown = await matches(alice, filter, 7);
          expect(shown.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id).reverse());
          for (const { actor_kind, address } of shown)
            if (!['account', 'user'].includes(actor_kind)) expect(address).toBe('');
        }
      },
    );
    await fc.assert(property, {
      ...{ numRuns: tries(10) + 1, examples: [[sample, eachByItself]], endOnFailure: true },
    });
  });

  test('the address of an operator, hidden from an account, is not found by its digits either', async () => {
    await clear();
    const deed = {
      account: 'acme',
      action: 'user.change',
      target: 'bob',
      before: null,
      after: null,
    };
    const from = { address: '198.51.100.77', request_id: 'req-1', at: start };
    await add([
      { ...deed, ...from, actor_kind: 'operator', actor: 'first' },
      { ...deed, ...from, actor_kind: 'user', actor: 'acme/alice' },
    ]);
    for (const search of ['198.51.100.77', '198.', '7']) {
      const actors = async (client: Pick<TestClient, 'get'>) =>
        (await matches(client, { search }, 10)).map(({ actor }) => actor);
      expect(await actors(t.operator)).toEqual(['acme/alice', 'first']);
      expect(await actors(alice)).toEqual(['acme/alice']);
    }
  });

  deepTest(
    'one request looks at a part of the log: pages without entries lead to what is far back, and to the end',
    async () => {
      await clear();
      const rest = { actor_kind: 'user', actor: 'acme/alice', address: '', request_id: '' };
      const deed = { account: 'acme', action: 'user.change', before: null, after: null };
      const entry = (target: string) => ({ ...rest, ...deed, target, at: start });
      await add([entry('the oldest'), ...Array.from({ length: 41_000 }, () => entry('bob'))]);
      for (const client of [t.operator, alice]) {
        let requests = 1;
        const count = async () => (requests += 1);
        const [only, ...others] = await matches(client, { search: 'OLDEST' }, 100, count);
        expect([only?.target, others.length, requests]).toEqual(['the oldest', 0, 2]);
        requests = 1;
        expect(await matches(client, { search: 'nowhere' }, 100, count)).toEqual([]);
        expect(requests).toBe(2);
        // Records of another time are not walked over.
        requests = 1;
        const late = { since: String(start + 2 * hour) };
        expect(await matches(client, { search: 'bob', ...late }, 100, count)).toEqual([]);
        const early = { until: String(start - 2 * hour) };
        expect(await matches(client, { search: 'bob', ...early }, 100, count)).toEqual([]);
        expect(requests).toBe(1);
      }
    },
  );

  test.each([
    ['search', 'a b c d e f g h i j k'],
    ['search', 'x'.repeat(256)],
    ['search', ''],
    ['actor', ''],
    ['action', 'authlist,'],
    ['action', 'authlist; drop'],
    ['action', Array.from({ length: 51 }, () => 'a').join(',')],
    ['since', 'yesterday'],
    ['until', '-1'],
    ['before', '0'],
    ['limit', '1001'],
  ])('%s=%j is refused, and the error names the field', async (field, value) => {
    for (const client of [t.operator, alice]) {
      const { status, body } = await client.get(
        `/audit?${new URLSearchParams({ [field]: value })}`,
      );
      expect([status, body.code, body.field]).toEqual([400, 'invalid_field', field]);
    }
  });

  test('characters that no record holds find nothing, and break nothing', async () => {
    for (const text of ['\u{1F600}', "'; --", '$1', '%00']) {
      for (const field of ['search', 'actor']) {
        const query = new URLSearchParams({ [field]: `nothing like${text}this` });
        expect((await t.operator.get(`/audit?${query}`)).body).toEqual([]);
      }
    }
  });
});
