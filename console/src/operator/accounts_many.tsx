// Suspends or resumes the selected accounts, or changes the end of their contracts: all or none,
// with an undo.
import { change } from '../api/reading.ts';
import { count, dateTime } from '../format.ts';
import { ExactExpiryField, expiryOf } from '../forms/expiry_field.tsx';
import { FormDialog } from '../forms/form_dialog.tsx';
import type { Selected, SelectedInBar, SelectedInDialog } from '../forms/list.ts';
import { inParts } from '../forms/parts.ts';
import { undoBy } from '../forms/undo.ts';
import { Button, notify, SelectionBar } from '../ui/ui.ts';
import type { Account } from './states.ts';

/** The bar for selected accounts. */
export function ManyAccountsBar({ open, ...many }: SelectedInBar<Account>) {
  return (
    <SelectionBar selection={many.selection}>
      <Button onClick={() => open((close) => <ExtendContracts {...many} onClose={close} />)}>
        Change expiry …
      </Button>
      {[false, true].map((suspended) => (
        <Button
          key={String(suspended)}
          kind={suspended ? 'danger' : 'plain'}
          onClick={() =>
            open((close) => <SuspendMany {...many} suspended={suspended} onClose={close} />)
          }
        >
          {suspended ? 'Suspend …' : 'Lift suspension …'}
        </Button>
      ))}
    </SelectionBar>
  );
}

const countOf = (accounts: readonly unknown[]) => count(accounts.length, 'account', 'accounts');

type Terms = Partial<Pick<Account, 'suspended' | 'expiry'>>;

const send = (all: Array<Terms & { account: string }>) =>
  inParts(all, (accounts) => change('admin_change_accounts', { body: { accounts } }), 500);

/** Changes the accounts that differ. */
async function changeMany(
  { selected, selection }: Selected<Account>,
  to: Terms,
  before: (account: Account) => Terms,
  done: (countText: string) => string,
) {
  const changed = selected.filter((account) =>
    Object.entries(to).some(([name, value]) => account[name as keyof Terms] !== value),
  );
  if (changed.length > 0) {
    const accounts = changed.map(({ name }) => ({ account: name, ...to }));
    await send(accounts);
  }
  selection.setAll(false);
  if (changed.length === 0) return notify('Nothing to change.');
  const about = changed.map(({ name }) => `accounts/${name}`);
  const undo = async () => {
    const accounts = changed.map((account) => ({ account: account.name, ...before(account) }));
    await send(accounts);
    return `${countOf(changed)}: change undone.`;
  };
  notify(done(countOf(changed)), undoBy(undo, { about }));
}

function SuspendMany({
  suspended,
  onClose,
  ...many
}: SelectedInDialog<Account> & { suspended: boolean }) {
  const countText = countOf(many.selected);
  const verb = suspended ? `Suspend ${countText}` : `Lift the suspension of ${countText}`;
  return (
    <FormDialog
      title={`${verb}?`}
      verb={verb}
      kind={suspended ? 'danger' : 'primary'}
      onClose={onClose}
      onSubmit={() =>
        changeMany(
          many,
          { suspended },
          () => ({ suspended: !suspended }),
          (changed) => `${changed} ${suspended ? 'suspended' : 'no longer suspended'}.`,
        )
      }
    >
      <p>
        {suspended
          ? 'Nodes refuse their connections at once, and their users and programs can’t change anything.'
          : 'Nodes accept their connections again, within each contract.'}
      </p>
    </FormDialog>
  );
}

function ExtendContracts({ onClose, ...many }: SelectedInDialog<Account>) {
  const countText = countOf(many.selected);
  const latest = Math.max(...many.selected.map(({ expiry }) => expiry));
  return (
    <FormDialog
      title={`Change when the contracts of ${countText} end`}
      verb={`Change ${countText}`}
      kind="primary"
      onClose={onClose}
      onSubmit={(fields) => {
        const expiry = expiryOf(fields, latest) ?? latest;
        return changeMany(
          many,
          { expiry },
          (account) => ({ expiry: account.expiry }),
          (changed) => `The contracts of ${changed} end ${dateTime(expiry)}.`,
        );
      }}
    >
      <ExactExpiryField label="Contract ends" at={latest} />
    </FormDialog>
  );
}
