// A link that signs an operator in as a user at once: it is shown once.
import { change } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { dateTime } from '../format.ts';
import { MakerDialog } from '../forms/form_dialog.tsx';
import { lifetimeOptions, lifetimes } from '../forms/lifetimes.ts';
import { SelectField, ShownOnce, textOf } from '../ui/ui.ts';
import type { User } from './user.ts';

const minuteSeconds = 60;

export function SignInLinkDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const { account } = useScope();
  const { name } = user;
  return (
    <MakerDialog
      title={`Sign-in link for ${name}`}
      verb="Create link"
      make={(fields) =>
        change('admin_create_sign_in_link', {
          path: { account, user: name },
          body: { lifetime_seconds: Number(textOf(fields, 'lifetime_seconds')) },
        })
      }
      onClose={onClose}
      shown={({ url, expiry }) => (
        <ShownOnce
          name="the link"
          text={url}
          lead={`This link signs in as ${name} of ${account}. It works once, until ${dateTime(expiry)}, and won’t be shown again.`}
          onDone={onClose}
        />
      )}
    >
      <p>
        The link signs in as <strong>{name}</strong> without a password and without the second
        factor.
      </p>
      <p class="banner notice">
        The account’s activity shows that you created it, and what is done with it.
      </p>
      <SelectField
        label="Valid for"
        name="lifetime_seconds"
        options={lifetimeOptions(15 * minuteSeconds, lifetimes.hour, lifetimes.day)}
      />
    </MakerDialog>
  );
}
