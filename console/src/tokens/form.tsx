// API tokens: a new one, the text of one that is there, and revoking one.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { PasswordField } from '../account/sign_in/password.tsx';
import type { Answer } from '../api/api.ts';
import { change } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { session } from '../api/session.ts';
import { lifetimeOptions, lifetimes } from '../forms/lifetimes.ts';
import { now } from '../now.ts';
import { paths } from '../paths.ts';
import { Since } from '../relative_time.tsx';
import { Copy } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { CheckField, SelectField, TextField } from '../ui/field.tsx';
import { Form, textOf } from '../ui/form.tsx';
import { ShownOnce } from '../ui/shown_once.tsx';
import { notify } from '../ui/toast.tsx';

export type ApiToken = Answer<'console_list_tokens'>[number];

export function NewApiTokenDialog({ onClose }: { onClose: () => void }) {
  const [token, setToken] = useState<Answer<'console_create_token'>>();
  const [lifetime, setLifetime] = useState('');
  const create = async (fields: FormData) => {
    const seconds = Number(textOf(fields, 'expiry'));
    setToken(
      await change('console_create_token', {
        body: {
          name: textOf(fields, 'name'),
          read_only: fields.has('read_only'),
          ...(seconds > 0 ? { expiry: now.value + seconds } : {}),
        },
      }),
    );
  };
  const { day, week, month, quarter, year } = lifetimes;
  return (
    <Dialog title={token ? `API token ${token.name}` : 'New API token'} onClose={onClose}>
      {token ? (
        <ShownOnce
          what="the token"
          text={token.api_token}
          lead={
            token.viewable
              ? 'Here it is. An admin who gives the password can view it again later.'
              : 'Copy it now: it is not shown again, to nobody.'
          }
          onDone={onClose}
        >
          <div class="stack-tight">
            <h3>Try it</h3>
            <Copy text={curlWith(token.api_token)} what="the curl line" />
          </div>
        </ShownOnce>
      ) : (
        <Form verb="Make the token" explain={explain} onSubmit={create} onCancel={onClose}>
          <TextField
            label="Name"
            name="name"
            required
            maxLength={64}
            hint="What uses it, so that you know later what revoking it stops."
          />
          <SelectField
            label="Expires"
            name="expiry"
            value={lifetime}
            onInput={setLifetime}
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
            hint="It reads everything of the account, and changes nothing: for reports and monitoring."
          />
        </Form>
      )}
    </Dialog>
  );
}

/** A request that shows the contract, in the current interface. */
export function curlWith(token: string): string {
  return `curl -u :${token} ${location.origin}/v0/contract`;
}

interface OfToken {
  token: ApiToken;
  onClose: () => void;
}

export function ViewApiTokenDialog({ token: { id, name }, onClose }: OfToken) {
  const [text, setText] = useState<string>();
  const view = async (fields: FormData) => {
    const { api_token } = await change('console_view_token', {
      path: { id },
      body: { password: String(fields.get('password')) },
    });
    setText(api_token);
  };
  const title = `View ${name}`;
  if (!session.value?.has_password) {
    return (
      <Dialog title={title} onClose={onClose}>
        <p>
          To view an API token you give your password anew, and you have none yet.{' '}
          <Link href={paths.signIn}>Set a password first</Link>.
        </p>
      </Dialog>
    );
  }
  return (
    <Dialog title={title} onClose={onClose}>
      {text === undefined ? (
        <Form verb="View the token" explain={explain} onSubmit={view} onCancel={onClose}>
          <p>
            Whoever has this token can do with the account what it allows. That you viewed it is
            noted in the account’s activity.
          </p>
          <PasswordField label="Your password" />
        </Form>
      ) : (
        <ShownOnce
          what="the token"
          text={text}
          lead={
            <>
              The API token <strong>{name}</strong>:
            </>
          }
          onDone={onClose}
        />
      )}
    </Dialog>
  );
}

export function RevokeApiTokenDialog({ token, onClose }: OfToken) {
  const { id, name, last_used_at, read_only } = token;
  const revoke = async () => {
    await change('console_remove_token', { path: { id } });
    onClose();
    notify(`Revoked the API token ${name}.`);
  };
  return (
    <Dialog title={`Revoke ${name}`} onClose={onClose}>
      <Form
        kind="danger"
        verb={`Revoke ${name}`}
        explain={explain}
        onSubmit={revoke}
        onCancel={onClose}
      >
        <p>
          <strong>
            Requests with the {read_only ? 'read-only ' : ''}API token {name} get 401 at once.
          </strong>{' '}
          It cannot be brought back; programs that use it need another one.
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
      </Form>
    </Dialog>
  );
}
