// Passwords: fields for the present and a new one, and the form that sets the user's own.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { change } from '../api/reading.ts';
import { type Scope, useScope } from '../api/scope.ts';
import { facts, readSession, session } from '../api/session.ts';
import { paths } from '../paths.ts';
import { Field, TextField } from '../ui/ui.ts';
import { FormDialog } from './form_dialog.tsx';

/** Lets password managers know whose password the form is about. */
export function UsernameForManagers({ user }: { user: string }) {
  return <input type="text" name="username" autocomplete="username" value={user} readOnly hidden />;
}

/** The present password of the user, required again. */
export function PasswordField({ label, name = 'password' }: { label: string; name?: string }) {
  return (
    <>
      <UsernameForManagers user={session.value?.user.name ?? ''} />
      <TextField
        label={label}
        name={name}
        type="password"
        required
        autocomplete="current-password"
      />
    </>
  );
}

/**
 * Requires users to enter their password again. Operators need not: their token has no password.
 * `why` ends in "you".
 */
export function ConfirmPassword({ why }: { why: string }) {
  const scope = useScope();
  if (scope.isOperator) return null;
  if (lacksPassword(scope)) return <SetPasswordFirst why={why} />;
  return <PasswordField label="Your password" />;
}

export function SetPasswordFirst({ why }: { why: string }) {
  return (
    <p>
      {why} need to enter your password, and you have none yet.{' '}
      <Link href={paths.signIn}>Set a password first</Link>.
    </p>
  );
}

/** Whether a user who must enter a password again has none. */
export const lacksPassword = ({ isOperator }: Scope) => !isOperator && !session.value?.has_password;

/** The password of a form, as bodies name it; empty if the form did not ask for it. */
export function confirmationOf(fields: FormData): { password?: string } {
  return fields.has('password') ? { password: String(fields.get('password')) } : {};
}

/** A new password; only its length is checked while typing. */
export function NewPasswordField() {
  const [length, setLength] = useState(0);
  const [isShown, setIsShown] = useState(false);
  const least = facts.value?.min_password_length ?? 12;
  return (
    <Field
      label="New password"
      name="password"
      hint={
        length === 0 || length >= least
          ? `At least ${least} characters; several words in a row are easy to remember.${length > 0 ? ' Good.' : ''}`
          : `${length} of at least ${least} characters.`
      }
    >
      {(given) => (
        <div class="password-input">
          <input
            {...given}
            type={isShown ? 'text' : 'password'}
            required
            minLength={least}
            autocomplete="new-password"
            autocapitalize="off"
            spellcheck={false}
            onInput={(event) => setLength([...event.currentTarget.value].length)}
          />
          <button
            type="button"
            class="button quiet"
            aria-pressed={isShown}
            aria-label="Show the new password"
            onClick={() => setIsShown(!isShown)}
          >
            {isShown ? 'Hide' : 'Show'}
          </button>
        </div>
      )}
    </Field>
  );
}

/** Sets or changes the user's own password. */
export function PasswordDialog({ onClose }: { onClose: () => void }) {
  const { has_password, user } = session.value ?? {};
  const save = async (fields: FormData) => {
    await change('console_change_password', {
      body: {
        ...(has_password ? { current_password: String(fields.get('current_password')) } : {}),
        password: String(fields.get('password')),
      },
    });
    await readSession();
    return has_password ? 'Password changed.' : 'Password set.';
  };
  return (
    <FormDialog
      title={has_password ? 'Change your password' : 'Set a password'}
      verb={has_password ? 'Change the password' : 'Set the password'}
      kind="primary"
      onSubmit={save}
      onClose={onClose}
    >
      {has_password ? (
        <PasswordField label="Current password" name="current_password" />
      ) : (
        <UsernameForManagers user={user?.name ?? ''} />
      )}
      <NewPasswordField />
      <p class="note">Your other sessions end. This one stays.</p>
    </FormDialog>
  );
}
