// A one-time link for a user: an invitation, or a link that signs in at once.
import { useState } from 'preact/hooks';
import type { Answer } from '../api/api.ts';
import { change } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { dateTime } from '../format.ts';
import { lifetimeOptions } from '../forms/lifetimes.ts';
import { Dialog } from '../ui/dialog.tsx';
import { SelectField } from '../ui/field.tsx';
import { Form, textOf } from '../ui/form.tsx';
import { ShownOnce } from '../ui/shown_once.tsx';

interface LinkDialogProps {
  account: string;
  user: string;
  onClose: () => void;
}

export function InviteDialog({ account, user, onClose }: LinkDialogProps) {
  return (
    <LinkDialog
      title={`Invite ${user}`}
      onClose={onClose}
      lead={`Send this link to ${user}, by a way that others do not read.`}
      make={() => change('admin_invite_user', { path: { account, user } })}
    >
      <p>
        You get a link that you hand on. Whoever opens it within 7 days sets the password of{' '}
        <strong>{user}</strong> and is signed in to this console. An earlier invitation of {user}{' '}
        stops working.
      </p>
    </LinkDialog>
  );
}

const minute = 60;

export function SignInLinkDialog({ account, user, onClose }: LinkDialogProps) {
  const [lifetime, setLifetime] = useState(String(15 * minute));
  return (
    <LinkDialog
      title={`Sign-in link for ${user}`}
      onClose={onClose}
      lead={`Whoever opens this link is signed in as ${user} of ${account}.`}
      make={(fields) =>
        change('admin_create_sign_in_link', {
          path: { account, user },
          body: { lifetime_seconds: Number(textOf(fields, 'lifetime_seconds')) },
        })
      }
    >
      <p>
        The link signs in as <strong>{user}</strong> without a password and without the second
        factor.
      </p>
      <p class="banner notice">
        It is audited: the account’s own activity shows that you made it, and what is done with it.
      </p>
      <SelectField
        label="Works for"
        name="lifetime_seconds"
        value={lifetime}
        onInput={setLifetime}
        options={lifetimeOptions(15 * minute, 60 * minute, 24 * 60 * minute)}
      />
    </LinkDialog>
  );
}

interface MakerProps {
  title: string;
  lead: string;
  make: (fields: FormData) => Promise<Answer<'admin_invite_user'>>;
  onClose: () => void;
  children: preact.ComponentChildren;
}

function LinkDialog({ title, lead, make, onClose, children }: MakerProps) {
  const [link, setLink] = useState<Answer<'admin_invite_user'>>();
  return (
    <Dialog title={title} onClose={onClose}>
      {link ? (
        <ShownOnce
          what="the link"
          text={link.url}
          lead={`${lead} It works once, until ${dateTime(link.expiry)}, and is not shown again.`}
          onDone={onClose}
        />
      ) : (
        <Form
          verb="Make the link"
          explain={explain}
          onSubmit={async (fields) => setLink(await make(fields))}
          onCancel={onClose}
        >
          {children}
        </Form>
      )}
    </Dialog>
  );
}
