// Users and tokens: the account's users, their permissions and sign-in, and tokens for proxies.
import { useAddressState } from '../address.ts';
import { useScope } from '../api/scope.ts';
import { CutText } from '../forms/columns.tsx';
import { ExportButtons, timeText } from '../forms/export.tsx';
import { FilteredList, useFilteredList } from '../forms/filtered_list.tsx';
import { useDialog } from '../forms/form_dialog.tsx';
import { OfEntry } from '../forms/of_entry.tsx';
import { Since, Until } from '../relative_time.tsx';
import '../style/users.css';
import {
  Badge,
  Button,
  Card,
  type Column,
  Empty,
  isOneOf,
  optionsIn,
  Page,
  SelectField,
  Table,
  Unread,
} from '../ui/ui.ts';
import { useUserActions } from './actions.tsx';
import { AddUserDialog, ChangeUserDialog, type User } from './form.tsx';
import { userStates } from './groups.ts';
import { InviteDialog } from './invite.tsx';
import { ManyUsersBar } from './many.tsx';
import { useHasVpn } from './vpn_profile.tsx';

const sorts = ['id', 'name', 'flags', 'last_sign_in_at'] as const;
const flagOptions = { proxy: 'proxy', billing: 'billing', admin: 'admin' };

export function UsersPage() {
  const scope = useScope();
  const { base, user: ownName, flags } = scope;
  const vpn = useHasVpn(scope).reading;
  const isAdmin = flags.admin;
  const [flagText, setFlag] = useAddressState('flag');
  const flag = isOneOf(flagOptions, flagText) ? flagText : undefined;
  const list = useFilteredList('console_list_users', {
    ...{
      key: 'id',
      sorts,
      sort: 'id',
      states: userStates,
      canEnd: false,
      base,
      canSelect: isAdmin,
    },
    ...(flag ? { more: { flag } } : {}),
  });
  const { pages, rows, table, selection, chosen } = list;
  const { dialog, open, openLinked } = useDialog({
    add: (close) => {
      const invite = (user: User) => {
        close();
        open((close) => <InviteDialog user={user} isNew onClose={close} />);
      };
      return isAdmin && <AddUserDialog onClose={close} onAdded={invite} />;
    },
    change: (close, name) => {
      const named = { keyOf: (user: User) => user.name, path: { user: name }, name };
      return (
        isAdmin && (
          <OfEntry read="get_user" {...{ rows, id: name, named }} onClose={close}>
            {(user) => <ChangeUserDialog user={user} onClose={close} />}
          </OfEntry>
        )
      );
    },
  });
  const actionsOf = useUserActions({ open, openLinked });
  const add = (
    <Button kind="primary" icon="plus" onClick={() => openLinked('add')}>
      Add a user
    </Button>
  );
  return (
    <Page
      note={
        isAdmin
          ? 'Users are the people and programs of the account. At the proxies, a user’s name and a proxy access token are username and password.'
          : 'At the proxies, your user name and a proxy access token are username and password.'
      }
      actions={isAdmin && add}
    >
      <FilteredList
        title={isAdmin ? 'Users' : 'You'}
        what="the users"
        empty={
          <Empty title="No users yet" action={isAdmin && add}>
            Add one for each person or program that uses the proxies.
          </Empty>
        }
        lead={<Unread of={vpn} what="whether a server has a VPN" />}
        placeholder="Name"
        fields={
          <SelectField
            label="With permission"
            name="flag"
            value={flag ?? ''}
            onInput={setFlag}
            options={optionsIn({ '': 'Any', ...flagOptions })}
          />
        }
        bar={<ManyUsersBar {...{ chosen, selection, open }} />}
        hasHead={isAdmin}
        {...{ list }}
      >
        <Table
          {...table}
          caption="Users of the account"
          one="user"
          many="users"
          columns={columnsOf(ownName)}
          keyOf={({ id }) => id}
          nameOf={({ name }) => name}
          {...(isAdmin ? {} : { sorting: undefined, choice: undefined })}
          isFaint={({ active }) => !active}
          actions={actionsOf}
          buttons={isAdmin && <ExportButtons name="users" of={pages} {...{ header, cells }} />}
        />
      </FilteredList>
      <Card title="Proxy access tokens">
        <p>
          A token is shown only when you create it: it is signed, not stored, so there is no list.{' '}
          <strong>Invalidate all tokens</strong> when one may have leaked; every token made for that
          user so far then stops working at once, on all servers, and so does every VPN password.
        </p>
      </Card>
      {dialog}
    </Page>
  );
}

const header = ['user', 'display_name', 'active', 'permissions', 'last_sign_in', 'sessions'];
const cells = ({ name, display_name, active, flags, sign_in }: User) => [
  ...[name, display_name, active ? 'yes' : 'no', flagsOf(flags).join(' ')],
  ...[timeText(sign_in.last_sign_in_at), sign_in.sessions],
];
const flagsOf = (flags: User['flags']) =>
  (['admin', 'billing', 'proxy'] as const).filter((flag) => flags[flag]);

const columnsOf = (ownName: string | undefined): Array<Column<User>> => [
  {
    heading: 'User',
    names: true,
    sort: 'name',
    cut: true,
    cell: ({ name }) => (
      <span title={name}>
        {name} {name === ownName && <span class="note">(you)</span>}
      </span>
    ),
  },
  {
    heading: 'Display name',
    grows: true,
    rank: 2,
    cell: ({ name, display_name }) => (
      <CutText of={display_name === name ? '' : display_name} look="note" />
    ),
  },
  {
    heading: 'Permissions',
    sort: 'flags',
    needs: 11,
    cell: ({ flags, active }) => (
      <span class="badges">
        {!active && <Badge tone="warn">inactive</Badge>}
        {flagsOf(flags).map((flag) => (
          <Badge key={flag} tone="neutral">
            {flag}
          </Badge>
        ))}
        {flagsOf(flags).length === 0 && <span class="note">None</span>}
      </span>
    ),
  },
  { heading: 'Sign-in', cut: true, rank: 1, cell: ({ sign_in }) => <SignIn {...sign_in} /> },
  {
    heading: 'Last sign-in',
    sort: 'last_sign_in_at',
    word: 'signed in',
    cell: ({ sign_in }) => <Since at={sign_in.last_sign_in_at} />,
  },
  {
    heading: 'Sessions',
    numeric: true,
    rank: 3,
    word: 'sessions',
    cell: ({ sign_in }) => sign_in.sessions,
  },
];

function SignIn(facts: User['sign_in']) {
  const { has_password, second_factor, invited_until, last_sign_in_at, sessions } = facts;
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
