// The code of the second factor at sign-in: from the app, or a recovery code.
import { useContext, useState } from 'preact/hooks';
import { FieldFaults, StartingFocus, TextField } from '../../ui/ui.ts';

/** `name` is the field of the request. Read it with `codeOf`. */
export function SecondFactorField({ name }: { name: string }) {
  const [recovers, setRecovers] = useState(false);
  // An error of one kind of code does not apply to the other.
  const faults = useContext(FieldFaults);
  const [settled, setSettled] = useState<typeof faults>();
  return (
    <FieldFaults.Provider value={faults === settled ? [] : faults}>
      {recovers ? (
        <StartingFocus key="recovery">
          <TextField
            label="Recovery code"
            name={name}
            required
            autocapitalize="off"
            hint="One of the ten that you saved, such as k3vd-9x0p-w2mr. Each works once."
          />
        </StartingFocus>
      ) : (
        <TextField
          key="app"
          label="Code"
          name={name}
          inputMode="numeric"
          autocomplete="one-time-code"
          required
          hint="Six digits from your authenticator app."
        />
      )}
      <button
        type="button"
        class="text-button"
        onClick={() => {
          setSettled(faults);
          setRecovers(!recovers);
        }}
      >
        {recovers ? 'Use the authenticator app' : 'No phone? Use a recovery code'}
      </button>
    </FieldFaults.Provider>
  );
}

/** The code as it is sent; undefined when the form has none. */
export function codeOf(fields: FormData, name: string): string | undefined {
  const code = String(fields.get(name) ?? '').replace(/\s/g, '');
  return code === '' ? undefined : code;
}
