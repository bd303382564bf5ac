// Removes the selected entries of a list, or changes their expiry: all or none, with an undo.
import { changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { count, dateTime } from '../format.ts';
import { now } from '../now.ts';
import { Button, notify, SelectionBar } from '../ui/ui.ts';
import { ExpiryField, expiryOf } from './expiry_field.tsx';
import { FormDialog } from './form_dialog.tsx';
import type { SelectedInBar, SelectedInDialog } from './list.ts';
import { inParts } from './parts.ts';
import { type List, lists, undoRemovals } from './remove_all.tsx';
import { undoBy } from './undo.ts';

interface Entry {
  id: number;
  expiry: number;
}

interface OfList {
  list: List;
}

type ManyProps = OfList & SelectedInDialog<Entry>;

/** The bar for the selected rows of a page. */
export function ManyBar({ open, ...many }: OfList & SelectedInBar<Entry>) {
  const { readOnlyReason } = useScope();
  return (
    <SelectionBar selection={many.selection}>
      <Button
        disabledReason={readOnlyReason}
        onClick={() => open((close) => <ExtendMany {...many} onClose={close} />)}
      >
        Change expiry …
      </Button>
      <Button
        kind="danger"
        icon="remove"
        disabledReason={readOnlyReason}
        onClick={() => open((close) => <RemoveMany {...many} onClose={close} />)}
      >
        Remove …
      </Button>
    </SelectionBar>
  );
}

const keysOf = (list: List, entries: readonly Entry[]) => entries.map(({ id }) => `${list}/${id}`);

function RemoveMany({ list, selected, selection, onClose }: ManyProps) {
  const scope = useScope();
  const { one: singular, many, removeMany } = lists[list];
  const countText = count(selected.length, singular, many);
  const remove = async () => {
    const removed = await inParts(
      selected.map(({ id }) => id),
      (ids) => changeIn(scope, removeMany, { body: { ids } }),
    );
    selection.setAll(false);
    const about = keysOf(list, selected);
    const removals = removed.flatMap(({ removal_id }) => removal_id ?? []);
    const undo = removals.length === 0 ? { about } : undoRemovals(scope, list, removals, about);
    notify(`${countText} removed.`, undo);
  };
  return (
    <FormDialog
      title={`Remove ${countText}?`}
      verb={`Remove ${count(selected.length, 'entry', 'entries')}`}
      onSubmit={remove}
      onClose={onClose}
    >
      <p>
        {list === 'authlist'
          ? 'Connections from these addresses will need a username and a proxy access token. Open ones will end.'
          : 'On the override ports of their servers, these hostnames will resolve as they do for everyone else.'}
      </p>
      <p class="note">You can undo this on this page for seven days.</p>
    </FormDialog>
  );
}

function ExtendMany({ list, selected, selection, onClose }: ManyProps) {
  const scope = useScope();
  const { one: singular, many, changeExpiries } = lists[list];
  const countText = count(selected.length, singular, many);
  const change = async (fields: FormData) => {
    const expiry = expiryOf(fields) ?? 0;
    const setExpiries = (all: readonly Entry[], expiryOf: (entry: Entry) => number) =>
      inParts(
        all.map((entry) => ({ id: entry.id, expiry: expiryOf(entry) })),
        (entries) => changeIn(scope, changeExpiries, { body: { entries } }),
      );
    await setExpiries(selected, () => expiry);
    selection.setAll(false);
    const about = keysOf(list, selected);
    const earliest = Math.min(...selected.map((entry) => entry.expiry));
    const back = async () => {
      await setExpiries(selected, (entry) => entry.expiry);
      return `${countText}: expiry restored.`;
    };
    // An expired entry can be revived, but not restored.
    const isLate = earliest <= now.value;
    const undo = isLate ? { about } : undoBy(back, { about, until: earliest });
    notify(`${countText} until ${dateTime(expiry)}.`, undo);
  };
  return (
    <FormDialog
      title={`Change the expiry of ${countText}`}
      verb={`Change ${count(selected.length, 'entry', 'entries')}`}
      kind="primary"
      onSubmit={change}
      onClose={onClose}
    >
      <ExpiryField replaced={selected.map(({ expiry }) => expiry)} />
    </FormDialog>
  );
}
