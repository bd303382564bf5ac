// Users and tokens: who belongs to the account, what each may do, how each signs in, and tokens for the proxies.
import { useAddressStates } from '../address.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { count } from '../format.ts';
import { OfRecord, useDialog } from '../forms/form_dialog.tsx';
import { Since, Until } from '../relative_time.tsx';
import '../style/users.css';
import {
  Badge,
  Button,
  Card,
  type Column,
  Empty,
  isOneOf,
  Loaded,
  LongTable,
  optionsIn,
  Page,
  SearchField,
  SelectField,
} from '../ui/ui.ts';
import { UserActions } from './actions.tsx';
import { AddUserDialog, ChangeUserDialog, type User } from './form.tsx';
import { userGroups } from './groups.ts';
import { InviteDialog } from './invite.tsx';

export function UsersPage() {
  const scope = useScope();
  const users = useReadIn(scope, 'list_users', {});
  const isAdmin = scope.flags.admin;
  const [{ search, state }, change] = useAddressStates({ search: '', state: '' });
  const { dialog, open, openLinked } = useDialog({
    add: (close) => {
      const invite = (user: User) => {
        close();
        open((close) => <InviteDialog user={user} isNew onClose={close} />);
      };
      return isAdmin && <AddUserDialog onClose={close} onAdded={invite} />;
    },
    change: (close, name) =>
      isAdmin && (
        <OfRecord list={users.data} is={(user) => user.name === name} name={name} onClose={close}>
          {(user) => <ChangeUserDialog user={user} onClose={close} />}
        </OfRecord>
      ),
  });
  const add = (
    <Button kind="primary" icon="plus" onClick={() => openLinked('add')}>
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
                {isAdmin && (
                  <div class="filters">
                    <SearchField
                      label="Search"
                      name="search"
                      value={search}
                      onInput={(search) => change({ search })}
                    />
                    <SelectField
                      label="State"
                      name="state"
                      value={state}
                      onInput={(state) => change({ state })}
                      options={states}
                    />
                  </div>
                )}
                <LongTable
                  caption="Users of the account"
                  columns={columnsOf(scope.user)}
                  rows={filtered(list, search, state)}
                  all={list.length}
                  one="user"
                  many="users"
                  filter={`${state} ${search}`}
                  keyOf={({ id }) => id}
                  isFaint={({ active }) => !active}
                  actions={(user) => <UserActions {...{ user, open, openLinked }} />}
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

const states = optionsIn({ '': 'Any state', ...userGroups });

function filtered(users: readonly User[], search: string, state: string): User[] {
  const wanted = search.trim().toLowerCase();
  return users.filter(
    (user) =>
      `${user.name} ${user.display_name}`.toLowerCase().includes(wanted) &&
      (!isOneOf(userGroups, state) || userGroups[state].has(user)),
  );
}

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
