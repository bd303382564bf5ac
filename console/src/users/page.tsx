// Users and tokens: who belongs to the account, what each may do, how each signs in, and tokens for the proxies.
import { useState } from 'preact/hooks';
import { useRead } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { flags, refusal, session } from '../api/session.ts';
import { count } from '../format.ts';
import { Since, Until } from '../relative_time.tsx';
import { EndSessionsDialog, InvalidateTokensDialog, ResetSignInDialog } from './endings.tsx';
import { AddUserDialog, ChangeUserDialog, type User } from './form.tsx';
import { InviteDialog } from './invite.tsx';
import { ProxyTokenDialog } from './proxy_token.tsx';
import '../style/users.css';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { Page } from '../ui/page.tsx';
import { type Column, Table } from '../ui/table.tsx';

/** The dialog that is open, and whom it is about. */
type Open =
  | { what: 'add' }
  | {
      what: 'change' | 'invite' | 'invite-new' | 'token' | 'invalidate' | 'sessions' | 'reset';
      user: User;
    };

export function UsersPage() {
  const users = useRead('console_list_users', {});
  const [open, setOpen] = useState<Open>();
  const isAdmin = flags.value.admin;
  const add = (
    <Button kind="primary" icon="plus" onClick={() => setOpen({ what: 'add' })}>
      Add a user
    </Button>
  );
  return (
    <Page
      title="Users and tokens"
      note={
        isAdmin
          ? 'Users are the people and programs of the account. At the proxies, a user’s name and a proxy access token are username and password.'
          : 'At the proxies, your user name and a proxy access token are username and password.'
      }
      actions={isAdmin && add}
    >
      <Card title={isAdmin ? 'Users' : 'You'}>
        <Loaded of={users} what="the users" explain={explain}>
          {(list) =>
            list.length === 0 ? (
              <Empty title="There are no users yet." action={isAdmin && add}>
                Add one for each person or program that is to use the proxies.
              </Empty>
            ) : (
              <Table
                caption="Users of the account"
                columns={columns}
                rows={list}
                keyOf={({ id }) => id}
                isFaint={({ active }) => !active}
                actions={(user) => <UserActions user={user} isAdmin={isAdmin} open={setOpen} />}
              />
            )
          }
        </Loaded>
      </Card>
      <Card title="Proxy access tokens">
        <p>
          A token is shown when it is made, and then never again: it is signed, not stored, so there
          is no list of them. <strong>Invalidate all tokens</strong> when one may have leaked; every
          token made for that user so far then stops working at once, on all servers.
        </p>
      </Card>
      {open && <OpenDialog open={open} setOpen={setOpen} />}
    </Page>
  );
}

const first_token_version = 1;

const columns: Array<Column<User>> = [
  {
    heading: 'User',
    names: true,
    cell: (user) => (
      <span class="user-name">
        <span>
          {user.name} {user.name === session.value?.user.name && <span class="note">(you)</span>}
        </span>
        {user.display_name !== user.name && <span class="note">{user.display_name}</span>}
        {user.token_version > first_token_version && (
          <span class="note">
            tokens invalidated {count(user.token_version - first_token_version, 'time')}
          </span>
        )}
      </span>
    ),
  },
  {
    heading: 'May do',
    cell: ({ flags: { admin, billing, proxy }, active }) => (
      <span class="badges">
        {!active && <Badge tone="warn">inactive</Badge>}
        {admin && <Badge tone="neutral">admin</Badge>}
        {billing && <Badge tone="neutral">billing</Badge>}
        {proxy && <Badge tone="neutral">proxy</Badge>}
        {!admin && !billing && !proxy && <span class="note">nothing yet</span>}
      </span>
    ),
  },
  { heading: 'Sign-in', cell: (user) => <SignIn {...user.sign_in} /> },
];

function SignIn(facts: User['sign_in']) {
  const { has_password, second_factor, invited_until, last_sign_in_at, sessions } = facts;
  return (
    <span class="sign-in-facts">
      <span>
        {has_password
          ? second_factor
            ? 'With password and second factor'
            : 'With password'
          : last_sign_in_at === null
            ? 'Not set up'
            : sessions > 0
              ? 'No password; came by a link'
              : 'No password'}
      </span>
      {invited_until !== null && (
        <span>
          Invited, ends <Until at={invited_until} />
        </span>
      )}
      {(last_sign_in_at !== null || has_password) && (
        <span class="note">
          {last_sign_in_at === null ? (
            'Never signed in'
          ) : (
            <>
              Last sign-in <Since at={last_sign_in_at} />
            </>
          )}
          {sessions > 0 && `, ${count(sessions, 'open session')}`}
        </span>
      )}
    </span>
  );
}

interface UserActionsProps {
  user: User;
  isAdmin: boolean;
  open: (open: Open) => void;
}

function UserActions({ user, isAdmin, open }: UserActionsProps) {
  const { name, active, sign_in } = user;
  const canHaveTokens = active && user.flags.proxy;
  const hasSignIn =
    sign_in.has_password ||
    sign_in.second_factor ||
    sign_in.sessions > 0 ||
    sign_in.invited_until !== null;
  const item = (
    what: Exclude<Open['what'], 'add'>,
    text: string,
    icon: MenuItem['icon'],
    danger = false,
  ): MenuItem => ({ text, icon, danger, onSelect: () => open({ what, user }) });
  const items = [
    isAdmin && item('change', 'Change', 'edit'),
    isAdmin && active && item('invite', 'Invite to sign in', 'link'),
    item('invalidate', 'Invalidate all tokens', 'tokens', true),
    isAdmin && sign_in.sessions > 0 && item('sessions', 'End all sessions', 'leave', true),
    isAdmin && hasSignIn && item('reset', 'Reset the sign-in', 'lock', true),
  ].filter((one) => one !== false);
  return (
    <span class="actions">
      {canHaveTokens && (
        <Button
          icon="tokens"
          aria-label={`New token for ${name}`}
          refused={refusal.value}
          onClick={() => open({ what: 'token', user })}
        >
          New token
        </Button>
      )}
      <Menu label={`More for ${name}`} items={items} />
    </span>
  );
}

function OpenDialog({ open, setOpen }: { open: Open; setOpen: (open?: Open) => void }) {
  const onClose = () => setOpen(undefined);
  if (open.what === 'add') {
    return (
      <AddUserDialog onClose={onClose} onAdded={(user) => setOpen({ what: 'invite-new', user })} />
    );
  }
  const { user } = open;
  switch (open.what) {
    case 'change':
      return <ChangeUserDialog user={user} onClose={onClose} />;
    case 'token':
      return <ProxyTokenDialog user={user.name} onClose={onClose} />;
    case 'invalidate':
      return <InvalidateTokensDialog user={user} onClose={onClose} />;
    case 'sessions':
      return <EndSessionsDialog user={user} onClose={onClose} />;
    case 'reset':
      return <ResetSignInDialog user={user} onClose={onClose} />;
    default:
      return <InviteDialog user={user} isNew={open.what === 'invite-new'} onClose={onClose} />;
  }
}
