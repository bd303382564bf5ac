// Invites a user to set a password: the link is shown once, to be passed on.

import { change, changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { dateTime } from '../format.ts';
import { MakerDialog } from '../forms/form_dialog.tsx';
import { lacksPassword, PasswordField, SetPasswordFirst } from '../forms/password.tsx';
import { Until } from '../relative_time.tsx';
import { Dialog, ShownOnce } from '../ui/ui.ts';
import type { User } from './user.ts';

interface InviteDialogProps {
  user: User;
  /** Whether the user was added just now. */
  isNew?: boolean;
  onClose: () => void;
}

export function InviteDialog({ user, isNew = false, onClose }: InviteDialogProps) {
  const scope = useScope();
  const { name, sign_in } = user;
  const title = isNew ? `${name} was added` : `Invite ${name}`;
  const proxiesWork = isNew && (
    <p>To sign in to the console, {name} needs an invitation. Proxies work without one.</p>
  );
  if (lacksPassword(scope)) {
    return (
      <Dialog title={title} onClose={onClose}>
        {proxiesWork}
        <SetPasswordFirst why="To invite a user, you" />
      </Dialog>
    );
  }
  const invite = (fields: FormData) =>
    scope.isOperator
      ? change('admin_invite_user', { path: { account: scope.account, user: name } })
      : changeIn(scope, 'invite_user', {
          path: { user: name },
          body: { password: String(fields.get('password')) },
        });
  return (
    <MakerDialog
      title={title}
      verb="Create link"
      make={invite}
      onClose={onClose}
      shown={({ url, expiry }) => (
        <ShownOnce
          name="the link"
          text={url}
          lead={
            <>
              Send this link to {name} over a private channel. It works once, until{' '}
              {dateTime(expiry)}, and won’t be shown again.
            </>
          }
          onDone={onClose}
        />
      )}
    >
      {proxiesWork}
      <p>
        You get a link to pass on. It works once, within 7 days: the person who opens it sets the
        password of <strong>{name}</strong> and is signed in.
      </p>
      {sign_in.invited_until !== null && (
        <p class="banner notice">
          The previous link, which ends <Until at={sign_in.invited_until} />, stops working.
        </p>
      )}
      {sign_in.has_password && (
        <p class="banner notice">
          The current password works until the link is used. Then a new one is set, and open
          sessions end.
          {sign_in.second_factor && ' The second factor is still required.'}
        </p>
      )}
      {!scope.isOperator && <PasswordField label="Your password" />}
    </MakerDialog>
  );
}
