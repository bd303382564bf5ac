// An account's custom DNS entries, and on which nodes each is in force.
import type { Answer } from '../../api/api.ts';
import { change, useRead } from '../../api/reading.ts';
import { explain } from '../../api/sentences.ts';
import { dateTime } from '../../format.ts';
import { FormDialog, useDialog } from '../../forms/form_dialog.tsx';
import { Badge, Status } from '../../ui/badge.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { Card, Empty } from '../../ui/card.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { LongList } from '../../ui/long_list.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Moment } from '../moment.tsx';
import type { Account } from '../states.ts';
import { Removals } from './removals.tsx';
import { RemoveWholeList } from './remove_whole_list.tsx';

type Override = Answer<'admin_list_account_overrides'>[number];

export function DnsPart({ account: { name: account } }: { account: Account }) {
  const entries = useRead('admin_list_account_overrides', { path: { account } });
  const { dialog, open } = useDialog();
  const total = entries.data?.length ?? 0;
  const removeAll = total > 0 && (
    <Button
      icon="remove"
      onClick={() =>
        open((close) => (
          <RemoveWholeList
            account={account}
            list="overrides"
            entries={total}
            remove={() => change('admin_remove_all_account_overrides', { path: { account } })}
            onClose={close}
          >
            <strong>
              The hostnames that {account} overrides lead to their public addresses again
            </strong>
            , on every server.
          </RemoveWholeList>
        ))
      }
    >
      Remove all …
    </Button>
  );
  const actions = (entry: Override) => (
    <>
      <Button
        kind="quiet"
        icon="nodes"
        onClick={() =>
          open((close) => <EntryNodes account={account} id={entry.id} onClose={close} />)
        }
      >
        Nodes
        <span class="visually-hidden">
          {' '}
          of {entry.hostname} on {entry.server}
        </span>
      </Button>
      <IconButton
        icon="remove"
        label={`Remove ${entry.hostname} on ${entry.server}`}
        onClick={() =>
          open((close) => <RemoveEntry account={account} entry={entry} onClose={close} />)
        }
      />
    </>
  );
  return (
    <>
      <Card title="Custom DNS" actions={removeAll}>
        <Loaded of={entries} what="the custom DNS entries" explain={explain}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="The account has no custom DNS entry." />
            ) : (
              <LongList rows={all} all={all.length} many="entries">
                {(shown) => (
                  <Table
                    caption={`Custom DNS entries of ${account}`}
                    columns={columns}
                    rows={shown}
                    keyOf={({ id }) => id}
                    isFaint={({ status }) => status === 'expired'}
                    actions={actions}
                  />
                )}
              </LongList>
            )
          }
        </Loaded>
        {dialog}
      </Card>
      <Removals account={account} list="overrides" />
    </>
  );
}

const columns: Column<Override>[] = [
  {
    heading: 'Hostname',
    names: true,
    cell: ({ hostname }) => <span class="wrap-anywhere">{hostname}</span>,
  },
  { heading: 'Address', cell: ({ ip }) => <span class="mono">{ip}</span> },
  { heading: 'Server', cell: ({ server }) => server },
  { heading: 'State', cell: ({ status }) => <Status status={status} /> },
  {
    heading: 'Expires',
    cell: ({ expiry }) => (
      <span class="two-lines">
        <Moment at={expiry} />
        <span class="note">{dateTime(expiry)}</span>
      </span>
    ),
  },
];

interface EntryNodesProps {
  account: string;
  id: number;
  onClose: () => void;
}

function EntryNodes({ account, id, onClose }: EntryNodesProps) {
  const entry = useRead('admin_get_account_override', { path: { account, id } });
  return (
    <Dialog title={entry.data ? `Nodes of ${entry.data.hostname}` : 'Nodes'} onClose={onClose} wide>
      <Loaded of={entry} what="the entry" explain={explain}>
        {({ hostname, server, ip, status, on_contract, nodes }) => (
          <>
            <p>
              {hostname} leads to {ip} on {server}: <Status status={status} />
            </p>
            {!on_contract && (
              <p class="banner notice">
                {server} is not on the contract: the entry is in force nowhere.
              </p>
            )}
            {nodes.length === 0 ? (
              <Empty title={`${server} has no node yet.`}>
                The entry stays pending until one has joined.
              </Empty>
            ) : (
              <Table
                caption={`Nodes of ${server}`}
                columns={nodeColumns}
                rows={nodes}
                keyOf={(node) => node.id}
              />
            )}
          </>
        )}
      </Loaded>
    </Dialog>
  );
}

const nodeColumns: Column<Answer<'admin_get_account_override'>['nodes'][number]>[] = [
  { heading: 'Node', names: true, cell: ({ name }) => name },
  {
    heading: 'Entry',
    cell: ({ applied }) =>
      applied ? <Badge tone="good">applied</Badge> : <Badge tone="busy">not applied</Badge>,
  },
  {
    heading: 'State',
    cell: ({ live }) => (live ? <Badge tone="good">live</Badge> : <Badge tone="bad">lost</Badge>),
  },
  { heading: 'Applied up to', numeric: true, cell: ({ applied_revision }) => applied_revision },
];

interface RemoveEntryProps {
  account: string;
  entry: Override;
  onClose: () => void;
}

function RemoveEntry({ account, entry, onClose }: RemoveEntryProps) {
  const { id, hostname, server } = entry;
  return (
    <FormDialog
      title={`Remove ${hostname} on ${server}?`}
      verb="Remove 1 entry"
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_remove_account_override', { path: { account, id } });
        return `The entry for ${hostname} on ${server} is removed.`;
      }}
    >
      <p>
        <strong>{hostname} leads to its public address again</strong> for the users of {account} on{' '}
        {server}. Only the account can add it again.
      </p>
    </FormDialog>
  );
}
