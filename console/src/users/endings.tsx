// What takes something away from a user: all tokens, all sessions, or the whole sign-in.
import type { ComponentChildren } from 'preact';
import { change } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { session } from '../api/session.ts';
import { count } from '../format.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Form } from '../ui/form.tsx';
import { notify } from '../ui/toast.tsx';
import type { User } from './form.tsx';

interface EndingProps {
  user: User;
  onClose: () => void;
}

const isSelf = (user: User) => user.name === session.value?.user.name;

export function InvalidateTokensDialog({ user, onClose }: EndingProps) {
  const { name } = user;
  return (
    <Ending
      title={`Invalidate all tokens of ${name}`}
      verb={`Invalidate all tokens of ${name}`}
      onClose={onClose}
      onSubmit={async () => {
        await change('console_raise_token_version', { path: { user: name } });
        notify(`All proxy access tokens of ${name} made so far are invalid.`);
      }}
    >
      <p>
        <strong>
          Every proxy access token made for {name} so far stops working at once, on all servers.
        </strong>{' '}
        Programs that use one need a new token. This cannot be undone.
      </p>
      <p class="note">
        The user’s token_version rises from {user.token_version} to {user.token_version + 1}.
        Authlist entries, and the sign-in to this console, stay as they are.
      </p>
    </Ending>
  );
}

export function EndSessionsDialog({ user, onClose }: EndingProps) {
  const { name, sign_in } = user;
  return (
    <Ending
      title={`End all sessions of ${name}`}
      verb={sign_in.sessions > 0 ? `End ${count(sign_in.sessions, 'session')}` : 'End all sessions'}
      onClose={onClose}
      onSubmit={async () => {
        await change('console_end_user_sessions', { path: { user: name } });
        notify(`All sessions of ${name} have ended.`);
      }}
    >
      <p>
        {isSelf(user)
          ? 'You are signed out everywhere, here too, and can sign in again.'
          : `${name} is signed out in every browser, and can sign in again.`}{' '}
        Proxy access tokens go on working.
      </p>
    </Ending>
  );
}

export function ResetSignInDialog({ user, onClose }: EndingProps) {
  const { name, sign_in } = user;
  const lost = [
    sign_in.has_password && 'the password',
    sign_in.second_factor && 'the second factor with its recovery codes',
    sign_in.invited_until !== null && 'the open invitation',
    sign_in.sessions > 0 && count(sign_in.sessions, 'open session'),
  ].filter((one) => one !== false);
  return (
    <Ending
      title={`Reset the sign-in of ${name}`}
      verb={`Reset the sign-in of ${name}`}
      onClose={onClose}
      onSubmit={async () => {
        await change('console_reset_user_sign_in', { path: { user: name } });
        notify(`${name} cannot sign in until you send an invitation.`);
      }}
    >
      <p>This takes away from {name}, at once:</p>
      <ul class="plain-list">
        {lost.map((one) => (
          <li key={one}>{one}</li>
        ))}
      </ul>
      <p>
        {isSelf(user)
          ? 'That is you: you are signed out now, and only another admin’s invitation lets you in again.'
          : `${name} can sign in again only by a new invitation.`}{' '}
        Proxy access tokens go on working.
      </p>
    </Ending>
  );
}

function Ending({
  title,
  verb,
  onClose,
  onSubmit,
  children,
}: {
  title: string;
  verb: string;
  onClose: () => void;
  onSubmit: () => Promise<void>;
  children: ComponentChildren;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        kind="danger"
        verb={verb}
        explain={explain}
        onCancel={onClose}
        onSubmit={async () => {
          await onSubmit();
          onClose();
        }}
      >
        {children}
      </Form>
    </Dialog>
  );
}
