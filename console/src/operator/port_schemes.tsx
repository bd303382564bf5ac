// Port schemes: which ports lead to exit IPs, by which service, and which servers use them.
import { Link } from 'wouter-preact';
import type { ResponseOf } from '../api/api.ts';
import { change, useRead } from '../api/reading.ts';
import { count } from '../format.ts';
import { FormDialog, useDialog } from '../forms/form_dialog.tsx';
import { nameRule } from '../forms/name_rule.ts';
import { paths } from '../paths.ts';
import {
  Button,
  Card,
  type Column,
  Loaded,
  optionsIn,
  Page,
  SelectField,
  Table,
  TextField,
  textOf,
} from '../ui/ui.ts';
import type { Server } from './states.ts';

type Scheme = ResponseOf<'admin_list_port_schemes'>[number];

/** As many servers as are named; of more their number is told. */
const named = 5;

export function PortSchemesPage() {
  const schemes = useRead('admin_list_port_schemes', {});
  const servers = useRead('admin_list_servers', {});
  const { dialog, openLinked } = useDialog({ add: (close) => <NewScheme onClose={close} /> });
  return (
    <Page
      title="Port schemes"
      note="Which ports of a server lead to its exit IPs, and by which service. An account uses the ports of its own scheme."
      actions={
        <Button kind="primary" icon="plus" onClick={() => openLinked('add')}>
          Add a port scheme
        </Button>
      }
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
      {dialog}
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

/** A scheme of one range of ports; those of several are made by the command line. */
function NewScheme({ onClose }: { onClose: () => void }) {
  return (
    <FormDialog
      title="Add a port scheme"
      verb="Add the scheme"
      kind="primary"
      onClose={onClose}
      onSubmit={async (fields) => {
        const name = textOf(fields, 'name');
        const base = Number(textOf(fields, 'bases.0.base'));
        const service = textOf(fields, 'bases.0.service') === 'proxy' ? 'proxy' : 'proxy-https';
        await change('admin_create_port_scheme', { body: { name, bases: [{ base, service }] } });
        return `Added the port scheme ${name}.`;
      }}
    >
      <p>No node opens a port of it until a server is given the scheme.</p>
      <TextField label="Name" name="name" required {...nameRule} />
      <TextField
        label="First port"
        name="bases.0.base"
        type="number"
        required
        min={1}
        max={64_536}
        hint="The port of port base 0. Override ports are 500 more."
      />
      <SelectField label="Service" name="bases.0.service" options={services} />
    </FormDialog>
  );
}

const services = optionsIn({ proxy: 'proxy', 'proxy-https': 'proxy-https' });
