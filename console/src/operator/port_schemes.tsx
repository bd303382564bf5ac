// Port schemes: which ports lead to exit IPs, by which service, and which servers use them.
import { Link } from 'wouter-preact';
import type { ResponseOf } from '../api/api.ts';
import { useRead } from '../api/reading.ts';
import { count } from '../format.ts';
import { paths } from '../paths.ts';
import { Card, type Column, Loaded, Page, Table } from '../ui/ui.ts';
import type { Server } from './states.ts';

type Scheme = ResponseOf<'admin_list_port_schemes'>[number];

/** As many servers as are named; of more their number is told. */
const named = 5;

export function PortSchemesPage() {
  const schemes = useRead('admin_list_port_schemes', {});
  const servers = useRead('admin_list_servers', {});
  return (
    <Page
      title="Port schemes"
      note="Which ports of a server lead to its exit IPs, and by which service. An account uses the ports of its own scheme."
    >
      <Card>
        <Loaded of={schemes} what="the port schemes">
          {(all) => (
            <Table
              caption="Port schemes"
              columns={columnsWith(servers.data)}
              rows={all}
              keyOf={({ name }) => name}
            />
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

const columnsWith = (servers: readonly Server[] | undefined): Column<Scheme>[] => [
  { heading: 'Port scheme', names: true, cell: ({ name }) => name },
  {
    heading: 'Ports',
    cell: ({ bases }) => bases.map(({ base, service }) => `from ${base} ${service}`).join(', '),
  },
  {
    heading: 'Servers',
    cell: ({ name }) =>
      servers && <Users of={servers.filter(({ port_schemes }) => port_schemes.includes(name))} />,
  },
];

function Users({ of }: { of: readonly Server[] }) {
  if (of.length === 0) return 'none';
  if (of.length > named) return count(of.length, 'server');
  return of.map(({ name }, at) => (
    <span key={name}>
      {at > 0 && ', '}
      <Link href={paths.operator.server(name)}>{name}</Link>
    </span>
  ));
}
