// Removing all entries of a list: the dialog that says how many and asks for a typed word, and the way back.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError } from '../api/api.ts';
import { change, useRead } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { refusal, session } from '../api/session.ts';
import { count, dateTime, fromNow } from '../format.ts';
import { now } from '../now.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { keepFocus } from '../ui/focus.ts';
import { Form, textOf } from '../ui/form.tsx';
import { Time } from '../ui/time.tsx';
import { notify } from '../ui/toast.tsx';
import { undoBy } from './undo.ts';

/** The lists that can be emptied at once, by their name in the record of removals. */
const lists = {
  authlist: {
    one: 'authlist entry',
    many: 'authlist entries',
    remove: 'console_remove_all_authlist_entries',
    restore: 'console_restore_authlist',
    leftOut: 'expired since, or the address is taken',
  },
  overrides: {
    one: 'custom DNS entry',
    many: 'custom DNS entries',
    remove: 'console_remove_all_overrides',
    restore: 'console_restore_overrides',
    leftOut: 'expired, or the server or the hostname is not free any more',
  },
} as const;

type List = keyof typeof lists;

/** More than so many are removed only by who types what they are. */
const mostWithoutTyping = 20;

interface RemoveAllProps {
  list: List;
  /** How many there are. */
  entries: number;
  /** What stops working. */
  children: ComponentChildren;
  onClose: () => void;
}

class NotConfirmed extends Error {}

export function RemoveAll({ list, entries, children, onClose }: RemoveAllProps) {
  const { one, many, remove } = lists[list];
  const account = session.value?.account ?? '';
  const mustType = entries > mostWithoutTyping;

  const submit = async (fields: FormData) => {
    const typed = textOf(fields, 'confirmation');
    const isCount = typed.replace(/[,. ]/g, '') === String(entries);
    if (mustType && typed !== account && !isCount) throw new NotConfirmed();
    const removed = await change(remove, {});
    onClose();
    const { removal_id } = removed;
    notify(
      `${count(removed.entries, one, many)} removed.`,
      removal_id === null ? {} : undoRemoval(list, removal_id),
    );
  };

  return (
    <Dialog title={`Remove all ${count(entries, one, many)}?`} onClose={onClose}>
      <p>{children}</p>
      <p class="note">For seven days they can be restored on this page.</p>
      <Form
        verb={`Remove ${count(entries, 'entry', 'entries')}`}
        kind="danger"
        onSubmit={submit}
        explain={(error) =>
          error instanceof NotConfirmed
            ? { sentence: `Expected: ${account}, or ${entries}.`, field: 'confirmation' }
            : explain(error)
        }
        onCancel={onClose}
      >
        {mustType && (
          <TextField
            label={`To confirm, type ${account} (the account) or ${entries} (the number)`}
            name="confirmation"
            autoCapitalize="off"
            autoFocus
            required
          />
        )}
      </Form>
    </Dialog>
  );
}

const undoRemoval = (list: List, removal_id: number) =>
  undoBy(() => restoreRemoval(list, removal_id), { about: [list] });

/** Puts back what was removed at once; answers what came of it. Errors: ApiError. */
async function restoreRemoval(list: List, removal_id: number): Promise<string> {
  const { one, many, restore, leftOut } = lists[list];
  const outcome = await change(restore, { body: { removal_id } }).catch((error: unknown) => {
    if (error instanceof ApiError && /^removal_id: .* can be undone/.test(error.message)) return;
    throw error;
  });
  // By another admin, or another press of the button.
  if (!outcome) return 'They were restored already.';
  const { restored, left_out } = outcome;
  const rest = left_out > 0 ? ` Left out: ${left_out} (${leftOut}).` : '';
  return `${count(restored, one, many)} restored.${rest}`;
}

/** Tells admins of the last removal of all entries that can still be undone. */
export function LastRemoval({ list }: { list: List }) {
  const removals = useRead('console_list_removals', {});
  const [busy, setBusy] = useState(false);
  const last = removals.data?.find((removal) => removal.list === list);
  if (!last) return null;
  const { removal_id, entries, at } = last;
  const { one, many } = lists[list];
  const restore = async (button: HTMLElement) => {
    if (busy) return;
    setBusy(true);
    // It goes away with the removal that it is about.
    keepFocus(button);
    await undoRemoval(list, removal_id).undo();
    setBusy(false);
  };
  return (
    <p class="row note">
      <span>
        {`${entries === 1 ? 'The' : 'All'} ${count(entries, one, many)} ${entries === 1 ? 'was' : 'were'} removed `}
        <Time at={at} relative={fromNow(Math.min(at, now.value), now.value)} full={dateTime(at)} />.
      </span>
      <Button
        busy={busy}
        refused={refusal.value}
        onClick={(event) => void restore(event.currentTarget)}
      >
        Restore them
      </Button>
    </p>
  );
}
