// Removes something of a user: all tokens, all sessions, the whole sign-in, or the personal data.
import { change, changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { count } from '../format.ts';
import { FormDialog } from '../forms/form_dialog.tsx';
import type { User } from './user.ts';

interface EndingProps {
  user: User;
  onClose: () => void;
}

export function InvalidateTokensDialog({ user, onClose }: EndingProps) {
  const scope = useScope();
  const { name } = user;
  return (
    <FormDialog
      title={`Invalidate all tokens of ${name}`}
      verb={`Invalidate all tokens of ${name}`}
      onClose={onClose}
      onSubmit={async () => {
        await changeIn(scope, 'raise_token_version', { path: { user: name } });
        return `All proxy access tokens and VPN passwords of ${name} are now invalid.`;
      }}
    >
      <p>
        <strong>
          All current proxy access tokens and VPN passwords of {name} stop working at once, on all
          servers,
        </strong>{' '}
        and open tunnels end. Programs need a new token, and devices a new VPN profile. This can’t
        be undone.
      </p>
      <p class="note">
        The user’s token_version rises from {user.token_version} to {user.token_version + 1}.
        Authlist entries and the sign-in to this console don’t change.
      </p>
    </FormDialog>
  );
}

export function EndSessionsDialog({ user, onClose }: EndingProps) {
  const scope = useScope();
  const { name, sign_in } = user;
  return (
    <FormDialog
      title={`End all sessions of ${name}`}
      verb={sign_in.sessions > 0 ? `End ${count(sign_in.sessions, 'session')}` : 'End all sessions'}
      onClose={onClose}
      onSubmit={async () => {
        await changeIn(scope, 'end_user_sessions', { path: { user: name } });
        return `All sessions of ${name} have ended.`;
      }}
    >
      <p>
        {name === scope.user
          ? 'You’re signed out everywhere, including here, and can sign in again.'
          : `${name} is signed out in every browser, and can sign in again.`}{' '}
        Proxy access tokens keep working.
      </p>
    </FormDialog>
  );
}

export function EraseDialog({ user, onClose }: EndingProps) {
  const { account } = useScope();
  const { name } = user;
  return (
    <FormDialog
      title={`Erase ${name}`}
      verb={`Erase ${name} for good`}
      onClose={onClose}
      onSubmit={async () => {
        const path = { account, user: name };
        const { pseudonym } = await change('admin_erase_user', { path });
        return `The person is erased; the record is now named ${pseudonym}.`;
      }}
    >
      <p>
        <strong>All access of {name} ends at once, and can’t be restored.</strong> In records and in
        the audit log, a pseudonym replaces the names, and the addresses are removed.
      </p>
      <p class="note">
        The authlist entries of {name} are removed, too. Usage stays. Earlier backups contain the
        names until they are deleted.
      </p>
    </FormDialog>
  );
}

export function ResetSignInDialog({ user, onClose }: EndingProps) {
  const scope = useScope();
  const { name, sign_in } = user;
  const lost = [
    sign_in.has_password && 'the password',
    sign_in.second_factor && 'the second factor with its recovery codes',
    sign_in.invited_until !== null && 'the open invitation',
    sign_in.sessions > 0 && count(sign_in.sessions, 'open session'),
  ].filter((text) => text !== false);
  return (
    <FormDialog
      title={`Reset the sign-in of ${name}`}
      verb={`Reset the sign-in of ${name}`}
      onClose={onClose}
      onSubmit={async () => {
        await changeIn(scope, 'reset_user_sign_in', { path: { user: name } });
        return `${name} cannot sign in until you send an invitation.`;
      }}
    >
      <p>This takes away from {name}, at once:</p>
      <ul class="plain-list">
        {lost.map((loss) => (
          <li key={loss}>{loss}</li>
        ))}
      </ul>
      <p>
        {name === scope.user
          ? 'This is you: you’ll be signed out, and need another admin’s invitation to sign in again.'
          : `${name} needs a new invitation to sign in again.`}{' '}
        Proxy access tokens keep working.
      </p>
    </FormDialog>
  );
}
