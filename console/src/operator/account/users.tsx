// The users of an account: their permissions, their ways to sign in, their tokens.
import type { Answer } from '../../api/api.ts';
import { change, useRead } from '../../api/reading.ts';
import { explain } from '../../api/sentences.ts';
import { FormDialog, useDialog } from '../../forms/form_dialog.tsx';
import { nameRule } from '../../forms/name_rule.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { Card, Empty } from '../../ui/card.tsx';
import { CheckField, TextField } from '../../ui/field.tsx';
import { textOf } from '../../ui/form.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Menu } from '../../ui/menu.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { DisplayNameField, FlagFields, flagsOf } from '../../users/form.tsx';
import { InviteDialog, SignInLinkDialog } from '../../users/sign_in_link.tsx';
import type { Account } from '../states.ts';

type User = Answer<'admin_list_account_users'>[number];

export function UsersPart({ account: { name: account } }: { account: Account }) {
  const users = useRead('admin_list_account_users', { path: { account } });
  const { dialog, open } = useDialog();
  const add = (
    <Button
      kind="primary"
      icon="plus"
      onClick={() => open((close) => <AddUser account={account} onClose={close} />)}
    >
      Add a user
    </Button>
  );
  const actions = (user: User) => {
    const given = { account, user: user.name };
    return (
      <>
        <IconButton
          icon="edit"
          label={`Change ${user.name}`}
          onClick={() =>
            open((close) => <ChangeUser account={account} of={user} onClose={close} />)
          }
        />
        <Menu
          label={`More for ${user.name}`}
          items={[
            {
              text: 'Invite …',
              icon: 'link',
              onSelect: () => open((close) => <InviteDialog {...given} onClose={close} />),
            },
            {
              text: 'Sign-in link …',
              icon: 'lock',
              onSelect: () => open((close) => <SignInLinkDialog {...given} onClose={close} />),
            },
            {
              text: 'Invalidate all tokens …',
              icon: 'tokens',
              danger: true,
              onSelect: () =>
                open((close) => <RaiseVersion account={account} of={user} onClose={close} />),
            },
            {
              text: 'Reset the sign-in …',
              icon: 'remove',
              danger: true,
              onSelect: () =>
                open((close) => <ResetSignIn account={account} of={user} onClose={close} />),
            },
          ]}
        />
      </>
    );
  };
  return (
    <Card title="Users" note="Users are never deleted; inactive ones have no access." actions={add}>
      <Loaded of={users} what="the users" explain={explain}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="The account has no user yet.">
              Add one with the admin flag and send an invitation: the rest the account can do
              itself.
            </Empty>
          ) : (
            <Table
              caption={`Users of ${account}`}
              columns={columns}
              rows={all}
              keyOf={({ id }) => id}
              isFaint={({ active }) => !active}
              actions={actions}
            />
          )
        }
      </Loaded>
      {dialog}
    </Card>
  );
}

const columns: Column<User>[] = [
  { heading: 'User', names: true, cell: ({ name }) => name },
  { heading: 'Display name', cell: ({ display_name }) => display_name },
  {
    heading: 'State',
    cell: ({ active }) =>
      active ? <Badge tone="good">active</Badge> : <Badge tone="neutral">inactive</Badge>,
  },
  {
    heading: 'May do',
    cell: ({ flags }) =>
      (['admin', 'billing', 'proxy'] as const).filter((flag) => flags[flag]).join(', ') || (
        <span class="note">nothing</span>
      ),
  },
  { heading: 'Token version', numeric: true, cell: ({ token_version }) => token_version },
];

interface OfAccount {
  account: string;
  onClose: () => void;
}

function AddUser({ account, onClose }: OfAccount) {
  const add = async (fields: FormData) => {
    const name = textOf(fields, 'name');
    const display_name = textOf(fields, 'display_name');
    await change('admin_create_account_user', {
      path: { account },
      body: { name, ...(display_name ? { display_name } : {}), flags: flagsOf(fields) },
    });
    return `${name} was added. To sign in, ${name} needs an invitation.`;
  };
  return (
    <FormDialog
      title={`Add a user to ${account}`}
      verb="Add the user"
      kind="primary"
      onSubmit={add}
      onClose={onClose}
    >
      <TextField
        label="Name"
        name="name"
        required
        {...nameRule}
        hint="It stays. Letters, digits and . _ @ -"
      />
      <DisplayNameField hint="Shown in lists; the name when left out." />
      <FlagFields />
    </FormDialog>
  );
}

function ChangeUser({ account, of, onClose }: OfAccount & { of: User }) {
  const save = async (fields: FormData) => {
    await change('admin_change_account_user', {
      path: { account, user: of.name },
      body: {
        display_name: textOf(fields, 'display_name'),
        active: fields.has('active'),
        flags: flagsOf(fields),
      },
    });
    return `Saved ${of.name}.`;
  };
  return (
    <FormDialog
      title={`Change ${of.name}`}
      verb="Save"
      kind="primary"
      onSubmit={save}
      onClose={onClose}
    >
      <DisplayNameField required defaultValue={of.display_name} />
      <FlagFields of={of.flags} />
      <CheckField
        label="Active"
        name="active"
        defaultChecked={of.active}
        hint="Off: cannot sign in, and tokens and authlist entries give no access."
      />
    </FormDialog>
  );
}

function RaiseVersion({ account, of, onClose }: OfAccount & { of: User }) {
  const { name, token_version } = of;
  return (
    <FormDialog
      title={`Invalidate all tokens of ${name}?`}
      verb={`Invalidate all tokens of ${name}`}
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_raise_token_version', { path: { account, user: name } });
        return `All proxy access tokens of ${name} made so far are invalid.`;
      }}
    >
      <p>
        <strong>Every proxy access token made for {name} so far stops working at once</strong>, on
        all servers. This cannot be undone. The token version rises from {token_version} to{' '}
        {token_version + 1}; authlist entries and the sign-in to this console stay.
      </p>
    </FormDialog>
  );
}

function ResetSignIn({ account, of, onClose }: OfAccount & { of: User }) {
  const { name } = of;
  return (
    <FormDialog
      title={`Reset the sign-in of ${name}?`}
      verb={`Reset the sign-in of ${name}`}
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_reset_user_sign_in', { path: { account, user: name } });
        return `${name} cannot sign in to the console until there is an invitation.`;
      }}
    >
      <p>
        <strong>
          The password, the second factor with its recovery codes and the open invitations of {name}{' '}
          are gone, and all sessions end.
        </strong>{' '}
        {name} signs in again only by a new invitation. Proxy access tokens go on working.
      </p>
    </FormDialog>
  );
}
