// Changes the services or port schemes of the selected servers, or removes them: all or none.
import { invalidField } from '../../api/api.ts';
import { change, useRead } from '../../api/reading.ts';
import { named } from '../../attention/items.ts';
import { count } from '../../format.ts';
import { FormDialog } from '../../forms/form_dialog.tsx';
import type { SelectedInBar, SelectedInDialog } from '../../forms/list.ts';
import { inParts } from '../../forms/parts.ts';
import { serviceNames, servicesText } from '../../services.ts';
import { Button, Loaded, SelectionBar, TextField, textOf } from '../../ui/ui.ts';
import type { Server } from '../states.ts';
import { Several, services, servicesIn } from './server_form.tsx';

/** The bar for selected rows. */
export function ManyServersBar({ open, ...many }: SelectedInBar<Server>) {
  return (
    <SelectionBar selection={many.selection}>
      <Button onClick={() => open((close) => <SetServices {...many} onClose={close} />)}>
        Set services …
      </Button>
      <Button onClick={() => open((close) => <SetPortSchemes {...many} onClose={close} />)}>
        Set port schemes …
      </Button>
      <Button
        kind="danger"
        icon="remove"
        onClick={() => open((close) => <RemoveServers {...many} onClose={close} />)}
      >
        Remove …
      </Button>
    </SelectionBar>
  );
}

const namesOf = (servers: readonly Server[]) => servers.map(({ name }) => name);

/** The values that all lists have. */
const shared = (lists: ReadonlyArray<readonly string[]>) =>
  (lists[0] ?? []).filter((item) => lists.every((list) => list.includes(item)));

function SetServices({ selected, selection, onClose }: SelectedInDialog<Server>) {
  const countText = count(selected.length, 'server');
  return (
    <FormDialog
      title={`Set the services of ${countText}`}
      verb={`Set them on ${countText}`}
      kind="primary"
      onClose={onClose}
      onSubmit={async (fields) => {
        const services = servicesIn(fields);
        await inParts(namesOf(selected), (servers) =>
          change('admin_change_servers', { body: { servers, services } }),
        );
        selection.setAll(false);
        return `${countText} now: ${servicesText(services)}.`;
      }}
    >
      <p>These servers will offer exactly the selected services: {named(namesOf(selected))}.</p>
      <Several
        legend="Services"
        field="services"
        all={services}
        names={serviceNames}
        selected={shared(selected.map((server) => server.services))}
      />
    </FormDialog>
  );
}

function SetPortSchemes({ selected, selection, onClose }: SelectedInDialog<Server>) {
  const schemes = useRead('admin_list_port_schemes', {});
  const countText = count(selected.length, 'server');
  return (
    <FormDialog
      title={`Set the port schemes of ${countText}`}
      verb={`Set them on ${countText}`}
      kind="primary"
      onClose={onClose}
      onSubmit={async (fields) => {
        const port_schemes = fields.getAll('port_schemes').map(String);
        await inParts(namesOf(selected), (servers) =>
          change('admin_change_servers', { body: { servers, port_schemes } }),
        );
        selection.setAll(false);
        return `${countText} now: ${port_schemes.join(', ')}.`;
      }}
    >
      <p>
        These servers will listen on the ports of exactly the selected schemes:{' '}
        {named(namesOf(selected))}. Schemes that a contract uses stay.
      </p>
      <Loaded reading={schemes} name="the port schemes">
        {(all) => (
          <Several
            legend="Port schemes"
            field="port_schemes"
            all={all.map(({ name }) => name)}
            selected={shared(selected.map((server) => server.port_schemes))}
          />
        )}
      </Loaded>
    </FormDialog>
  );
}

/** To remove more than this, their number must be typed. */
const maxUntyped = 20;

function RemoveServers({ selected, selection, onClose }: SelectedInDialog<Server>) {
  const countText = count(selected.length, 'server');
  const mustType = selected.length > maxUntyped;
  const sum = (numberOf: (server: Server) => number) =>
    selected.reduce((all, server) => all + numberOf(server), 0);
  return (
    <FormDialog
      title={`Remove ${countText} from the network?`}
      verb={`Remove ${countText}`}
      onClose={onClose}
      onSubmit={async (fields) => {
        if (mustType && textOf(fields, 'confirmation') !== String(selected.length)) {
          throw invalidField('confirmation', `Expected: ${selected.length}.`);
        }
        await inParts(namesOf(selected), (servers) =>
          change('admin_remove_servers', { body: { servers } }),
        );
        selection.setAll(false);
        return `${countText} removed from the network.`;
      }}
    >
      <p>
        {named(namesOf(selected))}. <strong>This also removes</strong>{' '}
        {count(
          sum(({ ip_count }) => ip_count),
          'exit IP',
        )}{' '}
        with their health and geo-IP statuses, every custom DNS entry on them, their open
        invitations, and{' '}
        {count(
          sum(({ nodes }) => nodes.all),
          'node',
        )}
        . Their usage still counts. This can’t be undone.
      </p>
      <p class="note">If one of them is on a contract, none is removed.</p>
      {mustType && (
        <TextField
          label={`To confirm, type ${selected.length} (the number)`}
          name="confirmation"
          inputMode="numeric"
          required
        />
      )}
    </FormDialog>
  );
}
