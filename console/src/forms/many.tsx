// Removes the selected entries of a list, or changes their expiry: all or none, with an undo.
import { changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { count, dateTime } from '../format.ts';
import { now } from '../now.ts';
import { Button, ChosenBar, notify } from '../ui/ui.ts';
import { ExpiryField, expiryOf } from './expiry_field.tsx';
import { FormDialog } from './form_dialog.tsx';
import type { ChosenInBar, ChosenInDialog } from './list.ts';
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

type ManyProps = OfList & ChosenInDialog<Entry>;

/** The bar for the selected rows of a page. */
export function ManyBar({ open, ...many }: OfList & ChosenInBar<Entry>) {
  const { readOnlyReason } = useScope();
  return (
    <ChosenBar selection={many.selection}>
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
    </ChosenBar>
  );
}

const keysOf = (list: List, chosen: readonly Entry[]) => chosen.map(({ id }) => `${list}/${id}`);

function RemoveMany({ list, chosen, selection, onClose }: ManyProps) {
  const scope = useScope();
  const { one: singular, many, removeMany } = lists[list];
  const what = count(chosen.length, singular, many);
  const remove = async () => {
    const removed = await inParts(
      chosen.map(({ id }) => id),
      (ids) => changeIn(scope, removeMany, { body: { ids } }),
    );
    selection.setAll(false);
    const about = keysOf(list, chosen);
    const removals = removed.flatMap(({ removal_id }) => removal_id ?? []);
    const undo = removals.length === 0 ? { about } : undoRemovals(scope, list, removals, about);
    notify(`${what} removed.`, undo);
  };
  return (
    <FormDialog
      title={`Remove ${what}?`}
      verb={`Remove ${count(chosen.length, 'entry', 'entries')}`}
      onSubmit={remove}
      onClose={onClose}
    >
      <p>
        {list === 'authlist'
          ? 'Connections from these addresses need a username and a proxy access token from now on. Open ones end.'
          : 'On the override ports of their servers, these hostnames resolve as they do for everyone else.'}
      </p>
      <p class="note">You can restore them on this page for seven days.</p>
    </FormDialog>
  );
}

function ExtendMany({ list, chosen, selection, onClose }: ManyProps) {
  const scope = useScope();
  const { one: singular, many, changeExpiries } = lists[list];
  const what = count(chosen.length, singular, many);
  const change = async (fields: FormData) => {
    const expiry = expiryOf(fields) ?? 0;
    const setExpiries = (all: readonly Entry[], expiryOf: (entry: Entry) => number) =>
      inParts(
        all.map((entry) => ({ id: entry.id, expiry: expiryOf(entry) })),
        (entries) => changeIn(scope, changeExpiries, { body: { entries } }),
      );
    await setExpiries(chosen, () => expiry);
    selection.setAll(false);
    const about = keysOf(list, chosen);
    const earliest = Math.min(...chosen.map((entry) => entry.expiry));
    const back = async () => {
      await setExpiries(chosen, (entry) => entry.expiry);
      return `${what}: the expiry is as it was.`;
    };
    // An expired entry can be revived, but not restored.
    const isLate = earliest <= now.value;
    const undo = isLate ? { about } : undoBy(back, { about, until: earliest });
    notify(`${what} until ${dateTime(expiry)}.`, undo);
  };
  return (
    <FormDialog
      title={`Change the expiry of ${what}`}
      verb={`Change ${count(chosen.length, 'entry', 'entries')}`}
      kind="primary"
      onSubmit={change}
      onClose={onClose}
    >
      <ExpiryField replaced={chosen.map(({ expiry }) => expiry)} />
    </FormDialog>
  );
}
