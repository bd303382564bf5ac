// The actions on a user: a button for a new token, and the others in a menu.
import { useScope } from '../api/scope.ts';
import type { OpenDialog, OpenLinked } from '../forms/form_dialog.tsx';
import type { RowAction } from '../ui/ui.ts';
import {
  EndSessionsDialog,
  EraseDialog,
  InvalidateTokensDialog,
  ResetSignInDialog,
} from './endings.tsx';
import { InviteDialog } from './invite.tsx';
import { LimitsDialog } from './limits_form.tsx';
import { ProxyTokenDialog } from './proxy_token.tsx';
import { SignInLinkDialog } from './sign_in_link.tsx';
import type { User } from './user.ts';
import { useHasVpn, VpnProfileDialog } from './vpn_profile.tsx';

type UserDialog = typeof InviteDialog;

interface UserActionsProps {
  open: OpenDialog;
  openLinked: OpenLinked;
}

/** The actions on each user. */
export function useUserActions({ open, openLinked }: UserActionsProps) {
  const scope = useScope();
  const { flags, isOperator, readOnlyReason } = scope;
  const { hasVpn } = useHasVpn(scope);
  return (user: User): RowAction[] => {
    const { name, active, sign_in } = user;
    const hasSignIn =
      sign_in.has_password ||
      sign_in.second_factor ||
      sign_in.sessions > 0 ||
      sign_in.invited_until !== null;
    const show = (Shown: UserDialog) => () =>
      open((close) => <Shown user={user} onClose={close} />);
    const item = (
      text: string,
      icon: RowAction['icon'],
      Shown: UserDialog,
      danger = false,
    ): RowAction => ({ text, icon, danger, inMenu: true, onSelect: show(Shown) });
    return [
      !isOperator &&
        active &&
        user.flags.proxy && {
          ...{ text: 'New token', label: `New token for ${name}`, icon: 'tokens' as const },
          ...{ disabledReason: readOnlyReason, onSelect: show(ProxyTokenDialog) },
        },
      flags.admin && {
        ...{ text: 'Change', icon: 'edit' as const, inMenu: true },
        onSelect: () => openLinked('change', name),
      },
      flags.admin && item('Limits', 'usage', LimitsDialog),
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
    ].filter((action) => action !== false);
  };
}
