// Every node: its server, its status, and its lag; and the unused invitations.
import { Link } from 'wouter-preact';
import type { ResponseOf } from '../api/api.ts';
import { change, useRead } from '../api/reading.ts';
import { ExportMenu } from '../forms/export.tsx';
import { FilteredList, useFilteredList } from '../forms/filtered_list.tsx';
import { FormDialog, useDialog } from '../forms/form_dialog.tsx';
import { paths } from '../paths.ts';
import { UntilWithDate } from '../relative_time.tsx';
import { AddButton, Badge, Card, type Column, Empty, Loaded, Page, Table } from '../ui/ui.ts';
import { InviteNodeDialog } from './forms/node_invite.tsx';
import { HeldUsage } from './held_usage.tsx';
import { ManyNodesBar } from './nodes_many.tsx';
import { csvColumns, NodesTable } from './nodes_table.tsx';
import { nodeFilters } from './states.ts';

const sorts = [
  ...(['name', 'server', 'state', 'version'] as const),
  ...(['seen_at', 'connections', 'bytes_per_second'] as const),
];

/** From the worst state, so that nodes with problems come first. */
export function NodesPage() {
  const list = useFilteredList('admin_list_nodes', {
    ...{ key: 'id', sorts, sort: 'state', states: nodeFilters, canEnd: false },
  });
  const { pages, table, selection, selected } = list;
  const { dialog, open, openLinked } = useDialog({
    invite: (close, server) => <InviteNodeDialog server={server} onClose={close} />,
  });
  const invite = <AddButton onClick={() => openLinked('invite')}>Invite a node</AddButton>;
  return (
    <Page title="Nodes" note="Machines that carry the servers’ traffic." actions={invite}>
      <FilteredList
        name="the nodes"
        empty={
          <Empty title="No nodes yet">
            Servers need a node to carry traffic. Invite one, then start its agent.
          </Empty>
        }
        placeholder="Node or server"
        bar={<ManyNodesBar {...{ selected, selection, open }} />}
        {...{ list }}
      >
        <NodesTable
          {...table}
          open={open}
          buttons={<ExportMenu name="nodes" pages={pages} {...csvColumns} />}
        />
      </FilteredList>
      <HeldUsage />
      <Invites />
      {dialog}
    </Page>
  );
}

type Invite = ResponseOf<'admin_list_invites'>[number];

function Invites() {
  const invites = useRead('admin_list_invites', {});
  const { dialog, open } = useDialog();
  return (
    <Card
      title="Open invitations"
      note="Codes that haven’t been used yet. The codes themselves aren’t stored."
    >
      <Loaded reading={invites} name="the invitations">
        {(all) =>
          all.length === 0 ? (
            <p class="note">There is none.</p>
          ) : (
            <Table
              caption="Open invitations of nodes"
              columns={inviteColumns}
              rows={all}
              keyOf={({ id }) => id}
              actions={({ id, server }) => [
                {
                  text: 'Cancel',
                  label: `Cancel the invitation for ${server}`,
                  icon: 'remove',
                  onSelect: () =>
                    open((close) => <TakeBack id={id} server={server} onClose={close} />),
                },
              ]}
            />
          )
        }
      </Loaded>
      {dialog}
    </Card>
  );
}

const inviteColumns: Column<Invite>[] = [
  {
    heading: 'For',
    names: true,
    cell: ({ server }) => <Link href={paths.operator.server(server)}>{server}</Link>,
  },
  { heading: 'Invitation', cell: ({ id }) => <Badge tone="neutral">{id}</Badge> },
  {
    heading: 'Expires',
    word: 'expires',
    cell: ({ expiry }) => <UntilWithDate at={expiry} />,
  },
];

function TakeBack({ id, server, onClose }: { id: string; server: string; onClose: () => void }) {
  return (
    <FormDialog
      title={`Cancel the invitation for ${server}?`}
      verb="Cancel invitation"
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_remove_invite', { path: { invite: id } });
        return `Invitation for ${server} canceled.`;
      }}
    >
      <p>The code for {server} stops working. Nodes that joined with it stay.</p>
    </FormDialog>
  );
}
