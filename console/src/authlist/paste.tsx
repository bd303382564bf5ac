// The dialog that adds many addresses, one per line: checks each line first, then adds all or none.
import { useState } from 'preact/hooks';
import { type AccountResponse, changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { count } from '../format.ts';
import { ExpiryField, expiryOf } from '../forms/expiry_field.tsx';
import { NoteField } from '../forms/note.tsx';
import { undoBy } from '../forms/undo.ts';
import { Dialog, Form, LinesField, notify, textOf } from '../ui/ui.ts';
import { UserField } from './form.tsx';

type Outcome = AccountResponse<'add_addresses'>;

export function PasteAddresses({ onClose }: { onClose: () => void }) {
  const scope = useScope();
  /** The outcome for the current lines. */
  const [checked, setChecked] = useState<Outcome>();
  const faults = checked?.lines.filter(({ outcome }) => outcome === 'fault') ?? [];
  const isReady = checked !== undefined && faults.length === 0 && checked.added > 0;
  const submit = async (fields: FormData) => {
    const addresses = textOf(fields, 'addresses');
    const [user, note] = [textOf(fields, 'user'), textOf(fields, 'note')];
    const body = { addresses, user, note, expiry: expiryOf(fields) ?? 0 };
    if (!isReady) {
      setChecked(await changeIn(scope, 'add_addresses', { body: { ...body, dry_run: true } }));
      return;
    }
    const { added, lines } = await changeIn(scope, 'add_addresses', { body });
    onClose();
    const ids = lines.flatMap(({ id }) => id ?? []);
    const back = async () => {
      await changeIn(scope, 'remove_authlist_entries', { body: { ids } });
      return `${addressesIn(added)} off the list again.`;
    };
    const about = ids.map((id) => `authlist/${id}`);
    notify(
      `${addressesIn(added)} listed for ${user}.`,
      undoBy(back, { about, until: body.expiry }),
    );
  };
  return (
    <Dialog title="Add several addresses" onClose={onClose} look="wide">
      {/* A change of the lines or the user makes the outcome obsolete. */}
      <div onInput={() => setChecked(undefined)}>
        <Form
          verb={isReady ? `Add ${addressesIn(checked.added)}` : 'Check the lines'}
          onSubmit={submit}
          onCancel={onClose}
        >
          <LinesField
            label="Addresses"
            name="addresses"
            hint="One per line, at most 1,000. Text after # is the entry’s note."
            rows={9}
            placeholder={'203.0.113.7\n203.0.113.8  # office Berlin\n2001:db8::7'}
          />
          <UserField user={undefined} />
          <ExpiryField />
          <NoteField hint="For every line without its own note." />
          <Summary checked={checked} />
        </Form>
      </div>
    </Dialog>
  );
}

const addressesIn = (number: number) => count(number, 'address', 'addresses');

/** Always present, so that screen readers announce its text. */
function Summary({ checked }: { checked: Outcome | undefined }) {
  const of = (wanted: string) => checked?.lines.filter(({ outcome }) => outcome === wanted) ?? [];
  const faults = of('fault');
  const parts = [
    `${addressesIn(checked?.added ?? 0)} to add`,
    ...(of('listed').length > 0 ? [`${of('listed').length} listed already`] : []),
    ...(of('repeated').length > 0 ? [`${of('repeated').length} repeated`] : []),
    ...(faults.length > 0
      ? [`${count(faults.length, 'line')} with a fault: nothing can be added until they are mended`]
      : []),
  ];
  return (
    <div role="status">
      {checked && <p class={faults.length > 0 ? 'banner' : 'banner notice'}>{parts.join(', ')}.</p>}
      {faults.length > 0 && (
        <ul class="line-faults">
          {faults.map(({ line, ip, message }) => (
            <li key={line}>
              <span class="numeric">Line {line}</span> <span class="mono">{ip}</span>
              <span class="fault">{message}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
