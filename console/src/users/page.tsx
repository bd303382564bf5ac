// Users and tokens: the account's users, their permissions and sign-in, and tokens for proxies.
import { Link } from 'wouter-preact';
import { useAddressState, usePath } from '../address.ts';
import { type Scope, useScope } from '../api/scope.ts';
import { CutText } from '../forms/columns.tsx';
import { ExportMenu, timeText } from '../forms/export.tsx';
import { FilteredList, useFilteredList } from '../forms/filtered_list.tsx';
import { useDialog } from '../forms/form_dialog.tsx';
import { OfEntry } from '../forms/of_entry.tsx';
import { nameBelow } from '../paths.ts';
import { Since } from '../relative_time.tsx';
import '../style/users.css';
import {
  AddButton,
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
import { flagsOf, Permissions, SignIn } from './facts.tsx';
import { AddUserDialog, ChangeUserDialog } from './form.tsx';
import { userStates } from './groups.ts';
import { InviteDialog } from './invite.tsx';
import { ManyUsersBar } from './many.tsx';
import { OneUser } from './one.tsx';
import type { User } from './user.ts';
import { useHasVpn } from './vpn_profile.tsx';

const sorts = ['id', 'name', 'flags', 'last_sign_in_at'] as const;
const flagOptions = { proxy: 'proxy', billing: 'billing', admin: 'admin' };

export function UsersPage() {
  const [here] = usePath();
  const name = nameBelow(useScope().paths.users, here);
  return name === undefined ? <ListPage /> : <OneUser key={name} name={name} />;
}

function ListPage() {
  const scope = useScope();
  const { base, flags } = scope;
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
    ...(flag ? { ownFilters: { flag } } : {}),
  });
  const { pages, rows, table, selection, selected } = list;
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
  const add = <AddButton onClick={() => openLinked('add')}>Add a user</AddButton>;
  return (
    <Page
      note={
        isAdmin
          ? 'Users are the people and programs of the account. At the proxies, a user’s name and a proxy access token are username and password.'
          : 'At the proxies, your name and a proxy access token are username and password.'
      }
      actions={isAdmin && add}
    >
      <FilteredList
        title={isAdmin ? 'Users' : 'You'}
        name="the users"
        empty={
          <Empty title="No users yet" action={isAdmin && add}>
            Add one for each person or program that uses the proxies.
          </Empty>
        }
        lead={<Unread reading={vpn} name="whether a server has a VPN" />}
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
        bar={<ManyUsersBar {...{ selected, selection, open }} />}
        hasHead={isAdmin}
        {...{ list }}
      >
        <Table
          {...table}
          caption="Users of the account"
          one="user"
          many="users"
          columns={columnsOf(scope)}
          keyOf={({ id }) => id}
          nameOf={({ name }) => name}
          {...(isAdmin ? {} : { sorting: undefined, choice: undefined })}
          isFaint={({ active }) => !active}
          actions={actionsOf}
          buttons={isAdmin && <ExportMenu name="users" pages={pages} {...{ header, cells }} />}
        />
      </FilteredList>
      <Card title="Proxy access tokens">
        <p>
          A token is shown only when you create it: it is signed, not stored, so there is no list.{' '}
          Select <strong>Invalidate all tokens</strong> if a token may have leaked: all tokens and
          VPN passwords of the user then stop working at once, on all servers.
        </p>
      </Card>
      {dialog}
    </Page>
  );
}

const header = [
  ...['user', 'display_name', 'active', 'permissions', 'last_sign_in', 'sessions'],
  ...['usage', 'limit', 'over_limit', 'active_until'],
];
const cells = ({ name, display_name, active, flags, sign_in, ...user }: User) => [
  ...[name, display_name, active ? 'yes' : 'no', flagsOf(flags).join(' ')],
  ...[timeText(sign_in.last_sign_in_at), sign_in.sessions],
  ...[user.period.usage, user.limits.limit_bytes ?? '', user.over_limit ? 'yes' : 'no'],
  timeText(user.limits.active_until),
];
const columnsOf = ({ user: ownName, paths }: Scope): Array<Column<User>> => [
  {
    heading: 'User',
    names: true,
    sort: 'name',
    cut: true,
    cell: ({ name }) => (
      <span title={name}>
        <Link href={paths.user(name)}>{name}</Link>{' '}
        {name === ownName && <span class="note">(you)</span>}
      </span>
    ),
  },
  {
    heading: 'Display name',
    grows: true,
    rank: 2,
    cell: ({ name, display_name }) => (
      <CutText text={display_name === name ? '' : display_name} look="note" />
    ),
  },
  {
    heading: 'Permissions',
    sort: 'flags',
    needs: 11,
    cell: (user) => <Permissions user={user} />,
  },
  { heading: 'Sign-in', cut: true, rank: 1, cell: ({ sign_in }) => <SignIn signIn={sign_in} /> },
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
