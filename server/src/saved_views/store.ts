// The SQL of saved views.
import type { Reader, Transaction } from '../db/database.ts';
import { inserter } from '../db/rows.ts';

/** The person whose views they are: an account's user, or with account 0 an operator's token. */
export interface Viewer {
  account_id: number;
  viewer_id: number;
}

export interface SavedView {
  id: number;
  /** The address of the list in the console: `/authlist`. */
  page: string;
  name: string;
  /** The state of the list, as in the address: `ends=week&sort=-expiry`. */
  query: string;
}

/** The views of a person, in the order in which they were saved. */
export function viewsOf(db: Reader, { account_id, viewer_id }: Viewer): Promise<SavedView[]> {
  return db.all(
    'select id, page, name, query from saved_views where account_id = $1 and viewer_id = $2 order by id',
    [account_id, viewer_id],
  );
}

export const insertView = inserter<Viewer & SavedView>('saved_views', [
  'account_id',
  'viewer_id',
  'id',
  'page',
  'name',
  'query',
]);

export function changeQuery(
  tx: Transaction,
  { account_id, viewer_id }: Viewer,
  { id, query }: SavedView,
): Promise<number> {
  return tx.run(
    'update saved_views set query = $1 where account_id = $2 and viewer_id = $3 and id = $4',
    [query, account_id, viewer_id, id],
  );
}

export function removeView(
  tx: Transaction,
  { account_id, viewer_id }: Viewer,
  id: number,
): Promise<number> {
  return tx.run('delete from saved_views where account_id = $1 and viewer_id = $2 and id = $3', [
    account_id,
    viewer_id,
    id,
  ]);
}

export function removeViewsOf(tx: Transaction, { account_id, viewer_id }: Viewer): Promise<number> {
  return tx.run('delete from saved_views where account_id = $1 and viewer_id = $2', [
    account_id,
    viewer_id,
  ]);
}

/** Those of an account's people, and those of operators. */
export function viewsOnAccount(db: Reader, account_id: number): Promise<Array<Viewer & SavedView>> {
  return db.all('select * from saved_views where account_id in ($1, 0)', [account_id]);
}
