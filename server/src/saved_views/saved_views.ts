// Saved views of the console's lists: filters, order and columns under a name, for each person.
import { nextId } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { inTurns } from '../db/slices.ts';
import { conflict, notFound } from '../errors.ts';
import { visibleText } from '../values/texts.ts';
import * as store from './store.ts';

export type { Viewer } from './store.ts';
export { removeViewsOf, viewsOf } from './store.ts';

/** How many views a person may have, on one page and in all. */
export const maxViews = { page: 20, all: 100 };
/** In characters. */
export const longestView = { page: 200, name: 40, query: 2000 };

/** An operator, whose views belong to the token. */
export const operatorViewer = (id: number): store.Viewer => ({ account_id: 0, viewer_id: id });

/**
 * Saves a view; with `replace` it may replace the person's view of this page and name. Errors: 400
 * for a blank name; 409 when the name is taken, or when there are too many.
 */
export async function saveView(
  tx: Transaction,
  viewer: store.Viewer,
  { page, name, query }: Omit<store.SavedView, 'id'>,
  replace: boolean,
): Promise<store.SavedView> {
  visibleText('name', name);
  const views = await store.viewsOf(tx, viewer);
  const onPage = views.filter((view) => view.page === page);
  const before = onPage.find((view) => view.name === name);
  if (before) {
    if (!replace) {
      throw conflict(`you have a view named ${JSON.stringify(name)} on this page already.`, {
        code: 'name_taken',
        field: 'name',
      });
    }
    const changed = { ...before, query };
    await store.changeQuery(tx, viewer, changed);
    return changed;
  }
  if (onPage.length >= maxViews.page || views.length >= maxViews.all) {
    throw conflict(
      `You may have ${maxViews.page} views on a page and ${maxViews.all} in all; remove one first.`,
      { code: 'list_full' },
    );
  }
  const id = await nextId(tx, viewer.account_id, 'saved_views');
  const view = { id, page, name, query };
  await store.insertView(tx, { ...viewer, ...view });
  return view;
}

/** Errors: 404 when the person has no such view. */
export async function requireView(
  db: Reader,
  viewer: store.Viewer,
  id: number | undefined,
): Promise<store.SavedView> {
  const view = (await store.viewsOf(db, viewer)).find((view) => view.id === id);
  if (!view) throw notFound('You have no such view.');
  return view;
}

/** Errors: 404. */
export async function removeView(
  tx: Transaction,
  viewer: store.Viewer,
  id: number | undefined,
): Promise<void> {
  await store.removeView(tx, viewer, (await requireView(tx, viewer, id)).id);
}

/** A user who is erased. */
interface Erased {
  account_id: number;
  account_name: string;
  id: number;
  name: string;
}

/**
 * Removes the views of a user who is erased, and those that name the user: of the account's others,
 * and of operators on pages of the account.
 */
export async function forgetViews(
  tx: Transaction,
  { account_id, account_name, id, name }: Erased,
): Promise<void> {
  await store.removeViewsOf(tx, { account_id, viewer_id: id });
  for await (const view of inTurns(await store.viewsOnAccount(tx, account_id))) {
    const places = view.page.split('/');
    const isOfAccount =
      view.account_id === account_id || places.includes(encodeURIComponent(account_name));
    const isOfUser =
      view.name.includes(name) ||
      places.includes(encodeURIComponent(name)) ||
      [...new URLSearchParams(view.query).values()].includes(name);
    if (isOfAccount && isOfUser) await store.removeView(tx, view, view.id);
  }
}
