// The bar of saved views of a list: its filters, order and columns under a name. The server stores
// them for the person; the address of the page is the way to share one.
import { useRef, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useAddressSearch, usePath } from '../address.ts';
import { explain } from '../api/sentences.ts';
import { addressOf } from '../paths.ts';
import '../style/lists.css';
import { Button, IconButton, notify, notifyError, TextField, textOf, Unread } from '../ui/ui.ts';
import { FormDialog, useDialog } from './form_dialog.tsx';
import { isTaken, type SavedView, useSavedViews } from './saved_views.ts';
import { undoBy } from './undo.ts';

/** Parts of the address that are no state of the list. */
const apart = ['dialog'];

/** The state of a list as a text that is the same for the same state. */
function stateOf(search: URLSearchParams): string {
  const state = new URLSearchParams(search);
  for (const name of apart) state.delete(name);
  state.sort();
  return state.toString();
}

/**
 * The bar of saved views, hidden while the list has its initial state and no view is saved. Above a
 * filtered list it doesn't wait for the saved views, because a bar that came later would move the
 * list.
 */
export function Views() {
  const [path] = usePath();
  const state = stateOf(useAddressSearch());
  const { views: stored, reading, save, remove } = useSavedViews(path);
  const views = stored ?? (reading.error || state === '' ? undefined : []);
  // An open dialog has the function of the moment at which it opened.
  const latest = useRef(views);
  latest.current = views;
  const { dialog, open } = useDialog();
  const unread = <Unread reading={reading} name="your saved views" />;
  if (!views || (views.length === 0 && state === '')) return unread;
  const shown = views.find(({ query }) => query === state);
  const removeShown = async (view: SavedView) => {
    try {
      await remove(view);
    } catch (error) {
      return notifyError(explain(error).sentence);
    }
    const undo = async () => {
      await save(view.name, view.query);
      return `View “${view.name}” restored.`;
    };
    notify(`View “${view.name}” removed.`, undoBy(undo));
  };
  const saveAs = async (name: string, replace: boolean) => {
    const before = replace && latest.current?.find((view) => view.name === name);
    await save(name, state, replace);
    if (!before) return notify(`View “${name}” saved.`);
    const undo = async () => {
      await save(name, before.query, true);
      return `View “${name}”: change undone.`;
    };
    notify(`View “${name}” replaced.`, undoBy(undo));
  };
  return (
    <>
      {unread}
      <nav class="views" aria-label="Saved views">
        {views.length > 0 &&
          [{ id: 0, name: 'All', query: '' }, ...views].map(({ id, name, query }) => (
            <Link
              key={id}
              href={addressOf(path, new URLSearchParams(query))}
              aria-current={query === state ? 'true' : undefined}
            >
              {name}
            </Link>
          ))}
        {shown ? (
          <IconButton
            icon="close"
            label={`Remove the view ${shown.name}`}
            onClick={() => void removeShown(shown)}
          />
        ) : (
          state !== '' && (
            <Button
              kind="quiet"
              icon="plus"
              onClick={() => open((close) => <SaveView onSave={saveAs} onClose={close} />)}
            >
              Save view …
            </Button>
          )
        )}
        {dialog}
      </nav>
    </>
  );
}

interface SaveViewProps {
  onSave: (name: string, replace: boolean) => Promise<void>;
  onClose: () => void;
}

function SaveView({ onSave, onClose }: SaveViewProps) {
  const [name, setName] = useState('');
  /** The name that the server refused, since there is a view of it. */
  const [taken, setTaken] = useState<string>();
  const replace = name.trim() === taken;
  return (
    <FormDialog
      title="Save this view"
      verb={replace ? 'Replace view' : 'Save view'}
      kind={replace ? 'danger' : 'primary'}
      onSubmit={async (fields) => {
        try {
          await onSave(textOf(fields, 'name'), replace);
        } catch (error) {
          if (isTaken(error)) setTaken(textOf(fields, 'name'));
          throw error;
        }
      }}
      explain={(error) =>
        isTaken(error)
          ? {
              field: 'name',
              sentence: 'You have a view with this name. Replace it, or enter another name.',
            }
          : explain(error)
      }
      onClose={onClose}
    >
      <p>
        The filters, the order and the columns of this list. To share it, copy the address of the
        page.
      </p>
      <TextField
        label="Name"
        name="name"
        required
        maxLength={40}
        autoFocus
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
      />
    </FormDialog>
  );
}
