// The IP authlist: which addresses need no password, for whom and until when.
import { useState } from 'preact/hooks';
import { change, useRead } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { flags, refusal, session } from '../api/session.ts';
import { dateTime, fromNow } from '../format.ts';
import { LastRemoval, RemoveAll } from '../forms/remove_all.tsx';
import { undoBy } from '../forms/undo.ts';
import { now } from '../now.ts';
import { type AuthlistEntry, AuthlistForm, keysOf } from './form.tsx';
import '../style/lists.css';
import { Badge } from '../ui/badge.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { SelectField, TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { LongList } from '../ui/long_list.tsx';
import { Page } from '../ui/page.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { notify } from '../ui/toast.tsx';

type Shown =
  | { dialog: 'add' | 'remove all' }
  | { dialog: 'change' | 'remove'; entry: AuthlistEntry };

export function AuthlistPage() {
  const entries = useRead('console_list_authlist', {});
  const [shown, setShown] = useState<Shown>();
  const close = () => setShown(undefined);
  const total = entries.data?.length ?? 0;
  const add = (
    <Button
      kind="primary"
      icon="plus"
      refused={refusal.value}
      onClick={() => setShown({ dialog: 'add' })}
    >
      Add an address
    </Button>
  );
  return (
    <Page
      title="IP authlist"
      note="A connection from a listed address needs no password and counts as its user."
      actions={
        <>
          {flags.value.admin && total > 0 && (
            <Button
              icon="remove"
              refused={refusal.value}
              onClick={() => setShown({ dialog: 'remove all' })}
            >
              Remove all …
            </Button>
          )}
          {total > 0 && add}
        </>
      }
    >
      <Card>
        <Loaded of={entries} what="the authlist" explain={explain}>
          {(all) =>
            all.length > 0 ? (
              <Entries all={all} show={setShown} />
            ) : (
              <Empty title="No address is listed." action={add}>
                Until one is, the proxy asks everybody for a username and a proxy access token.
              </Empty>
            )
          }
        </Loaded>
      </Card>
      {flags.value.admin && <LastRemoval list="authlist" />}
      {shown?.dialog === 'add' && <AuthlistForm onClose={close} />}
      {shown?.dialog === 'change' && <AuthlistForm entry={shown.entry} onClose={close} />}
      {shown?.dialog === 'remove' && <RemoveEntry entry={shown.entry} onClose={close} />}
      {shown?.dialog === 'remove all' && (
        <RemoveAll list="authlist" entries={total} onClose={close}>
          Every address that account {session.value?.account} has listed, of all its users, needs a
          username and a proxy access token from then on; open connections from them end.
        </RemoveAll>
      )}
    </Page>
  );
}

interface EntriesProps {
  all: readonly AuthlistEntry[];
  show: (shown: Shown) => void;
}

function Entries({ all, show }: EntriesProps) {
  const [part, setPart] = useState('');
  const [user, setUser] = useState('');
  const users = [...new Set(all.map((entry) => entry.user))].sort();
  const wanted = part.trim().toLowerCase();
  const rows = all
    .filter((entry) => entry.ip.includes(wanted) && (user === '' || entry.user === user))
    .sort((a, b) => b.id - a.id);
  return (
    <>
      <div class="filters">
        <TextField
          label="Address contains"
          name="part"
          type="search"
          value={part}
          onInput={(event) => setPart(event.currentTarget.value)}
        />
        {(users.length > 1 || user) && (
          <SelectField
            label="User"
            name="of"
            value={user}
            onInput={setUser}
            options={[
              { value: '', text: 'All users' },
              ...users.map((name) => ({ value: name, text: name })),
            ]}
          />
        )}
      </div>
      <LongList rows={rows} all={all.length} filter={`${user} ${wanted}`}>
        {(shown) =>
          shown.length > 0 ? (
            <Table
              caption="Listed addresses, the newest entry first"
              columns={columns}
              rows={shown}
              keyOf={({ id }) => id}
              isFaint={(entry) => !entry.user_active}
              actions={(entry) => (
                <>
                  <IconButton
                    icon="edit"
                    label={`Change ${entry.ip}`}
                    refused={refusal.value}
                    onClick={() => show({ dialog: 'change', entry })}
                  />
                  <IconButton
                    icon="remove"
                    label={`Remove ${entry.ip}`}
                    refused={refusal.value}
                    onClick={() => show({ dialog: 'remove', entry })}
                  />
                </>
              )}
            />
          ) : (
            <Empty title="No entry matches." />
          )
        }
      </LongList>
    </>
  );
}

const columns: Column<AuthlistEntry>[] = [
  { heading: 'Address', names: true, cell: ({ ip }) => <span class="mono address">{ip}</span> },
  {
    heading: 'User',
    cell: ({ user, user_active }) => (
      <span class="authlist-user">
        {user}
        {!user_active && <Badge tone="warn">not an active proxy user</Badge>}
      </span>
    ),
  },
  {
    heading: 'Expires',
    cell: ({ expiry }) => (
      <span class="two-lines">
        <Time at={expiry} relative={fromNow(expiry, now.value)} full={dateTime(expiry)} />
        <span class="note">{dateTime(expiry)}</span>
      </span>
    ),
  },
  {
    heading: 'Last used',
    cell: ({ last_used_at: at }) =>
      at === null ? (
        <span class="note">never</span>
      ) : (
        <Time at={at} relative={fromNow(Math.min(at, now.value), now.value)} full={dateTime(at)} />
      ),
  },
];

function RemoveEntry({ entry, onClose }: { entry: AuthlistEntry; onClose: () => void }) {
  const { id, ip, user, expiry } = entry;
  const remove = async () => {
    await change('console_remove_authlist_entry', { path: { id } });
    onClose();
    const back = async () => {
      await change('console_create_authlist_entry', { body: { ip, user, expiry } });
      return `${ip} is listed again.`;
    };
    notify(`${ip} is off the list.`, undoBy(back, { about: keysOf(entry), until: expiry }));
  };
  return (
    <Dialog title={`Remove ${ip}?`} onClose={onClose}>
      <p>
        Connections from {ip} no longer count as {user}: they need a username and a proxy access
        token, and those that are open end.
      </p>
      <Form
        verb="Remove the entry"
        kind="danger"
        onSubmit={remove}
        explain={explain}
        onCancel={onClose}
      />
    </Dialog>
  );
}
