// Inviting a node: the code is shown once, with the command that sets up the machine.
import { useState } from 'preact/hooks';
import type { ResponseOf } from '../../api/api.ts';
import { change, useRead } from '../../api/reading.ts';
import { dateTime } from '../../format.ts';
import { MakerDialog } from '../../forms/form_dialog.tsx';
import { lifetimeOptions, lifetimes } from '../../forms/lifetimes.ts';
import { ServerField } from '../../forms/server_field.tsx';
import { Copy, optionsOf, SelectField, ShownOnce, textOf, Unread } from '../../ui/ui.ts';
import { useServerChoices } from '../server_choices.ts';

/** `server`: preselected. */
export function InviteNodeDialog({ server, onClose }: { server?: string; onClose: () => void }) {
  const [selected, setSelected] = useState(server ?? '');
  const name = selected.trim();
  const make = (fields: FormData) => {
    const lifetime_seconds = Number(textOf(fields, 'lifetime_seconds'));
    return change('admin_create_invite', { body: { server: name, lifetime_seconds } });
  };
  const { hour, day, week } = lifetimes;
  return (
    <MakerDialog
      title="Invite a node"
      titleOf={() => `Invite a node to ${name}`}
      verb="Create code"
      make={make}
      shown={(invite) => <NewCode invite={invite} onDone={onClose} />}
      onClose={onClose}
    >
      <p>
        A node is a machine that carries the traffic of one server. Its agent joins with a code,
        once.
      </p>
      <Obstacles />
      {server ? (
        <SelectField label="Server" name="server" options={optionsOf([server])} />
      ) : (
        <ServerField
          required
          value={selected}
          onInput={setSelected}
          none="Select a server"
          useChoices={useServerChoices}
        />
      )}
      <SelectField
        label="Valid for"
        name="lifetime_seconds"
        initial={String(lifetimes.day)}
        options={lifetimeOptions(hour, day, week)}
      />
    </MakerDialog>
  );
}

interface NewCodeProps {
  invite: ResponseOf<'admin_create_invite'>;
  onDone: () => void;
}

function NewCode({ invite: { code, expiry, line }, onDone }: NewCodeProps) {
  return (
    <ShownOnce
      name="the code"
      text={code}
      lead={`It works once, until ${dateTime(expiry)}, and won’t be shown again.`}
      onDone={onDone}
    >
      <div class="stack-tight">
        <h3>On the machine of the node</h3>
        <p>
          This line installs the agent on Debian or Ubuntu, checks the machine, joins, and starts.
          Run it as root, or as a user with sudo. It needs curl.
        </p>
        <Copy text={line} name="the line" />
      </div>
      <Obstacles />
    </ShownOnce>
  );
}

/** The settings and files that other machines need to join. */
function Obstacles() {
  const status = useRead('admin_get_status', {});
  return (
    <>
      {status.data?.joining.obstacles.map(({ message, remedy }) => (
        <p key={message} class="banner">
          {message} <strong>To fix it:</strong> {remedy}
        </p>
      ))}
      <Unread reading={status} name="what machines need to join" />
    </>
  );
}
