// Users and tokens: who belongs to the account, what each may do, how each signs in, and tokens for the proxies.
import { useAddressState } from '../address.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { count } from '../format.ts';
import { type OpenDialog, useDialog } from '../forms/form_dialog.tsx';
import { Since, Until } from '../relative_time.tsx';
import '../style/users.css';
import {
  Badge,
  Button,
  Card,
  type Column,
  Empty,
  Loaded,
  Page,
  SearchField,
  Table,
} from '../ui/ui.ts';
import { UserActions } from './actions.tsx';
import { AddUserDialog, type User } from './form.tsx';
import { InviteDialog } from './invite.tsx';

export function UsersPage() {
  const scope = useScope();
  const users = useReadIn(scope, 'list_users', {});
  const [search, setSearch] = useAddressState('search');
  const isAdmin = scope.flags.admin;
  const { dialog, open, ask } = useDialog(
    isAdmin
      ? { add: (close, next) => <AddUserDialog onClose={close} onAdded={inviteBy(next)} /> }
      : {},
  );
  const add = (
    <Button kind="primary" icon="plus" onClick={() => ask('add')}>
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
        <Loaded of={users} what="the users">
          {(list) =>
            list.length === 0 ? (
              <Empty title="There are no users yet." action={isAdmin && add}>
                Add one for each person or program that is to use the proxies.
              </Empty>
            ) : (
              <>
                {(list.length > few || search) && (
                  <div class="filters">
                    <SearchField
                      label="Name contains"
                      name="search"
                      value={search}
                      onInput={setSearch}
                    />
                  </div>
                )}
                <Table
                  caption="Users of the account"
                  columns={columnsOf(scope.user)}
                  rows={list.filter((user) => isNamed(user, search))}
                  keyOf={({ id }) => id}
                  isFaint={({ active }) => !active}
                  actions={(user) => <UserActions user={user} open={open} />}
                />
              </>
            )
          }
        </Loaded>
      </Card>
      <Card title="Proxy access tokens">
        <p>
          A token is shown when it is made, and then never again: it is signed, not stored, so there
          is no list of them. <strong>Invalidate all tokens</strong> when one may have leaked; every
          token made for that user so far then stops working at once, on all servers, and so does
          every VPN password.
        </p>
      </Card>
      {dialog}
    </Page>
  );
}

const inviteBy = (open: OpenDialog) => (user: User) =>
  open((close) => <InviteDialog user={user} isNew onClose={close} />);

/** So many are looked through without a search. */
const few = 5;

const isNamed = ({ name, display_name }: User, search: string) =>
  `${name} ${display_name}`.toLowerCase().includes(search.trim().toLowerCase());

const first_token_version = 1;

const columnsOf = (own: string | undefined): Array<Column<User>> => [
  {
    heading: 'User',
    names: true,
    cell: (user) => (
      <span class="user-facts">
        <span>
          {user.name} {user.name === own && <span class="note">(you)</span>}
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
    <span class="user-facts">
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
