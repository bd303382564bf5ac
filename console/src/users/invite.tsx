// Inviting a user to set a password: the link is shown once, to be handed on.
import { useState } from 'preact/hooks';
import type { Answer } from '../api/api.ts';
import { change } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { dateTime } from '../format.ts';
import { Until } from '../relative_time.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Form } from '../ui/form.tsx';
import { ShownOnce } from '../ui/shown_once.tsx';
import type { User } from './form.tsx';

interface InviteDialogProps {
  user: User;
  /** The user was made a moment ago. */
  isNew: boolean;
  onClose: () => void;
}

export function InviteDialog({ user, isNew, onClose }: InviteDialogProps) {
  const [invite, setInvite] = useState<Answer<'console_invite_user'>>();
  const { name, sign_in } = user;
  const create = async () => {
    setInvite(await change('console_invite_user', { path: { user: name } }));
  };
  return (
    <Dialog title={isNew ? `${name} was added` : `Invite ${name}`} onClose={onClose}>
      {invite ? (
        <ShownOnce
          what="the link"
          text={invite.url}
          lead={
            <>
              Send this link to {name}, by a way that others do not read. It works once, until{' '}
              {dateTime(invite.expiry)}, and is not shown again.
            </>
          }
          onDone={onClose}
        />
      ) : (
        <Form verb="Make the link" explain={explain} onSubmit={create} onCancel={onClose}>
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
        </Form>
      )}
    </Dialog>
  );
}
