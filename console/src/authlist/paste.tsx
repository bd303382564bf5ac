// The dialog that adds many addresses, one per line: checks each line first, then adds those
// without problems.
import { useRef, useState } from 'preact/hooks';
import { type AccountResponse, changeIn } from '../api/reading.ts';
import { type Scope, useScope } from '../api/scope.ts';
import { count } from '../format.ts';
import { ExpiryField, expiryOf } from '../forms/expiry_field.tsx';
import { NoteField } from '../forms/note.tsx';
import { undoBy } from '../forms/undo.ts';
import { inTab } from '../stored.ts';
import { Button, Dialog, Form, LinesField, notify, textOf } from '../ui/ui.ts';
import { UserField } from './form.tsx';

type Outcome = AccountResponse<'add_addresses'>;

/** The text is in this tab's storage until it is added: Escape and a reload lose nothing. */
const draftOf = ({ account, user = '' }: Scope) => `exitward-addresses ${account}/${user}`;

export function PasteAddresses({ onClose }: { onClose: () => void }) {
  const scope = useScope();
  const draft = draftOf(scope);
  const [text, setText] = useState(() => inTab.get(draft) ?? '');
  /** The outcome for the current lines. */
  const [checked, setChecked] = useState<Outcome>();
  const field = useRef<HTMLTextAreaElement>(null);
  const faults = checked?.lines.filter(({ outcome }) => outcome === 'fault') ?? [];
  const isReady = checked !== undefined && checked.added > 0;
  const keep = (next: string) => {
    setText(next);
    if (next === '') inTab.remove(draft);
    else inTab.set(draft, next);
  };
  const jumpTo = (line: number) => {
    const before = text
      .split('\n')
      .slice(0, line - 1)
      .join('\n');
    const start = line === 1 ? 0 : before.length + 1;
    const { length = 0 } = text.split('\n')[line - 1] ?? '';
    field.current?.focus();
    field.current?.setSelectionRange(start, start + length);
  };
  const submit = async (fields: FormData) => {
    const [user, note] = [textOf(fields, 'user'), textOf(fields, 'note')];
    const body = { user, note, expiry: expiryOf(fields) ?? 0 };
    const isWrong = (_: string, at: number) => faults.some(({ line }) => line === at + 1);
    const lines = text.split('\n');
    const good = lines.filter((line, at) => !isWrong(line, at)).join('\n');
    if (!isReady) {
      const tried = { ...body, addresses: text, dry_run: true };
      setChecked(await changeIn(scope, 'add_addresses', { body: tried }));
      return;
    }
    const outcome = await changeIn(scope, 'add_addresses', { body: { ...body, addresses: good } });
    setChecked(undefined);
    keep(lines.filter(isWrong).join('\n'));
    // The lines with problems stay, to be fixed.
    if (faults.length === 0) onClose();
    const ids = outcome.lines.flatMap(({ id }) => id ?? []);
    const back = async () => {
      await changeIn(scope, 'remove_authlist_entries', { body: { ids } });
      return `${addressesIn(outcome.added)} removed again.`;
    };
    const about = ids.map((id) => `authlist/${id}`);
    notify(
      `${addressesIn(outcome.added)} listed for ${user}.`,
      undoBy(back, { about, until: body.expiry }),
    );
  };
  return (
    <Dialog title="Add several addresses" onClose={onClose} look="wide">
      {/* A change of the lines or the user makes the outcome obsolete. */}
      <div onInput={() => setChecked(undefined)}>
        <Form
          verb={
            !isReady
              ? 'Check the lines'
              : faults.length > 0
                ? `Add the other ${checked.added.toLocaleString('en')}`
                : `Add ${addressesIn(checked.added)}`
          }
          onSubmit={submit}
          onCancel={onClose}
        >
          <LinesField
            label="Addresses"
            name="addresses"
            hint="One per line, at most 1,000. Text after # is the entry’s note."
            rows={9}
            placeholder={'203.0.113.7\n203.0.113.8  # office Berlin\n2001:db8::7'}
            value={text}
            onInput={({ currentTarget }) => keep(currentTarget.value)}
            field={field}
            marked={faults.map(({ line }) => line)}
          />
          <UserField user={undefined} />
          <ExpiryField />
          <NoteField hint="For lines without their own note." />
          <Summary checked={checked} onJump={jumpTo} />
        </Form>
      </div>
    </Dialog>
  );
}

const addressesIn = (number: number) => count(number, 'address', 'addresses');

interface SummaryProps {
  checked: Outcome | undefined;
  onJump: (line: number) => void;
}

/** Always present, so that screen readers announce its text. */
function Summary({ checked, onJump }: SummaryProps) {
  const linesWith = (wanted: string) =>
    checked?.lines.filter(({ outcome }) => outcome === wanted) ?? [];
  const [faults, listed, repeated] = [
    linesWith('fault'),
    linesWith('listed'),
    linesWith('repeated'),
  ];
  const skipped = [
    ...(listed.length > 0 ? [`${listed.length} listed already`] : []),
    ...(repeated.length > 0 ? [`${repeated.length} repeated`] : []),
  ];
  return (
    <div role="status">
      {checked && (
        <p class={faults.length > 0 ? 'banner' : 'banner notice'}>
          {faults.length > 0 &&
            `${faults.length} of ${count(checked.lines.length, 'line')} ${faults.length === 1 ? 'has a problem' : 'have problems'}. `}
          {`${addressesIn(checked.added)} to add${skipped.length > 0 ? `; skipped: ${skipped.join(', ')}` : ''}.`}
        </p>
      )}
      {faults.length > 0 && (
        <ul class="line-faults">
          {faults.map(({ line, ip, message }) => (
            <li key={line}>
              <Button kind="quiet" onClick={() => onJump(line)}>
                Line {line}
              </Button>{' '}
              <span class="mono">{ip}</span>
              <span class="fault">{message}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
