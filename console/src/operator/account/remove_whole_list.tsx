// The dialog that removes a whole list of an account.
import type { ComponentChildren } from 'preact';
import { explain } from '../../api/sentences.ts';
import { count } from '../../format.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Form } from '../../ui/form.tsx';
import { sayRemoved } from './removals.tsx';

interface RemoveWholeListProps {
  account: string;
  list: 'authlist' | 'overrides';
  /** How many there are. */
  entries: number;
  remove: () => Promise<unknown>;
  onClose: () => void;
  /** What stops working. */
  children: ComponentChildren;
}

export function RemoveWholeList(props: RemoveWholeListProps) {
  const { account, list, entries, remove, onClose, children } = props;
  const what = count(entries, 'entry', 'entries');
  const submit = async () => {
    await remove();
    onClose();
    await sayRemoved(account, list, entries);
  };
  return (
    <Dialog title={`Remove all ${what} of ${account}?`} onClose={onClose}>
      <Form
        verb={`Remove ${what}`}
        kind="danger"
        explain={explain}
        onSubmit={submit}
        onCancel={onClose}
      >
        <p>{children}</p>
        <p class="note">It can be undone here for seven days.</p>
      </Form>
    </Dialog>
  );
}
