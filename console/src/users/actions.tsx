// The actions on a user: a button for a new token, and a menu with the others.
import { useScope } from '../api/scope.ts';
import type { OpenDialog, OpenLinked } from '../forms/form_dialog.tsx';
import { IconButton, Menu, type MenuItem } from '../ui/ui.ts';
import {
  EndSessionsDialog,
  EraseDialog,
  InvalidateTokensDialog,
  ResetSignInDialog,
} from './endings.tsx';
import type { User } from './form.tsx';
import { InviteDialog } from './invite.tsx';
import { ProxyTokenDialog } from './proxy_token.tsx';
import { SignInLinkDialog } from './sign_in_link.tsx';
import { useHasVpn, VpnProfileDialog } from './vpn_profile.tsx';

type UserDialog = typeof InviteDialog;

interface UserActionsProps {
  user: User;
  open: OpenDialog;
  openLinked: OpenLinked;
}

export function UserActions({ user, open, openLinked }: UserActionsProps) {
  const scope = useScope();
  const { flags, isOperator, readOnlyReason } = scope;
  const { hasVpn } = useHasVpn(scope);
  const { name, active, sign_in } = user;
  const hasSignIn =
    sign_in.has_password ||
    sign_in.second_factor ||
    sign_in.sessions > 0 ||
    sign_in.invited_until !== null;
  const show = (Shown: UserDialog) => () => open((close) => <Shown user={user} onClose={close} />);
  const item = (
    text: string,
    icon: MenuItem['icon'],
    Shown: UserDialog,
    danger = false,
  ): MenuItem => ({ text, icon, danger, onSelect: show(Shown) });
  const items = [
    flags.admin && {
      text: 'Change',
      icon: 'edit' as const,
      onSelect: () => openLinked('change', name),
    },
    hasVpn &&
      active &&
      user.flags.proxy &&
      !readOnlyReason &&
      item('VPN profile', 'lock', VpnProfileDialog),
    flags.admin && active && item('Invite to sign in', 'link', InviteDialog),
    isOperator && active && item('Sign-in link', 'lock', SignInLinkDialog),
    item('Invalidate all tokens', 'tokens', InvalidateTokensDialog, true),
    flags.admin &&
      sign_in.sessions > 0 &&
      item('End all sessions', 'leave', EndSessionsDialog, true),
    flags.admin && hasSignIn && item('Reset the sign-in', 'lock', ResetSignInDialog, true),
    isOperator && item('Erase the person', 'remove', EraseDialog, true),
  ].filter((entry) => entry !== false);
  return (
    <span class="actions">
      {!isOperator && active && user.flags.proxy && (
        <IconButton
          icon="tokens"
          label={`New token for ${name}`}
          disabledReason={readOnlyReason}
          onClick={show(ProxyTokenDialog)}
        />
      )}
      <Menu label={`More for ${name}`} items={items} />
    </span>
  );
}
