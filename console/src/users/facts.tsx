// The facts of a user, in the list and on the user's page: permissions, and ways to sign in.
import { Until } from '../relative_time.tsx';
import { Badge } from '../ui/ui.ts';
import { PassedLimits } from './limits.tsx';
import type { User } from './user.ts';

export const flagsOf = (flags: User['flags']) =>
  (['admin', 'billing', 'proxy'] as const).filter((flag) => flags[flag]);

export function Permissions({ user }: { user: User }) {
  const { flags, active } = user;
  return (
    <span class="badges">
      {!active && <Badge tone="warn">inactive</Badge>}
      <PassedLimits user={user} />
      {flagsOf(flags).map((flag) => (
        <Badge key={flag} tone="neutral">
          {flag}
        </Badge>
      ))}
      {flagsOf(flags).length === 0 && <span class="note">None</span>}
    </span>
  );
}

export function SignIn({ signIn }: { signIn: User['sign_in'] }) {
  const { has_password, second_factor, invited_until, last_sign_in_at, sessions } = signIn;
  const ways = has_password
    ? second_factor
      ? 'Password and second factor'
      : 'Password'
    : last_sign_in_at === null
      ? 'Not set up'
      : sessions > 0
        ? 'Signed in with a link, no password'
        : 'No password';
  const isKnown = has_password || last_sign_in_at !== null;
  return (
    <span>
      {invited_until === null ? ways : isKnown ? `${ways}; invited, ends ` : 'Invited, ends '}
      {invited_until !== null && <Until at={invited_until} />}
    </span>
  );
}
