// Saved views of a list: its filters, order and columns under a name. They are stored for the
// person in this browser; the address of the page is the way to share one.
import { signal } from '@preact/signals';
import { Link } from 'wouter-preact';
import { useAddressSearch, usePath } from '../address.ts';
import { session } from '../api/session.ts';
import { addressOf } from '../paths.ts';
import { inBrowser } from '../stored.ts';
import '../style/lists.css';
import { Button, IconButton, notify, TextField, textOf } from '../ui/ui.ts';
import { FormDialog, useDialog } from './form_dialog.tsx';

interface SavedView {
  name: string;
  /** The state of the list, as in the address. */
  search: string;
}

/** Parts of the address that are no state of the list. */
const apart = ['dialog'];

/** The state of a list as a text that is the same for the same state. */
function stateOf(search: URLSearchParams): string {
  const state = new URLSearchParams(search);
  for (const name of apart) state.delete(name);
  state.sort();
  return state.toString();
}

/** The views in a stored text; none if something else is stored. */
function viewsIn(text: string | null): SavedView[] {
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

/** Rises with each change, for all lists of this page. */
const changes = signal(0);

/** The views of the list at this path, and their setter. */
function useViews(path: string): [SavedView[], (views: readonly SavedView[]) => void] {
  changes.value;
  const { account, user } = session.value ?? {};
  const person = user ? `${account}/${user.name}` : 'operator';
  const key = `exitward-views ${person} ${path}`;
  const set = (views: readonly SavedView[]) => {
    inBrowser.set(key, JSON.stringify(views));
    changes.value += 1;
  };
  return [viewsIn(inBrowser.get(key)), set];
}

/** A bar with the saved views; it isn't there while the list is as at first and none is saved. */
export function Views() {
  const [path] = usePath();
  const state = stateOf(useAddressSearch());
  const [views, setViews] = useViews(path);
  const { dialog, open } = useDialog();
  const shown = views.find(({ search }) => search === state);
  if (views.length === 0 && state === '') return null;
  const save = (name: string) => {
    const others = views.filter((view) => view.name !== name);
    setViews([...others, { name, search: state }]);
  };
  const remove = (removed: SavedView) => {
    setViews(views.filter((view) => view !== removed));
    const undo = () => setViews(views);
    notify(`View “${removed.name}” removed.`, { undo: async () => undo() });
  };
  return (
    <nav class="views" aria-label="Saved views">
      {views.length > 0 &&
        [{ name: 'All', search: '' }, ...views].map(({ name, search }) => (
          <Link
            key={name}
            href={addressOf(path, new URLSearchParams(search))}
            aria-current={search === state ? 'true' : undefined}
          >
            {name}
          </Link>
        ))}
      {shown ? (
        <IconButton
          icon="close"
          label={`Remove the view ${shown.name}`}
          onClick={() => remove(shown)}
        />
      ) : (
        state !== '' && (
          <Button
            kind="quiet"
            icon="plus"
            onClick={() => open((close) => <SaveView onSave={save} onClose={close} />)}
          >
            Save view …
          </Button>
        )
      )}
      {dialog}
    </nav>
  );
}

function SaveView({ onSave, onClose }: { onSave: (name: string) => void; onClose: () => void }) {
  return (
    <FormDialog
      title="Save this view"
      verb="Save view"
      kind="primary"
      onSubmit={async (fields) => {
        const name = textOf(fields, 'name').trim();
        onSave(name);
        return `View “${name}” saved in this browser.`;
      }}
      onClose={onClose}
    >
      <p>
        The filters, the order and the columns of this list. To share it, copy the address of the
        page.
      </p>
      <TextField label="Name" name="name" required maxLength={40} autoFocus />
    </FormDialog>
  );
}
