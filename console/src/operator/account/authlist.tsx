// An account's IP authlist, as its operator sees and mends it.
import type { Answer } from '../../api/api.ts';
import { change, useRead } from '../../api/reading.ts';
import { explain } from '../../api/sentences.ts';
import { count, dateTime } from '../../format.ts';
import { FormDialog, useDialog } from '../../forms/form_dialog.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { Card, Empty } from '../../ui/card.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { LongList } from '../../ui/long_list.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Moment } from '../moment.tsx';
import type { Account } from '../states.ts';
import { Removals } from './removals.tsx';
import { RemoveWholeList } from './remove_whole_list.tsx';

type Entry = Answer<'admin_list_account_authlist'>[number];

export function AuthlistPart({ account: { name: account } }: { account: Account }) {
  const entries = useRead('admin_list_account_authlist', { path: { account } });
  const { dialog, open } = useDialog();
  const total = entries.data?.length ?? 0;
  const removeAll = total > 0 && (
    <Button
      icon="remove"
      onClick={() =>
        open((close) => (
          <RemoveWholeList
            account={account}
            list="authlist"
            entries={total}
            remove={() =>
              change('admin_remove_all_account_authlist_entries', { path: { account } })
            }
            onClose={close}
          >
            <strong>Every address that {account} has listed</strong> needs a username and a proxy
            access token from then on; open connections from them end.
          </RemoveWholeList>
        ))
      }
    >
      Remove all …
    </Button>
  );
  return (
    <>
      <Card title="IP authlist" actions={removeAll}>
        <Loaded of={entries} what="the authlist" explain={explain}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="The account lists no address." />
            ) : (
              <LongList rows={all} all={all.length} many="entries">
                {(shown) => (
                  <Table
                    caption={`Listed addresses of ${account}`}
                    columns={columns}
                    rows={shown}
                    keyOf={({ id }) => id}
                    isFaint={({ user_active }) => !user_active}
                    actions={(entry) => (
                      <IconButton
                        icon="remove"
                        label={`Remove ${entry.ip}`}
                        onClick={() =>
                          open((close) => (
                            <RemoveEntry account={account} entry={entry} onClose={close} />
                          ))
                        }
                      />
                    )}
                  />
                )}
              </LongList>
            )
          }
        </Loaded>
        {dialog}
      </Card>
      <Removals account={account} list="authlist" />
    </>
  );
}

const columns: Column<Entry>[] = [
  { heading: 'Address', names: true, cell: ({ ip }) => <span class="mono">{ip}</span> },
  {
    heading: 'User',
    cell: ({ user, user_active }) => (
      <span class="badges">
        {user}
        {!user_active && <Badge tone="warn">not an active proxy user</Badge>}
      </span>
    ),
  },
  {
    heading: 'Expires',
    cell: ({ expiry }) => (
      <span class="two-lines">
        <Moment at={expiry} />
        <span class="note">{dateTime(expiry)}</span>
      </span>
    ),
  },
  { heading: 'Id', numeric: true, cell: ({ id }) => id },
];

interface RemoveEntryProps {
  account: string;
  entry: Entry;
  onClose: () => void;
}

function RemoveEntry({ account, entry: { id, ip, user }, onClose }: RemoveEntryProps) {
  return (
    <FormDialog
      title={`Remove ${ip} of ${account}?`}
      verb={`Remove ${count(1, 'entry')}`}
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_remove_account_authlist_entry', { path: { account, id } });
        return `${ip} is off the list of ${account}.`;
      }}
    >
      <p>
        <strong>
          Connections from {ip} no longer count as {user}
        </strong>
        : they need a username and a proxy access token, and those that are open end. Only the
        account can list it again.
      </p>
    </FormDialog>
  );
}
