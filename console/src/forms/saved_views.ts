// The saved views of a list, as the server has them for each person.
import { useEffect } from 'preact/hooks';
import { ApiError, type ResponseOf } from '../api/api.ts';
import { callWithAuthHandling, queries, useRead, whoIs } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { session } from '../api/session.ts';
import { paths } from '../paths.ts';
import { inBrowser } from '../stored.ts';
import { notifyError } from '../ui/ui.ts';

export type SavedView = ResponseOf<'console_list_views'>[number];

const operationsOf = (page: string) =>
  page.startsWith(paths.operator.overview)
    ? ({ list: 'admin_list_views', save: 'admin_save_view', remove: 'admin_remove_view' } as const)
    : ({
        list: 'console_list_views',
        save: 'console_save_view',
        remove: 'console_remove_view',
      } as const);

/** The views of the list on this page. Each change throws an ApiError when it fails. */
export function useSavedViews(page: string) {
  const operations = operationsOf(page);
  const { data, error, refetch } = useRead(operations.list, {});
  const views = data?.filter((view) => view.page === page);
  const changed = async (request: Promise<unknown>) => {
    try {
      await request;
    } finally {
      await queries.invalidateQueries({ queryKey: [operations.list] });
    }
  };
  const save = (name: string, query: string, replace = false) =>
    changed(callWithAuthHandling(operations.save, { body: { page, name, query, replace } }));
  const remove = ({ id }: SavedView) =>
    changed(callWithAuthHandling(operations.remove, { path: { id } }));
  useEffect(() => {
    if (views) void moveFromBrowser(page, views, save);
  }, [page, views === undefined]);
  return { views, reading: { data, error, refetch }, save, remove };
}

export const isTaken = (error: unknown) => error instanceof ApiError && error.code === 'name_taken';

/** A view as earlier versions of the console stored it, in this browser alone. */
interface BrowserView {
  name: string;
  search: string;
}

/** None if something else is stored. */
function viewsIn(text: string | null): BrowserView[] {
  try {
    const views: unknown = JSON.parse(text ?? '[]');
    if (!Array.isArray(views)) return [];
    return views.filter(
      (view) => typeof view?.name === 'string' && typeof view?.search === 'string',
    );
  } catch {
    return [];
  }
}

type Save = (name: string, query: string) => Promise<void>;

/** The views that are being moved now, by key. */
const underWay = new Set<string>();

/** Saves the views of this browser on the server; each is removed here once the server has it. */
async function moveFromBrowser(page: string, saved: readonly SavedView[], save: Save) {
  for (const person of ['operator', whoIs(session.peek())]) {
    const key = `exitward-views ${person} ${page}`;
    if (underWay.has(key)) continue;
    underWay.add(key);
    try {
      for (const { name, search } of viewsIn(inBrowser.get(key))) {
        const isSame = (view: SavedView) => view.name === name && view.query === search;
        if (!saved.some(isSame)) await saveApart(name, search, save);
        const others = viewsIn(inBrowser.get(key)).filter((view) => view.name !== name);
        if (others.length > 0) inBrowser.set(key, JSON.stringify(others));
        else inBrowser.remove(key);
      }
    } catch (error) {
      notifyError(`A view of this browser couldn’t be saved. ${explain(error).sentence}`);
    } finally {
      underWay.delete(key);
    }
  }
}

/** Under another name, if the person has another view of this name by now. */
async function saveApart(name: string, query: string, save: Save): Promise<void> {
  try {
    await save(name, query);
  } catch (error) {
    if (!isTaken(error)) throw error;
    await save(`${name.slice(0, 24)} (this browser)`, query);
  }
}
