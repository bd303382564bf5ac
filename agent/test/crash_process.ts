// A process with a store that does everything it can, until it is killed. It prints which calls
// were acknowledged.
import type { NodeRecord } from '../src/policy/records.ts';
import { Store } from '../src/store/store.ts';
import { epoch, inPieces, type StoreCall, snapshotText } from './stored.ts';

const noon = 1_800_000_000;

/** Enough to take several writes. */
const records: NodeRecord[] = [1, 2].flatMap((account): NodeRecord[] => [
  {
    kind: 'contract',
    account,
    value: {
      ...{ name: `contract-${account}`, expiry: noon + 60, suspended: false, blocked: false },
      port_scheme: 'default',
    },
  },
  ...Array.from({ length: 10 }, (_, id): NodeRecord => {
    const value = { hostname: `host-${id}.example`, ip: '8.8.4.4', expiry: noon + 60 };
    return { kind: 'override', account, id, value };
  }),
]);

const change = (revision: number): StoreCall => ({
  revision,
  heard_at: noon + revision,
  records: [
    {
      kind: 'authlist',
      account: 1,
      id: revision,
      value: { ip: `192.0.2.${revision}`, user: 1, expiry: noon + 60 },
    },
    { kind: 'override', account: 2, id: 1, value: null },
  ],
});

/** The calls of the store, with its own work in between. */
export const story: Array<StoreCall | 'compact' | 'reopen'> = [
  { replaced: { epoch, revision: 10 }, heard_at: noon, records: records },
  change(11),
  change(12),
  'compact',
  change(13),
  'compact',
  'reopen',
  change(14),
  { replaced: { epoch: 'another', revision: 5 }, heard_at: noon + 5, records: records.slice(0, 6) },
  change(6),
];

export const storeCallsIn = (story: Array<StoreCall | string>) =>
  story.filter((step) => typeof step !== 'string');

async function live(dir: string): Promise<void> {
  let store = await Store.open(dir);
  let acknowledged = 0;
  for (const step of story) {
    if (step === 'compact') {
      await store.compact();
    } else if (step === 'reopen') {
      await store.close();
      store = await Store.open(dir);
    } else {
      if ('replaced' in step) {
        await store.replace(
          inPieces(snapshotText(step.replaced, step.records), 1500),
          step.heard_at,
        );
      } else store.append(step.revision, step.heard_at, step.records);
      acknowledged += 1;
      console.log(`acknowledged ${acknowledged}`);
    }
  }
  await store.close();
}

if (import.meta.main) await live(process.argv[2] as string);
