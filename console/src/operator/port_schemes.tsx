// Port schemes: the ports that lead to exit IPs, their services, and the use of each scheme.
import { Link } from 'wouter-preact';
import { invalidField, type ResponseOf } from '../api/api.ts';
import { change, useRead } from '../api/reading.ts';
import { count } from '../format.ts';
import { FormDialog, OfRecord, useDialog } from '../forms/form_dialog.tsx';
import { NameField } from '../forms/name_field.tsx';
import { addressOf, paths } from '../paths.ts';
import { serviceName } from '../services.ts';
import { AddButton, Card, type Column, LinesField, Loaded, Page, Table, textOf } from '../ui/ui.ts';

type Scheme = ResponseOf<'admin_list_port_schemes'>[number];
type Bases = Scheme['bases'];

export function PortSchemesPage() {
  const schemes = useRead('admin_list_port_schemes', {});
  const { dialog, open, openLinked } = useDialog({
    add: (close) => <NewScheme onClose={close} />,
    change: (close, schemeName) => (
      <OfRecord
        list={schemes.data}
        is={({ name }) => name === schemeName}
        name={schemeName}
        onClose={close}
      >
        {(scheme) => <ChangeScheme scheme={scheme} onClose={close} />}
      </OfRecord>
    ),
  });
  return (
    <Page
      note="The ports that lead to the exit IPs of a server, with their services. An account uses the ports of its own scheme."
      actions={<AddButton onClick={() => openLinked('add')}>Add a port scheme</AddButton>}
    >
      <Card>
        <Loaded reading={schemes} name="the port schemes">
          {(all) => (
            <Table
              caption="Port schemes"
              columns={columns}
              rows={all}
              keyOf={({ name }) => name}
              actions={(scheme) => [
                {
                  text: 'Change',
                  icon: 'edit',
                  onSelect: () => openLinked('change', scheme.name),
                },
                {
                  text: 'Remove',
                  icon: 'remove',
                  disabledReason: whyStays(scheme),
                  onSelect: () =>
                    open((close) => <RemoveScheme name={scheme.name} onClose={close} />),
                },
              ]}
            />
          )}
        </Loaded>
      </Card>
      {dialog}
    </Page>
  );
}

const columns: Column<Scheme>[] = [
  { heading: 'Port scheme', names: true, cell: ({ name }) => name },
  {
    heading: 'Ports',
    cell: ({ bases }) =>
      bases.map(({ base, service }) => `${serviceName(service)} from ${base}`).join(', '),
  },
  {
    heading: 'Accounts',
    numeric: true,
    cell: ({ accounts }) => accounts.toLocaleString('en'),
  },
  {
    heading: 'Servers',
    cell: ({ name, servers }) =>
      servers === 0 ? (
        'none'
      ) : (
        <Link href={addressOf(paths.operator.servers, { port_scheme: name })}>
          {count(servers, 'server')}
        </Link>
      ),
  },
];

/** The reason why a scheme cannot be removed now. */
function whyStays({ name, accounts, servers }: Scheme): string | undefined {
  if (name === 'default') return 'New accounts and servers use it by default.';
  if (accounts === 0 && servers === 0) return undefined;
  return `It is the scheme of ${count(accounts, 'account')} and ${count(servers, 'server')}.`;
}

const textOfBases = (bases: Bases) =>
  bases.map(({ base, service }) => `${base} ${service}`).join('\n');

/** The bases in lines such as "10000 proxy". Errors: ApiError of the field. */
function basesOf(fields: FormData): Bases {
  const lines = textOf(fields, 'bases').split('\n');
  return lines
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => {
      const [, port, service] = /^(\d{1,5})[\s:]+(proxy|proxy-https)$/.exec(line) ?? [];
      if (port === undefined) {
        throw invalidField(
          'bases',
          `“${line}” isn’t a port with its service. Example: 10000 proxy.`,
        );
      }
      return { base: Number(port), service: service as Bases[number]['service'] };
    });
}

function PortsField({ bases }: { bases?: Bases }) {
  return (
    <LinesField
      label="Ports"
      name="bases"
      hint="One per line: the port for port base 0, and its service (proxy or proxy-https). Override ports are 500 higher."
      rows={4}
      defaultValue={bases && textOfBases(bases)}
      placeholder={'20000 proxy\n22000 proxy-https'}
    />
  );
}

function NewScheme({ onClose }: { onClose: () => void }) {
  return (
    <FormDialog
      title="Add a port scheme"
      verb="Add the scheme"
      kind="primary"
      onClose={onClose}
      onSubmit={async (fields) => {
        const name = textOf(fields, 'name');
        await change('admin_create_port_scheme', { body: { name, bases: basesOf(fields) } });
        return `Added the port scheme ${name}.`;
      }}
    >
      <p>No node opens its ports until a server has the scheme.</p>
      <NameField />
      <PortsField />
    </FormDialog>
  );
}

interface ChangeSchemeProps {
  scheme: Scheme;
  onClose: () => void;
}

function ChangeScheme({ scheme: { name, bases, accounts, servers }, onClose }: ChangeSchemeProps) {
  return (
    <FormDialog
      title={`Change the ports of ${name}`}
      verb="Save"
      kind="primary"
      onClose={onClose}
      onSubmit={async (fields) => {
        const body = { bases: basesOf(fields) };
        if (textOfBases(body.bases) === textOfBases(bases)) return 'Nothing was changed.';
        await change('admin_change_port_scheme', { path: { name }, body });
        return `Saved the port scheme ${name}.`;
      }}
    >
      <p>
        The nodes of {count(servers, 'server')} open and close ports at once.
        {accounts > 0 &&
          ` ${count(accounts, 'account has', 'accounts have')} the scheme: its ports stay; you can add others.`}
      </p>
      <PortsField bases={bases} />
    </FormDialog>
  );
}

function RemoveScheme({ name, onClose }: { name: string; onClose: () => void }) {
  return (
    <FormDialog
      title={`Remove the port scheme ${name}?`}
      verb={`Remove ${name}`}
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_remove_port_scheme', { path: { name } });
        return `Port scheme ${name} removed.`;
      }}
    >
      <p>No account or server uses it. You can add it again.</p>
    </FormDialog>
  );
}
