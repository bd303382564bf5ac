// Your sign-in: the password, the second factor, and the browsers that are signed in.
import { useState } from 'preact/hooks';
import type { Answer } from '../../api/api.ts';
import { change, useRead } from '../../api/reading.ts';
import { session } from '../../api/session.ts';
import { count } from '../../format.ts';
import { Since, Until } from '../../relative_time.tsx';
import {
  Badge,
  Button,
  Card,
  type Column,
  Dialog,
  Form,
  Loaded,
  notify,
  Page,
  Table,
} from '../../ui/ui.ts';
import { PasswordDialog } from './password.tsx';
import { EnrolDialog, RemoveSecondFactorDialog } from './second_factor.tsx';
import { browserInWords } from './user_agent.ts';

type OwnSession = Answer<'console_list_sessions'>[number];

export function OwnSignInPage() {
  const { user, account, has_password, second_factor } = session.value ?? {};
  const [open, setOpen] = useState<'password' | 'enrol' | 'remove'>();
  const onClose = () => setOpen(undefined);
  return (
    <Page
      title="Your sign-in"
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
              ? 'When it is changed, your other sessions end.'
              : 'You came by a link. Without a password you need another link when this session is over.'}
          </p>
          <div>
            <Button kind={has_password ? 'plain' : 'primary'} onClick={() => setOpen('password')}>
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
              ? 'Signing in takes a code from your authenticator app, or a recovery code.'
              : 'A code from an authenticator app on your phone, besides the password: a password that leaked is then not enough.'}
          </p>
          {has_password ? (
            <div class="actions">
              <Button kind={second_factor ? 'plain' : 'primary'} onClick={() => setOpen('enrol')}>
                {second_factor ? 'New phone or new recovery codes' : 'Set it up'}
              </Button>
              {second_factor && <Button onClick={() => setOpen('remove')}>Turn it off</Button>}
            </div>
          ) : (
            <p class="note">Set a password first.</p>
          )}
        </Card>
      </div>
      <Sessions />
      {open === 'password' && <PasswordDialog onClose={onClose} />}
      {open === 'enrol' && <EnrolDialog onClose={onClose} />}
      {open === 'remove' && <RemoveSecondFactorDialog onClose={onClose} />}
    </Page>
  );
}

function Sessions() {
  const sessions = useRead('console_list_sessions', {});
  const [ending, setEnding] = useState<OwnSession | 'others'>();
  const others = sessions.data?.filter(({ current }) => !current).length ?? 0;
  const onClose = () => setEnding(undefined);
  return (
    <Card
      title="Sessions"
      note="Where you are signed in. End those that you do not know, and change the password then."
      actions={others > 0 && <Button onClick={() => setEnding('others')}>End all others</Button>}
    >
      <Loaded of={sessions} what="your sessions">
        {(list) => (
          <Table
            caption="Your sessions"
            columns={columns}
            rows={list}
            keyOf={({ id }) => id}
            actions={(one) =>
              !one.current && (
                <Button
                  aria-label={`End the session of ${browserInWords(one.browser)}`}
                  onClick={() => setEnding(one)}
                >
                  End
                </Button>
              )
            }
          />
        )}
      </Loaded>
      {ending === 'others' && <EndOthersDialog others={others} onClose={onClose} />}
      {ending && ending !== 'others' && <EndDialog one={ending} onClose={onClose} />}
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
  { heading: 'Signed in', cell: ({ created_at }) => <Since at={created_at} /> },
  { heading: 'Last seen', cell: ({ seen_at }) => <Since at={seen_at} /> },
  { heading: 'Ends', cell: ({ expiry }) => <Until at={expiry} /> },
];

function EndDialog({ one, onClose }: { one: OwnSession; onClose: () => void }) {
  const name = browserInWords(one.browser);
  const end = async () => {
    await change('console_end_session', { path: { id: one.id } });
    onClose();
    notify(`${name} is signed out.`);
  };
  return (
    <Dialog title="End a session" onClose={onClose}>
      <Form kind="danger" verb="End the session" onSubmit={end} onCancel={onClose}>
        <p>
          <strong>{name}</strong> at <span class="mono">{one.address}</span>, last seen{' '}
          <Since at={one.seen_at} />, is signed out at once.
        </p>
      </Form>
    </Dialog>
  );
}

function EndOthersDialog({ others, onClose }: { others: number; onClose: () => void }) {
  const end = async () => {
    await change('console_end_other_sessions', {});
    onClose();
    notify('Only this browser is signed in now.');
  };
  return (
    <Dialog title="End all other sessions" onClose={onClose}>
      <Form
        kind="danger"
        verb={`End ${count(others, 'session')}`}
        onSubmit={end}
        onCancel={onClose}
      >
        <p>Every browser but this one is signed out at once.</p>
      </Form>
    </Dialog>
  );
}
