// Removing all entries of a list: the foot of its page, the dialog that shows the number and asks
// for a typed word, and the undo.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError, invalidField } from '../api/api.ts';
import { type AccountResponse, changeIn, useReadIn } from '../api/reading.ts';
import { type Scope, useScope } from '../api/scope.ts';
import { count } from '../format.ts';
import { Since } from '../relative_time.tsx';
import { Button, keepFocus, notify, TextField, textOf, Unread } from '../ui/ui.ts';
import { FormDialog, type OpenDialog } from './form_dialog.tsx';
import { undoBy } from './undo.ts';

/** The lists with bulk changes, by their name in the record of removals. */
export const lists = {
  authlist: {
    one: 'authlist entry',
    many: 'authlist entries',
    remove: 'remove_all_authlist_entries',
    removeMany: 'remove_authlist_entries',
    changeExpiries: 'change_authlist_expiries',
    restore: 'restore_authlist',
    leftOut: 'expired, or another account has the address',
  },
  overrides: {
    one: 'custom DNS entry',
    many: 'custom DNS entries',
    remove: 'remove_all_overrides',
    removeMany: 'remove_overrides',
    changeExpiries: 'change_override_expiries',
    restore: 'restore_overrides',
    leftOut: 'expired, or the server or hostname is in use',
  },
} as const;

export type List = keyof typeof lists;

/** Above this number the dialog asks for a typed word. */
const maxWithoutTyping = 20;

interface RemoveAllProps {
  list: List;
  /** The number of entries. */
  entries: number;
  /** The consequences. */
  children: ComponentChildren;
  onClose: () => void;
}

function RemoveAll({ list, entries, children, onClose }: RemoveAllProps) {
  const scope = useScope();
  const { account } = scope;
  const { one: singular, many, remove } = lists[list];
  const mustType = entries > maxWithoutTyping;

  const submit = async (fields: FormData) => {
    const typed = textOf(fields, 'confirmation');
    const isCount = typed.replace(/[,. ]/g, '') === String(entries);
    if (mustType && typed !== account && !isCount) {
      throw invalidField('confirmation', `expected: ${account}, or ${entries}.`);
    }
    const removed = await changeIn(scope, remove, {});
    const { removal_id } = removed;
    notify(
      `${count(removed.entries, singular, many)} removed.`,
      removal_id === null ? {} : undoRemovals(scope, list, [removal_id]),
    );
  };

  return (
    <FormDialog
      title={
        entries === 1 ? `Remove the ${singular}?` : `Remove all ${count(entries, singular, many)}?`
      }
      verb={`Remove ${count(entries, 'entry', 'entries')}`}
      onSubmit={submit}
      onClose={onClose}
    >
      <p>{children}</p>
      <p class="note">You can undo this on this page for seven days.</p>
      {mustType && (
        <TextField
          label={`To confirm, type ${account} (the account) or ${entries} (the number)`}
          name="confirmation"
          autoCapitalize="off"
          autoFocus
          required
        />
      )}
    </FormDialog>
  );
}

/** The undo of removals; `about`: keys of the removed entries, by default the whole list. */
export const undoRemovals = (
  scope: Scope,
  list: List,
  removals: readonly number[],
  about: readonly string[] = [list],
) => undoBy(() => restoreRemovals(scope, list, removals), { about });

/** Restores what was removed; returns a sentence on the outcome. Errors: ApiError. */
async function restoreRemovals(
  scope: Scope,
  list: List,
  removals: readonly number[],
): Promise<string> {
  const { one: singular, many, restore, leftOut } = lists[list];
  let [restored, left_out, isDone] = [0, 0, false];
  for (const removal_id of removals) {
    try {
      const outcome = await changeIn(scope, restore, { body: { removal_id } });
      restored += outcome.restored;
      left_out += outcome.left_out;
      isDone = true;
    } catch (error) {
      // Another admin, or a second press of the button, was faster.
      if (!(error instanceof ApiError && error.code === 'removal_gone')) throw error;
    }
  }
  if (!isDone) return 'They are already restored.';
  const rest = left_out > 0 ? ` Left out: ${left_out} (${leftOut}).` : '';
  return `${count(restored, singular, many)} restored.${rest}`;
}

type Removal = AccountResponse<'list_removals'>[number];

interface RemovalsProps extends Pick<RemoveAllProps, 'list' | 'children'> {
  /** The number of removable entries; undefined: removing all is not possible. */
  entries: number;
  open: OpenDialog;
}

/**
 * The foot of a list's page, with the button that removes all, away from everyday actions. It shows
 * the removals that can still be undone: users see the last one, operators all.
 */
export function Removals({ list, entries, open, children }: RemovalsProps) {
  const scope = useScope();
  const removals = useReadIn(scope, 'list_removals', {});
  const ofList = (removals.data ?? []).filter((removal) => removal.list === list);
  const shown = scope.isOperator ? ofList : ofList.slice(0, 1);
  return (
    <>
      <Unread reading={removals} name="what was removed" />
      {shown.map((removal) => (
        <OneRemoval key={removal.removal_id} list={list} removal={removal} />
      ))}
      {entries > 0 && (
        <div>
          <Button
            kind="quiet"
            icon="remove"
            disabledReason={scope.readOnlyReason}
            onClick={() =>
              open((close) => <RemoveAll {...{ list, entries, children }} onClose={close} />)
            }
          >
            Remove all …
          </Button>
        </div>
      )}
    </>
  );
}

function OneRemoval({ list, removal }: { list: List; removal: Removal }) {
  const { removal_id, entries, at, chosen } = removal;
  const determiner = chosen ? '' : entries === 1 ? 'The ' : 'All ';
  const scope = useScope();
  const [busy, setBusy] = useState(false);
  const { one: singular, many } = lists[list];
  const restore = async (button: HTMLElement) => {
    if (busy) return;
    setBusy(true);
    // The button goes away with its removal.
    keepFocus(button);
    await undoRemovals(scope, list, [removal_id]).undo();
    setBusy(false);
  };
  return (
    <p class="row note">
      <span>
        {`${determiner}${count(entries, singular, many)} ${entries === 1 ? 'was' : 'were'} removed `}
        <Since at={at} />.
      </span>
      <Button
        busy={busy}
        disabledReason={scope.readOnlyReason}
        onClick={(event) => void restore(event.currentTarget)}
      >
        Restore
      </Button>
    </p>
  );
}
