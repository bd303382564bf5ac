// Removes something of a user: all tokens, all sessions, the whole sign-in, or the personal data.
import { change, changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { count } from '../format.ts';
import { FormDialog } from '../forms/form_dialog.tsx';
import type { User } from './form.tsx';

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
        return `All proxy access tokens and VPN passwords of ${name} made so far are invalid.`;
      }}
    >
      <p>
        <strong>
          Every proxy access token made for {name} so far stops working at once, on all servers.
        </strong>{' '}
        So does every VPN password of {name}, and open tunnels end. Programs that use a token need a
        new one, devices another profile. This cannot be undone.
      </p>
      <p class="note">
        The user’s token_version rises from {user.token_version} to {user.token_version + 1}.
        Authlist entries, and the sign-in to this console, stay as they are.
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
          ? 'You are signed out everywhere, here too, and can sign in again.'
          : `${name} is signed out in every browser, and can sign in again.`}{' '}
        Proxy access tokens go on working.
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
        <strong>All access of {name} ends at once, and cannot be given back.</strong> A pseudonym
        takes the place of the names, and the addresses go, in records and in the audit log.
      </p>
      <p class="note">
        The authlist entries of {name} go too. Usage stays. Backups made before keep the names until
        they go.
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
          ? 'That is you: you are signed out now, and only another admin’s invitation lets you in again.'
          : `${name} can sign in again only by a new invitation.`}{' '}
        Proxy access tokens go on working.
      </p>
    </FormDialog>
  );
}
