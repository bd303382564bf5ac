// The dialog that adds a custom DNS entry, changes one, or revives one that has expired.
import { useContext, useState } from 'preact/hooks';
import { ApiError } from '../api/api.ts';
import { change, useRead } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { ExpiryField, expiryOf } from '../forms/expiry_field.tsx';
import { ReadingField } from '../forms/reading_field.tsx';
import { undoBy } from '../forms/undo.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { FieldFault, SelectField, TextField } from '../ui/field.tsx';
import { Form, textOf } from '../ui/form.tsx';
import { notify } from '../ui/toast.tsx';
import { type DnsEntry, isOver } from './entries.ts';

interface DnsFormProps {
  /** The entry to change; none: a new one. */
  entry?: DnsEntry;
  onClose: () => void;
  /** Goes on with the entry that holds the hostname already. */
  onChangeOther: (id: number) => void;
}

export function DnsForm({ entry, onClose, onChangeOther }: DnsFormProps) {
  const [holder, setHolder] = useState<number>();
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
    setHolder(undefined);
    try {
      if (entry) await changeEntry(entry, { ...given, expiry });
      else await addEntry({ ...given, expiry: expiry as number });
    } catch (error) {
      setHolder(holderIn(error));
      throw error;
    }
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
        {holder !== undefined && <ChangeOther onClick={() => onChangeOther(holder)} />}
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

/** The entry that has the hostname of the refused one. */
function holderIn(error: unknown): number | undefined {
  const [, id] =
    (error instanceof ApiError && /overridden on .*, by entry (\d+)\./.exec(error.message)) || [];
  return id === undefined ? undefined : Number(id);
}

/** Shown for as long as the hostname is said to be overridden already. */
function ChangeOther({ onClick }: { onClick: () => void }) {
  if (useContext(FieldFault)?.field !== 'hostname') return null;
  return (
    <div>
      <Button icon="edit" onClick={onClick}>
        Change that entry
      </Button>
    </div>
  );
}

function ServerField({ server }: { server: string | undefined }) {
  const servers = useRead('console_list_servers', {});
  const [chosen, setChosen] = useState(server);
  if (!servers.data) {
    return (
      <ReadingField
        label="On server"
        name="server"
        what="the servers"
        error={servers.error}
        known={server}
      />
    );
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
  const made = await change('console_create_override', { body });
  const { id, hostname, server, expiry } = made;
  const back = async () => {
    await change('console_remove_override', { path: { id } });
    return `${hostname} on ${server} is removed again.`;
  };
  const undo = undoBy(back, { about: keysOf(made), until: expiry });
  notify(`${hostname} on ${server} is added.`, undo);
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
  const about = [...keysOf(before), ...keysOf(after)];
  // What has expired can be revived, not put back.
  if (isOver(before)) {
    notify(`${name} is revived.`, { about });
    return;
  }
  const back = async () => {
    const { server, hostname, ip, expiry } = before;
    await change('console_change_override', { path, body: { server, hostname, ip, expiry } });
    return `${hostname} on ${server} is as it was.`;
  };
  notify(`${name} is changed.`, undoBy(back, { about, until: before.expiry }));
}

/** What messages about an entry are about: the entry, and its hostname, which another may have later. */
export function keysOf({ id, server, hostname }: Pick<DnsEntry, 'id' | 'server' | 'hostname'>) {
  return [`overrides/${id}`, `overrides/${server}/${hostname}`];
}
