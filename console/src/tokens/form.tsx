// API tokens: creating one, showing the text of one, and revoking one.
import { useState } from 'preact/hooks';
import { type AccountResponse, change, changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { FormDialog, MakerDialog } from '../forms/form_dialog.tsx';
import { lifetimeOptions, lifetimes } from '../forms/lifetimes.ts';
import {
  ConfirmPassword,
  confirmationOf,
  lacksPassword,
  PasswordField,
  SetPasswordFirst,
} from '../forms/password.tsx';
import { now } from '../now.ts';
import { Since } from '../relative_time.tsx';
import { CheckField, Copy, Dialog, SelectField, ShownOnce, TextField, textOf } from '../ui/ui.ts';

export type ApiToken = AccountResponse<'list_tokens'>[number];

export function NewApiTokenDialog({ onClose }: { onClose: () => void }) {
  const scope = useScope();
  const [readOnly, setReadOnly] = useState(false);
  const make = (fields: FormData) => {
    const seconds = Number(textOf(fields, 'expiry'));
    const body = {
      name: textOf(fields, 'name'),
      read_only: fields.has('read_only'),
      ...(seconds > 0 ? { expiry: now.value + seconds } : {}),
      ...confirmationOf(fields),
    };
    return changeIn(scope, 'create_token', { body });
  };
  const { day, week, month, quarter, year } = lifetimes;
  return (
    <MakerDialog
      title="New API token"
      titleOf={({ name }) => `API token ${name}`}
      verb="Create token"
      make={make}
      shown={(token) => <NewApiToken token={token} onDone={onClose} />}
      onClose={onClose}
    >
      <TextField
        label="Name"
        name="name"
        required
        maxLength={64}
        hint="The program that uses it, so that you know what stops when you revoke it."
      />
      <SelectField
        label="Expires"
        name="expiry"
        options={[
          { value: '', text: 'Never' },
          ...lifetimeOptions(day, week, month, quarter, year).map(({ value, text }) => ({
            value,
            text: `In ${text}`,
          })),
        ]}
      />
      <CheckField
        label="Read-only"
        name="read_only"
        hint="It can read everything in the account but change nothing. Use it for reports and monitoring."
        onChange={(event) => setReadOnly(event.currentTarget.checked)}
      />
      {!readOnly && <ConfirmPassword why="For a token with full access, you" />}
    </MakerDialog>
  );
}

interface NewApiTokenProps {
  token: AccountResponse<'create_token'>;
  onDone: () => void;
}

function NewApiToken({ token: { api_token, viewable }, onDone }: NewApiTokenProps) {
  const { isOperator } = useScope();
  const viewing = isOperator
    ? 'You can view it again later; the audit log records that.'
    : 'An admin can view it again later with their password.';
  return (
    <ShownOnce
      name="the token"
      text={api_token}
      lead={viewable ? `${viewing}` : 'Copy it now. It won’t be shown again.'}
      onDone={onDone}
    >
      {!isOperator && (
        <div class="stack-tight">
          <h3>Try it</h3>
          <Copy text={curlWith(api_token)} name="the curl line" />
        </div>
      )}
    </ShownOnce>
  );
}

/** A request that shows the contract, in the current variant. */
export function curlWith(token: string): string {
  return `curl -u :${token} ${location.origin}/v0/contract`;
}

interface OfToken {
  token: ApiToken;
  onClose: () => void;
}

/** Users enter their password again; operators need not: their token has no password. */
export function ViewApiTokenDialog({ token: { id, name }, onClose }: OfToken) {
  const scope = useScope();
  const title = `View ${name}`;
  if (lacksPassword(scope)) {
    return (
      <Dialog title={title} onClose={onClose}>
        <SetPasswordFirst why="To view an API token, you" />
      </Dialog>
    );
  }
  const view = (fields: FormData) =>
    scope.isOperator
      ? change('admin_view_account_token', { path: { account: scope.account, id } })
      : changeIn(scope, 'view_token', {
          path: { id },
          body: { password: String(fields.get('password')) },
        });
  return (
    <MakerDialog
      title={title}
      verb="View the token"
      make={view}
      shown={({ api_token }) => (
        <ShownOnce
          name="the token"
          text={api_token}
          lead={
            <>
              The API token <strong>{name}</strong>:
            </>
          }
          onDone={onClose}
        />
      )}
      onClose={onClose}
    >
      <p>
        Anyone with this token has its access to the account. The account’s activity shows that you
        viewed it.
      </p>
      {!scope.isOperator && <PasswordField label="Your password" />}
    </MakerDialog>
  );
}

export function RevokeApiTokenDialog({ token, onClose }: OfToken) {
  const scope = useScope();
  const { id, name, last_used_at, read_only } = token;
  const revoke = async () => {
    await changeIn(scope, 'remove_token', { path: { id } });
    return `Revoked the API token ${name}.`;
  };
  return (
    <FormDialog
      title={`Revoke ${name}`}
      verb={`Revoke ${name}`}
      onSubmit={revoke}
      onClose={onClose}
    >
      <p>
        <strong>
          Requests with the {read_only ? 'read-only ' : ''}API token {name} get 401 at once.
        </strong>{' '}
        This can’t be undone. Programs that use it need a new token.
      </p>
      <p class="note">
        {last_used_at === null ? (
          'It has never been used.'
        ) : (
          <>
            It was last used <Since at={last_used_at} />.
          </>
        )}
      </p>
    </FormDialog>
  );
}
