// The dialog that adds a custom DNS entry, changes one, or revives one that has expired.
import { useState } from 'preact/hooks';
import { type DnsEntry, isOver } from '../dns_entries.ts';
import { change, useRead } from '../reading.ts';
import { explain } from '../sentences.ts';
import { Dialog } from '../ui/dialog.tsx';
import { SelectField, TextField } from '../ui/field.tsx';
import { Form, textOf } from '../ui/form.tsx';
import { say } from '../ui/toast.tsx';
import { ExpiryField, expiryOf } from './expiry_field.tsx';
import { undoBy } from './undo.ts';

interface DnsFormProps {
  /** The entry to change; none: a new one. */
  entry?: DnsEntry;
  onClose: () => void;
}

export function DnsForm({ entry, onClose }: DnsFormProps) {
  const revives = entry !== undefined && isOver(entry);
  const title = entry
    ? `${revives ? 'Revive' : 'Change'} ${entry.hostname} on ${entry.server}`
    : 'Add a custom DNS entry';
  const submit = async (fields: FormData) => {
    const given = {
      server: textOf(fields, 'server'),
      hostname: textOf(fields, 'hostname'),
      ip: textOf(fields, 'ip'),
    };
    const expiry = expiryOf(fields);
    if (entry) await changeEntry(entry, { ...given, expiry });
    else await addEntry({ ...given, expiry: expiry as number });
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        verb={!entry ? 'Add the entry' : revives ? 'Revive the entry' : 'Save the change'}
        onSubmit={submit}
        explain={explain}
        onCancel={onClose}
      >
        <TextField
          label="Hostname"
          name="hostname"
          defaultValue={entry?.hostname ?? ''}
          placeholder="shop.example.com"
          autoCapitalize="off"
          inputMode="url"
          required
          autoFocus
        />
        <TextField
          label="Resolves to"
          name="ip"
          defaultValue={entry?.ip ?? ''}
          placeholder="203.0.113.7"
          autoCapitalize="off"
          required
          hint="One IPv4 or IPv6 address."
        />
        <ServerField server={entry?.server} />
        <ExpiryField {...(entry && !revives ? { current: entry.expiry } : {})} />
      </Form>
    </Dialog>
  );
}

function ServerField({ server }: { server: string | undefined }) {
  const servers = useRead('console_list_servers', {});
  const [chosen, setChosen] = useState(server);
  if (!servers.data) {
    return <TextField label="On server" name="server" defaultValue={server ?? ''} required />;
  }
  const own = servers.data.map(({ server: name, title }) => ({
    value: name,
    text: title === name ? name : `${name} (${title})`,
  }));
  const isForeign = server !== undefined && !own.some(({ value }) => value === server);
  return (
    <SelectField
      label="On server"
      name="server"
      value={chosen ?? own[0]?.value ?? ''}
      onInput={setChosen}
      required
      options={[
        ...own,
        ...(isForeign ? [{ value: server, text: `${server}: not on your contract` }] : []),
      ]}
      hint={
        own.length === 0
          ? 'No server is on your contract yet: add one under Servers.'
          : 'The entry counts on this server alone, on its override ports: the normal ones plus 500.'
      }
    />
  );
}

async function addEntry(body: {
  server: string;
  hostname: string;
  ip: string;
  expiry: number;
}): Promise<void> {
  const { id, hostname, server } = await change('console_create_override', { body });
  const back = async () => {
    await change('console_remove_override', { path: { id } });
    return `${hostname} on ${server} is removed again.`;
  };
  say(`${hostname} on ${server} is added.`, undoBy(back));
}

async function changeEntry(
  before: DnsEntry,
  wanted: { server: string; hostname: string; ip: string; expiry: number | undefined },
): Promise<void> {
  const { server, hostname, ip, expiry = before.expiry } = wanted;
  const body = {
    ...(server === before.server ? {} : { server }),
    ...(hostname === before.hostname ? {} : { hostname }),
    ...(ip === before.ip ? {} : { ip }),
    ...(expiry === before.expiry ? {} : { expiry }),
  };
  if (Object.keys(body).length === 0) return;
  const path = { id: before.id };
  const after = await change('console_change_override', { path, body });
  const name = `${after.hostname} on ${after.server}`;
  // What has expired can be revived, not put back.
  if (isOver(before)) {
    say(`${name} is revived.`);
    return;
  }
  const back = async () => {
    const { server, hostname, ip, expiry } = before;
    await change('console_change_override', { path, body: { server, hostname, ip, expiry } });
    return `${hostname} on ${server} is as it was.`;
  };
  say(`${name} is changed.`, undoBy(back));
}
