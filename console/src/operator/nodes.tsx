// Every node: its server, its status, and its lag; and the unused invitations.
import { Link } from 'wouter-preact';
import { useAddressStates } from '../address.ts';
import type { ResponseOf } from '../api/api.ts';
import { change, useRead } from '../api/reading.ts';
import { FormDialog, type OpenDialog, useDialog } from '../forms/form_dialog.tsx';
import { paths } from '../paths.ts';
import { UntilWithDate } from '../relative_time.tsx';
import {
  Badge,
  Button,
  Card,
  type Column,
  Empty,
  isOneOf,
  Loaded,
  optionsIn,
  Page,
  SearchField,
  SelectField,
  Table,
} from '../ui/ui.ts';
import { InviteNodeDialog } from './forms/node_invite.tsx';
import { HeldUsage } from './held_usage.tsx';
import { NodesTable } from './nodes_table.tsx';
import { type Node, nodeGroups } from './states.ts';

export function NodesPage() {
  const nodes = useRead('admin_list_nodes', {});
  const { dialog, open, openLinked } = useDialog({
    invite: (close, server) => <InviteNodeDialog server={server} onClose={close} />,
  });
  const invite = (
    <Button kind="primary" icon="plus" onClick={() => openLinked('invite')}>
      Invite a node
    </Button>
  );
  return (
    <Page note="Machines that carry the servers’ traffic." actions={invite}>
      <Card>
        <Loaded of={nodes} what="the nodes">
          {(all) =>
            all.length === 0 ? (
              <Empty title="No nodes yet">
                Servers need a node to carry traffic. Invite one, then start its agent.
              </Empty>
            ) : (
              <Nodes all={all} open={open} />
            )
          }
        </Loaded>
      </Card>
      <HeldUsage />
      <Invites />
      {dialog}
    </Page>
  );
}

const states = optionsIn({ '': 'Any state', ...nodeGroups });

function Nodes({ all, open }: { all: readonly Node[]; open: OpenDialog }) {
  const [{ search, state }, change] = useAddressStates({ search: '', state: '' });
  const wanted = search.trim().toLowerCase();
  const group = isOneOf(nodeGroups, state) ? nodeGroups[state] : undefined;
  const rows = all.filter(
    (node) =>
      `${node.name} ${node.server}`.toLowerCase().includes(wanted) && (group?.has(node) ?? true),
  );
  return (
    <>
      <div class="filters">
        <SearchField
          label="Search"
          name="search"
          placeholder="Node or server"
          value={search}
          onInput={(search) => change({ search })}
        />
        <SelectField
          label="State"
          name="state"
          value={state}
          onInput={(state) => change({ state })}
          options={states}
        />
      </div>
      {rows.length > 0 ? (
        <NodesTable of={rows} all={all} open={open} />
      ) : (
        <Empty title="No node matches" />
      )}
    </>
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
      <Loaded of={invites} what="the invitations">
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
