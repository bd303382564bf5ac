// One server: its status, its exit IPs, and settings to copy; or how to add it to the contract.
import { Link } from 'wouter-preact';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { ConnectedCard } from '../connections/card.tsx';
import { bytes, cityName, count } from '../format.ts';
import { useDialog } from '../forms/form_dialog.tsx';
import { Tabs } from '../menu.tsx';
import { paths } from '../paths.ts';
import { LastDays } from '../usage/last_days.tsx';
import '../style/usage.css';
import { servicesText } from '../services.ts';
import { Button, Card, Empty, isOneOf, Loaded, Meter, Page, Stat } from '../ui/ui.ts';
import { AddButton, RemoveDialog } from './change.tsx';
import { ExitIps } from './exits.tsx';
import { exitsOf, type NetworkServer, type OwnServer, portsOf } from './rows.ts';
import { ServerStatus } from './table.tsx';
import { testNote } from './test_form.tsx';
import { Tester } from './tester.tsx';
import { ReadySettings } from './use.tsx';

interface OneServerProps {
  name: string;
  tab: string;
  /** The address of the list. */
  list: string;
}

export function OneServer({ name, tab, list }: OneServerProps) {
  const scope = useScope();
  const { flags, readOnlyReason } = scope;
  const { dialog, open } = useDialog();
  const network = useReadIn(scope, 'list_network', { query: { server: name, limit: 1 } });
  const row = network.data?.[0];
  const isOwn = row?.on_contract ?? false;
  const ownServer = useReadIn(scope, 'get_server', { path: { server: name } }, { enabled: isOwn });
  const removed = row?.own && { ...row, limit_bytes: row.own.limit_bytes };
  return (
    <Page
      title={row ? `${row.title} (${name})` : name}
      note={
        <>
          <Link href={list}>All servers</Link>
          {row && ` · ${cityName(row.location)} · ${row.hostname}`}
        </>
      }
      actions={
        flags.admin &&
        removed && (
          <Button
            icon="remove"
            disabledReason={readOnlyReason}
            onClick={() => open((close) => <RemoveDialog server={removed} onClose={close} />)}
          >
            Remove from the contract
          </Button>
        )
      }
    >
      {isOwn ? (
        <Loaded reading={ownServer} name="the server">
          {(server) => <Own server={server} tab={isOneOf(tabNames, tab) ? tab : ''} />}
        </Loaded>
      ) : (
        <Loaded reading={network} name="the server">
          {() => (row ? <Other row={row} /> : <Unknown name={name} />)}
        </Loaded>
      )}
      {dialog}
    </Page>
  );
}

const tabNames = {
  '': 'Use it',
  exits: 'Exits',
  connected: 'Connected now',
  usage: 'Usage',
  test: 'Test',
};
type Tab = keyof typeof tabNames;

function Own({ server, tab }: { server: OwnServer; tab: Tab }) {
  const { flags } = useScope();
  const { server: name } = server;
  const hasPorts = server.ips.some((exit) => portsOf(server, exit).length > 0);
  const mayOpen: Record<Tab, boolean> = {
    '': true,
    exits: true,
    connected: flags.admin || flags.proxy,
    usage: flags.admin || flags.billing,
    test: hasPorts,
  };
  const tabs = (Object.keys(tabNames) as Tab[]).filter((each) => mayOpen[each]);
  return (
    <>
      <ServerFacts server={server} />
      <Tabs
        label={`Parts of ${name}`}
        tabs={tabs.map((each) => ({ path: paths.server(name, each), name: tabNames[each] }))}
        current={paths.server(name, tab)}
      />
      {tab === 'exits' ? (
        <ExitIps server={server} />
      ) : tab === 'connected' && mayOpen.connected ? (
        <ConnectedCard target={{ server: name }} />
      ) : tab === 'usage' && mayOpen.usage ? (
        <LastDays filter={{ server: name }} />
      ) : tab === 'test' && hasPorts ? (
        <Card title="Test a connection" note={testNote}>
          <Tester server={server} />
        </Card>
      ) : hasPorts ? (
        <ReadySettings server={server} />
      ) : (
        <Card title="Settings to copy">
          <Empty title="No proxy here">
            This server offers no proxy on the ports of your contract.
          </Empty>
        </Card>
      )}
    </>
  );
}

function ServerFacts({ server }: { server: OwnServer }) {
  const { usage, nodes } = server;
  return (
    <Card>
      <dl class="stats">
        <Stat name="Exit IPs" note={<ServerStatus server={{ nodes, exits: exitsOf(server) }} />}>
          {server.ips.length}
        </Stat>
        <Stat name="Nodes" note={nodesNote(nodes)}>
          {nodes.all > 0 ? `${nodes.live} of ${nodes.all} online` : 'none'}
        </Stat>
        {usage && (
          <>
            <Stat name="Used in this period" note={`of ${bytes(usage.limit)}`}>
              {bytes(usage.current)}
              <Meter
                label="Used in this period"
                value={usage.current}
                max={usage.limit}
                text={`${bytes(usage.current)} of ${bytes(usage.limit)}`}
              />
            </Stat>
            <Stat name="In 30 days">{bytes(usage.last_30_days)}</Stat>
          </>
        )}
      </dl>
      <p class="note">{`Services: ${servicesText(server.services)}.`}</p>
    </Card>
  );
}

function nodesNote({ all, live }: OwnServer['nodes']): string {
  if (all === 0) return 'No node yet.';
  return live === all ? 'Machines that carry its traffic.' : `${all - live} offline.`;
}

function Other({ row }: { row: NetworkServer }) {
  const { flags } = useScope();
  const facts = `${count(row.ip_count, 'exit IP')} in ${row.location.city}, with ${servicesText(row.services)}.`;
  return (
    <Card title="Not on the contract">
      <p>{facts}</p>
      {!row.can_add ? (
        <p class="note">You can’t add it yourself. Ask your provider.</p>
      ) : flags.admin ? (
        <div class="actions">
          <AddButton server={row.server} />
        </div>
      ) : (
        <p class="note">An admin of your account can add it.</p>
      )}
    </Card>
  );
}

function Unknown({ name }: { name: string }) {
  return (
    <Card>
      <Empty
        title={`There is no server named ${name}.`}
        action={
          <Link class="button" href={paths.servers}>
            See all servers
          </Link>
        }
      />
    </Card>
  );
}
