// One server: its facts, its exit IPs, its nodes and its history.
import { Link, useLocation } from 'wouter-preact';
import type { ResponseOf } from '../api/api.ts';
import { change, useRead } from '../api/reading.ts';
import { ConnectedCard } from '../connections/card.tsx';
import { cityName, count, dateTime } from '../format.ts';
import { FormDialog, useDialog } from '../forms/form_dialog.tsx';
import { addressOf, paths } from '../paths.ts';
import { servicesText } from '../services.ts';
import { Badge, Button, Card, DescriptionList, Empty, Icon, Loaded, Page } from '../ui/ui.ts';
import { InviteNodeDialog } from './forms/node_invite.tsx';
import { ChangeServerDialog } from './forms/server_form.tsx';
import { HeldUsage } from './held_usage.tsx';
import { HistoryCard } from './history.tsx';
import { NodesTable } from './nodes_table.tsx';
import { Exits } from './server/exits.tsx';
import { type Node, serverState } from './states.ts';

type Server = ResponseOf<'admin_get_server'>;

export function ServerPage({ name }: { name: string }) {
  const server = useRead('admin_get_server', { path: { server: name } });
  const nodes = useRead('admin_list_nodes', {});
  const serverNodes = nodes.data?.filter((node) => node.server === name);
  const state = server.data && serverState(server.data.nodes);
  return (
    <Page
      title={name}
      note={<Link href={paths.operator.servers}>All servers</Link>}
      actions={
        <>
          {state && <Badge tone={state.tone}>{state.text}</Badge>}
          <Link class="button" href={addressOf(paths.operator.test, { server: name })}>
            <Icon name="test" /> Test
          </Link>
        </>
      }
    >
      <Loaded reading={server} name="the server">
        {(serverRecord) => (
          <>
            <Facts server={serverRecord} nodes={serverNodes ?? []} />
            <Exits server={serverRecord} />
            <Loaded reading={{ ...nodes, data: serverNodes }} name="the nodes">
              {(all) => <Nodes server={name} nodes={all} />}
            </Loaded>
            <ConnectedCard target={{ server: name }} />
            {serverNodes !== undefined && serverNodes.length > 0 && (
              <HistoryCard server={name} isOnline={serverRecord.nodes.live > 0} />
            )}
            <HeldUsage server={name} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Facts({ server, nodes }: { server: Server; nodes: readonly Node[] }) {
  const { dialog, open, openLinked } = useDialog({
    change: (close) => <ChangeServerDialog server={server} onClose={close} />,
  });
  return (
    <Card
      title={server.title}
      note={server.hostname}
      actions={
        <>
          <Button
            icon="remove"
            onClick={() =>
              open((close) => <RemoveServer server={server} nodes={nodes} onClose={close} />)
            }
          >
            Remove …
          </Button>
          {server.services.some((service) => service.startsWith('vpn-')) && (
            <Button
              onClick={() => open((close) => <RenewVpnKey server={server.name} onClose={close} />)}
            >
              Renew VPN key …
            </Button>
          )}
          <Button kind="primary" icon="edit" onClick={() => openLinked('change')}>
            Change
          </Button>
        </>
      }
    >
      <DescriptionList
        facts={[
          ['City', cityName(server)],
          ['Position', `${server.latitude}, ${server.longitude}`],
          ['Services', servicesText(server.services)],
          ['Port schemes', server.port_schemes.join(', ')],
          ['On contracts', count(server.contracts, 'account')],
          ['Added', dateTime(server.created_at)],
        ]}
      />
      {dialog}
    </Card>
  );
}

function Nodes({ server, nodes }: { server: string; nodes: readonly Node[] }) {
  const { dialog, open, openLinked } = useDialog({
    invite: (close) => <InviteNodeDialog server={server} onClose={close} />,
  });
  const invite = (
    <Button icon="plus" onClick={() => openLinked('invite')}>
      Invite a node
    </Button>
  );
  return (
    <Card title="Nodes" actions={nodes.length > 0 && invite}>
      {nodes.length === 0 ? (
        <Empty title={`No nodes yet`} action={invite}>
          Until a node joins, connections are refused and custom DNS entries stay pending.
        </Empty>
      ) : (
        <NodesTable rows={nodes} open={open} ofServer />
      )}
      {dialog}
    </Card>
  );
}

function RenewVpnKey({ server, onClose }: { server: string; onClose: () => void }) {
  return (
    <FormDialog
      title={`Renew the VPN key of ${server}?`}
      verb="Renew VPN key"
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_create_server_vpn_key', { path: { server } });
        return `The VPN key of ${server} was renewed. Users need new VPN profiles.`;
      }}
    >
      <p>
        <strong>This ends</strong> all VPN passwords and shared keys of {server}, and the tunnels
        that were opened with them. Tunnels opened with a proxy access token stay.
      </p>
      <p>Each user has to download a new VPN profile for {server}, and install it.</p>
    </FormDialog>
  );
}

interface RemoveServerProps {
  server: Server;
  nodes: readonly Node[];
  onClose: () => void;
}

function RemoveServer({ server, nodes, onClose }: RemoveServerProps) {
  const { name, contracts, ip_count } = server;
  const [, navigate] = useLocation();
  return (
    <FormDialog
      title={`Remove ${name} from the network?`}
      verb={`Remove ${name}`}
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_remove_server', { path: { server: name } });
        navigate(paths.operator.servers);
        return `${name} is no longer part of the network.`;
      }}
    >
      {contracts > 0 && (
        <p class="banner fault">
          {name} is on {count(contracts, 'contract')}. Remove it there first.
        </p>
      )}
      <p>
        <strong>This also removes</strong> {count(ip_count, 'exit IP')} with their health and geo-IP
        statuses, every custom DNS entry on it, its open invitations, and{' '}
        {count(nodes.length, 'node')}
        {nodes.length > 0 && `: ${nodes.map((node) => node.name).join(', ')}`}. Its usage still
        counts. This can’t be undone.
      </p>
    </FormDialog>
  );
}
