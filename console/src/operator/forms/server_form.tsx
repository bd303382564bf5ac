// Adding a server to the network, and changing its facts.
import type { Given } from '../../api/api.ts';
import { change, useRead } from '../../api/reading.ts';
import { differing } from '../../forms/differing.ts';
import { FormDialog } from '../../forms/form_dialog.tsx';
import { NameField } from '../../forms/name_field.tsx';
import { serviceNames } from '../../services.ts';
import { CheckField, TextField, textOf, Unread } from '../../ui/ui.ts';
import { PlaceFields } from './place_fields.tsx';

export const services = ['proxy', 'proxy-https', 'vpn-ikev1', 'vpn-ikev2', 'vpn-l2tp'] as const;

/** The facts about a server in the forms. */
type ServerFacts = Required<Given<'admin_create_server'>['body']>;

interface NewServerDialogProps {
  onClose: () => void;
  onDone: (name: string) => void;
}

export function NewServerDialog({ onClose, onDone }: NewServerDialogProps) {
  const create = async (fields: FormData) => {
    const name = textOf(fields, 'name');
    await change('admin_create_server', { body: { name, ...factsOf(fields) } });
    onDone(name);
    return `${name} added. Next, add exit IPs and a node.`;
  };
  return (
    <FormDialog
      title="Add a server"
      verb="Add the server"
      kind="primary"
      onSubmit={create}
      onClose={onClose}
      wide
    >
      <NameField label="Short name" hint="Such as fra1. It can’t be changed later." />
      <ServerFields />
    </FormDialog>
  );
}

export function ChangeServerDialog({
  server,
  onClose,
}: {
  server: ServerFacts;
  onClose: () => void;
}) {
  const save = async (fields: FormData) => {
    const body = differing<Omit<ServerFacts, 'name'>>(server, factsOf(fields));
    if (Object.keys(body).length === 0) return 'Nothing was changed.';
    await change('admin_change_server', { path: { server: server.name }, body });
    return `Saved ${server.name}.`;
  };
  return (
    <FormDialog
      title={`Change ${server.name}`}
      verb="Save"
      kind="primary"
      onSubmit={save}
      onClose={onClose}
      wide
    >
      <ServerFields server={server} />
    </FormDialog>
  );
}

function ServerFields({ server }: { server?: ServerFacts }) {
  const portSchemes = useRead('admin_list_port_schemes', {});
  const present = server?.port_schemes ?? ['default'];
  const schemes = [...new Set([...(portSchemes.data ?? []).map(({ name }) => name), ...present])];
  const text = (name: 'hostname' | 'title') => ({
    name,
    required: true,
    defaultValue: server?.[name] ?? '',
  });
  return (
    <>
      <TextField label="Hostname" maxLength={512} {...text('hostname')} />
      <TextField label="Title" maxLength={128} hint="Shown to accounts." {...text('title')} />
      <PlaceFields place={server} />
      <div class="fields">
        <Several
          legend="Services"
          field="services"
          all={services}
          names={serviceNames}
          selected={server?.services ?? ['proxy']}
        />
        <Several legend="Port schemes" field="port_schemes" all={schemes} selected={present} />
      </div>
      <Unread reading={portSchemes} name="the port schemes" />
    </>
  );
}

interface SeveralProps {
  legend: string;
  field: string;
  all: readonly string[];
  selected: readonly string[];
  /** The label of each option, if not the option itself. */
  names?: Record<string, string>;
}

/** Checkboxes, any number of which may be checked. */
export function Several({ legend, field, all, selected, names = {} }: SeveralProps) {
  return (
    <fieldset>
      <legend>{legend}</legend>
      {all.map((option) => (
        <CheckField
          key={option}
          label={names[option] ?? option}
          name={field}
          value={option}
          defaultChecked={selected.includes(option)}
        />
      ))}
    </fieldset>
  );
}

export const servicesIn = (fields: FormData) =>
  services.filter((service) => fields.getAll('services').includes(service));

function factsOf(fields: FormData): Omit<ServerFacts, 'name'> {
  return {
    hostname: textOf(fields, 'hostname'),
    title: textOf(fields, 'title'),
    city: textOf(fields, 'city'),
    country: textOf(fields, 'country'),
    latitude: Number(textOf(fields, 'latitude')),
    longitude: Number(textOf(fields, 'longitude')),
    services: servicesIn(fields),
    port_schemes: fields.getAll('port_schemes').map(String),
  };
}
