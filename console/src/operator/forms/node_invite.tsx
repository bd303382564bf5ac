// Inviting a node: the code is shown once, with the line that its agent joins by.
import { useState } from 'preact/hooks';
import type { ResponseOf } from '../../api/api.ts';
import { change, useRead } from '../../api/reading.ts';
import { facts } from '../../api/session.ts';
import { dateTime } from '../../format.ts';
import { MakerDialog } from '../../forms/form_dialog.tsx';
import { lifetimeOptions, lifetimes } from '../../forms/lifetimes.ts';
import { Copy, SelectField, ShownOnce, TextField, textOf } from '../../ui/ui.ts';

/** `server`: chosen already. */
export function InviteNodeDialog({ server, onClose }: { server?: string; onClose: () => void }) {
  const servers = useRead('admin_list_servers', {}).data ?? [];
  const [chosen, setChosen] = useState(server ?? '');
  const name = chosen || servers[0]?.name || '';
  const make = (fields: FormData) => {
    const lifetime_seconds = Number(textOf(fields, 'lifetime_seconds'));
    return change('admin_create_invite', { body: { server: name, lifetime_seconds } });
  };
  const { hour, day, week } = lifetimes;
  return (
    <MakerDialog
      title="Invite a node"
      titleOf={() => `Code for a node of ${name}`}
      verb="Make the code"
      make={make}
      shown={(invite) => <NewCode invite={invite} onDone={onClose} />}
      onClose={onClose}
    >
      <p>
        A node is a machine that carries the traffic of one server. Its agent joins with a code,
        once.
      </p>
      <SelectField
        label="Server"
        name="server"
        required
        value={name}
        onInput={setChosen}
        options={(server ? [{ name: server, title: '' }] : servers).map((one) => ({
          value: one.name,
          text: one.title ? `${one.name}: ${one.title}` : one.name,
        }))}
      />
      <SelectField
        label="The code works for"
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

function NewCode({ invite: { code, expiry }, onDone }: NewCodeProps) {
  // Nodes usually connect where customers do; a listener for operators alone is not that place.
  const [url, setUrl] = useState(facts.value?.audiences.account ? location.origin : '');
  return (
    <ShownOnce
      what="the code"
      text={code}
      lead={`It works once, until ${dateTime(expiry)}, and is not shown again.`}
      onDone={onDone}
    >
      <TextField
        label="Where nodes reach this control plane"
        name="url"
        type="url"
        value={url}
        onInput={(event) => setUrl(event.currentTarget.value)}
        placeholder="https://exitward.example"
        hint="The address of the listener for nodes. Plain http works on the same machine alone."
      />
      <div class="stack-tight">
        <h3>On the machine of the node</h3>
        <Copy text={`exitward-agent join ${url || 'URL'} ${code}`} what="the join line" />
      </div>
    </ShownOnce>
  );
}
