// Your sign-in: the password, the second factor, and the browsers that are signed in.
import type { ResponseOf } from '../../api/api.ts';
import { change, useRead } from '../../api/reading.ts';
import { session } from '../../api/session.ts';
import { count } from '../../format.ts';
import { FormDialog, useDialog } from '../../forms/form_dialog.tsx';
import { PasswordDialog } from '../../forms/password.tsx';
import { Since, Until } from '../../relative_time.tsx';
import { Badge, Button, Card, type Column, Loaded, Page, Table } from '../../ui/ui.ts';
import { EnrolDialog, RemoveSecondFactorDialog } from './second_factor.tsx';
import { browserInWords } from './user_agent.ts';

type OwnSession = ResponseOf<'console_list_sessions'>[number];

export function OwnSignInPage() {
  const { user, account, has_password, second_factor } = session.value ?? {};
  const { dialog, open } = useDialog();
  const setPassword = () => open((close) => <PasswordDialog onClose={close} />);
  const enrol = () => open((close) => <EnrolDialog onClose={close} />);
  const turnOff = () => open((close) => <RemoveSecondFactorDialog onClose={close} />);
  return (
    <Page
      note={
        <>
          You sign in as the user <strong>{user?.name}</strong> of the account{' '}
          <strong>{account}</strong>.
        </>
      }
    >
      <div class="columns">
        <Card
          title="Password"
          actions={
            has_password ? <Badge tone="good">set</Badge> : <Badge tone="warn">not set</Badge>
          }
        >
          <p>
            {has_password
              ? 'Changing it ends your other sessions.'
              : 'You signed in with a link. Without a password you’ll need a new link after this session ends.'}
          </p>
          <div>
            <Button kind={has_password ? 'plain' : 'primary'} onClick={setPassword}>
              {has_password ? 'Change the password' : 'Set a password'}
            </Button>
          </div>
        </Card>
        <Card
          title="Second factor"
          actions={
            second_factor ? <Badge tone="good">on</Badge> : <Badge tone="neutral">off</Badge>
          }
        >
          <p>
            {second_factor
              ? 'Signing in also needs a code from your authenticator app, or a recovery code.'
              : 'A code from an authenticator app on your phone, in addition to your password. A leaked password is then not enough.'}
          </p>
          {has_password ? (
            <div class="actions">
              <Button kind={second_factor ? 'plain' : 'primary'} onClick={enrol}>
                {second_factor ? 'New phone or new recovery codes' : 'Set it up'}
              </Button>
              {second_factor && <Button onClick={turnOff}>Turn it off</Button>}
            </div>
          ) : (
            <p class="note">Set a password first.</p>
          )}
        </Card>
      </div>
      <Sessions />
      {dialog}
    </Page>
  );
}

function Sessions() {
  const sessions = useRead('console_list_sessions', {});
  const { dialog, open } = useDialog();
  const others = sessions.data?.filter(({ current }) => !current).length ?? 0;
  const endOthers = () => open((close) => <EndOthersDialog others={others} onClose={close} />);
  return (
    <Card
      title="Sessions"
      note="Where you’re signed in. If you don’t recognize one, end it and change your password."
      actions={others > 0 && <Button onClick={endOthers}>End all others</Button>}
    >
      <Loaded reading={sessions} name="your sessions">
        {(list) => (
          <Table
            caption="Your sessions"
            columns={columns}
            rows={list}
            keyOf={({ id }) => id}
            nameOf={({ browser }) => browserInWords(browser)}
            actions={(ownSession) =>
              ownSession.current
                ? []
                : [
                    {
                      text: 'End',
                      label: `End the session of ${browserInWords(ownSession.browser)}`,
                      isWritten: true,
                      onSelect: () =>
                        open((close) => <EndDialog one={ownSession} onClose={close} />),
                    },
                  ]
            }
          />
        )}
      </Loaded>
      {dialog}
    </Card>
  );
}

const columns: Array<Column<OwnSession>> = [
  {
    heading: 'Browser',
    names: true,
    cell: ({ browser, current }) => (
      <span class="row">
        <span title={browser}>{browserInWords(browser)}</span>
        {current && <Badge tone="good">this one</Badge>}
      </span>
    ),
  },
  { heading: 'Address', cell: ({ address }) => <span class="mono">{address}</span> },
  {
    heading: 'Signed in',
    word: 'signed in',
    cell: ({ created_at }) => <Since at={created_at} />,
  },
  { heading: 'Last seen', word: 'seen', cell: ({ seen_at }) => <Since at={seen_at} /> },
  { heading: 'Ends', word: 'ends', cell: ({ expiry }) => <Until at={expiry} /> },
];

function EndDialog({ one: ownSession, onClose }: { one: OwnSession; onClose: () => void }) {
  const name = browserInWords(ownSession.browser);
  const end = async () => {
    await change('console_end_session', { path: { id: ownSession.id } });
    return `${name} is signed out.`;
  };
  return (
    <FormDialog title="End a session" verb="End the session" onSubmit={end} onClose={onClose}>
      <p>
        <strong>{name}</strong> at <span class="mono">{ownSession.address}</span>, last seen{' '}
        <Since at={ownSession.seen_at} />, is signed out at once.
      </p>
    </FormDialog>
  );
}

function EndOthersDialog({ others, onClose }: { others: number; onClose: () => void }) {
  const end = async () => {
    await change('console_end_other_sessions', {});
    return 'You’re now signed in on this browser only.';
  };
  return (
    <FormDialog
      title="End all other sessions"
      verb={`End ${count(others, 'session')}`}
      onSubmit={end}
      onClose={onClose}
    >
      <p>Every other browser is signed out at once.</p>
    </FormDialog>
  );
}
