// Inviting a user to set a password: the link is shown once, to be handed on.
import { changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { dateTime } from '../format.ts';
import { MakerDialog } from '../forms/form_dialog.tsx';
import { Until } from '../relative_time.tsx';
import { ShownOnce } from '../ui/ui.ts';
import type { User } from './form.tsx';

interface InviteDialogProps {
  user: User;
  /** The user was made a moment ago. */
  isNew?: boolean;
  onClose: () => void;
}

export function InviteDialog({ user, isNew = false, onClose }: InviteDialogProps) {
  const scope = useScope();
  const { name, sign_in } = user;
  return (
    <MakerDialog
      title={isNew ? `${name} was added` : `Invite ${name}`}
      verb="Make the link"
      make={() => changeIn(scope, 'invite_user', { path: { user: name } })}
      onClose={onClose}
      shown={({ url, expiry }) => (
        <ShownOnce
          what="the link"
          text={url}
          lead={
            <>
              Send this link to {name}, by a way that others do not read. It works once, until{' '}
              {dateTime(expiry)}, and is not shown again.
            </>
          }
          onDone={onClose}
        />
      )}
    >
      {isNew && <p>To sign in here, {name} needs an invitation. Proxies work without one.</p>}
      <p>
        You get a link that you hand on. Whoever opens it within 7 days sets the password of{' '}
        <strong>{name}</strong> and is signed in.
      </p>
      {sign_in.invited_until !== null && (
        <p class="banner notice">
          The link made before, which ends <Until at={sign_in.invited_until} />, stops working.
        </p>
      )}
      {sign_in.has_password && (
        <p class="banner notice">
          The present password works until the link is used; then a new one is set, and open
          sessions end.
          {sign_in.second_factor && ' The second factor stays, and is asked for.'}
        </p>
      )}
    </MakerDialog>
  );
}
