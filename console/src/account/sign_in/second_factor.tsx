// The user's second factor: its setup with an authenticator app, recovery codes, and removal.
import { useState } from 'preact/hooks';
import type { ResponseOf } from '../../api/api.ts';
import { change } from '../../api/reading.ts';
import { readSession, session } from '../../api/session.ts';
import { FormDialog } from '../../forms/form_dialog.tsx';
import { PasswordField } from '../../forms/password.tsx';
import { Copy, Dialog, Form, StartingFocus, TextField } from '../../ui/ui.ts';
import { QrCode } from './qr_code.tsx';
import { RecoveryCodes } from './recovery_codes.tsx';
import { codeOf } from './second_factor_field.tsx';

type Pending = ResponseOf<'console_begin_second_factor'>;

/** Three steps: the password, a code of the app, and the recovery codes. */
export function EnrolDialog({ onClose }: { onClose: () => void }) {
  const [pending, setPending] = useState<Pending>();
  const [codes, setCodes] = useState<string[]>();
  const replaces = session.value?.second_factor ?? false;

  const begin = async (fields: FormData) => {
    const body = { password: String(fields.get('password')) };
    setPending(await change('console_begin_second_factor', { body }));
  };
  const confirm = async (fields: FormData) => {
    const body = { code: codeOf(fields, 'code') ?? '' };
    const { recovery_codes } = await change('console_confirm_second_factor', { body });
    setCodes(recovery_codes);
    await readSession();
  };
  const step = codes ? 3 : pending ? 2 : 1;
  const titles = ['', 'Set up a second factor', 'Add it to your app', 'Save your recovery codes'];
  return (
    <Dialog title={titles[step] ?? ''} onClose={onClose}>
      <p class="note">{`Step ${step} of 3`}</p>
      {codes ? (
        <StartingFocus>
          <RecoveryCodes codes={codes} onDone={onClose} />
        </StartingFocus>
      ) : pending ? (
        <StartingFocus>
          <Form key="code" verb="Turn it on" onSubmit={confirm} onCancel={onClose}>
            <p>Scan this with an authenticator app on your phone, or enter the secret.</p>
            <QrCode text={pending.url} label="QR code of the secret below" />
            <div class="shown-once">
              <Copy text={pending.secret} shown={inFours(pending.secret)} name="the secret" />
            </div>
            <TextField
              label="Code"
              name="code"
              inputMode="numeric"
              autocomplete="one-time-code"
              required
              hint="The six digits that the app shows now."
            />
          </Form>
        </StartingFocus>
      ) : (
        <Form key="password" verb="Continue" onSubmit={begin} onCancel={onClose}>
          <p>
            {replaces
              ? 'Your current app works until you confirm the new one. Then it stops working, and so do your current recovery codes.'
              : 'You’ll sign in with your password and a code from an authenticator app on your phone.'}
          </p>
          <PasswordField label="Your password" />
        </Form>
      )}
    </Dialog>
  );
}

/** Groups of four are easier to type. */
const inFours = (secret: string) => secret.replace(/(.{4})(?=.)/g, '$1 ');

export function RemoveSecondFactorDialog({ onClose }: { onClose: () => void }) {
  const remove = async (fields: FormData) => {
    const body = { password: String(fields.get('password')) };
    await change('console_remove_second_factor', { body });
    await readSession();
    return 'Second factor turned off.';
  };
  return (
    <FormDialog
      title="Turn off the second factor"
      verb="Turn it off"
      onSubmit={remove}
      onClose={onClose}
    >
      <p>You’ll sign in with your password only. Your recovery codes stop working.</p>
      <PasswordField label="Your password" />
    </FormDialog>
  );
}
