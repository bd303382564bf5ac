// The page of a user: permissions, sign-in, listed addresses and usage, with all actions on them.
import { Link } from 'wouter-preact';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { UserEntries } from '../authlist/user_entries.tsx';
import { ConnectedCard } from '../connections/card.tsx';
import { count } from '../format.ts';
import { OfRecord, useDialog } from '../forms/form_dialog.tsx';
import { addressOf, paths } from '../paths.ts';
import { RefusalsOfUser } from '../refusals/of_user.tsx';
import { Since } from '../relative_time.tsx';
import {
  Button,
  Card,
  DescriptionList,
  Loaded,
  Menu,
  Page,
  type RowAction,
  Unread,
} from '../ui/ui.ts';
import { LastDays } from '../usage/last_days.tsx';
import { useUserActions } from './actions.tsx';
import { Permissions, SignIn } from './facts.tsx';
import { ChangeUserDialog } from './form.tsx';
import { LimitsCard } from './limits.tsx';
import { LimitsDialog } from './limits_form.tsx';
import type { User } from './user.ts';
import { useHasVpn } from './vpn_profile.tsx';

export function OneUser({ name }: { name: string }) {
  const scope = useScope();
  const { flags } = scope;
  const user = useReadIn(scope, 'get_user', { path: { user: name } });
  const vpn = useHasVpn(scope).reading;
  const changes = (Shown: typeof ChangeUserDialog) => (close: () => void) =>
    flags.admin && (
      <OfRecord list={user.data && [user.data]} is={() => true} name={name} onClose={close}>
        {(record) => <Shown user={record} onClose={close} />}
      </OfRecord>
    );
  const { dialog, open, openLinked } = useDialog({
    change: changes(ChangeUserDialog),
    limits: changes(LimitsDialog),
  });
  const actionsOf = useUserActions({ open, openLinked });
  const actions = user.data ? actionsOf(user.data) : [];
  const isButton = ({ text, inMenu }: RowAction) => !inMenu || text === 'Change';
  return (
    <Page
      title={name}
      note={<Links name={name} />}
      actions={
        <>
          {actions.filter(isButton).map(({ text, icon, disabledReason, onSelect }) => (
            <Button key={text} {...{ icon, disabledReason }} onClick={onSelect}>
              {text}
            </Button>
          ))}
          {actions.length > 0 && (
            <Menu
              label={`More for ${name}`}
              items={actions.filter((action) => !isButton(action))}
            />
          )}
        </>
      }
    >
      <Loaded reading={user} name="the user">
        {(record) => (
          <>
            <Facts user={record} />
            <LimitsCard user={record} open={open} />
          </>
        )}
      </Loaded>
      <Unread reading={vpn} name="whether a server has a VPN" />
      {(flags.admin || flags.proxy) && <ConnectedCard target={{ user: name }} />}
      <UserEntries user={name} note={`Connections from these addresses count as ${name}.`} />
      <RefusalsOfUser name={name} />
      {(flags.admin || flags.billing) && <LastDays filter={{ user: name }} />}
      {dialog}
    </Page>
  );
}

function Links({ name }: { name: string }) {
  const { flags, isOperator, paths: own } = useScope();
  return (
    <>
      <Link href={own.users}>All users</Link>
      {flags.admin && (
        <>
          {' · '}
          <Link href={addressOf(own.activity, { search: name })}>Activity</Link>
        </>
      )}
      {!isOperator && (
        <>
          {' · '}
          <Link href={addressOf(paths.test, { by: 'token', user: name })}>Test a connection</Link>
        </>
      )}
    </>
  );
}

function Facts({ user }: { user: User }) {
  const { display_name, sign_in } = user;
  return (
    <Card>
      <DescriptionList
        facts={[
          ['Display name', display_name],
          ['Permissions', <Permissions user={user} />],
          ['Sign-in', <SignIn signIn={sign_in} />],
          ['Last sign-in', <Since at={sign_in.last_sign_in_at} />],
          ['Sessions', count(sign_in.sessions, 'open session')],
        ]}
      />
    </Card>
  );
}
