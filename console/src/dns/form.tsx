// The dialog that adds a custom DNS entry, changes one, or revives an expired one.
import { useState } from 'preact/hooks';
import { ApiError, invalidField } from '../api/api.ts';
import { readPage, usePages } from '../api/paging.ts';
import { changeIn } from '../api/reading.ts';
import { type Scope, useScope } from '../api/scope.ts';
import { differing } from '../forms/differing.ts';
import { ExpiryField, expiryOf } from '../forms/expiry_field.tsx';
import { FormDialog } from '../forms/form_dialog.tsx';
import { NoteField } from '../forms/note.tsx';
import { useServerChoices } from '../forms/server_choices.ts';
import { SuggestField } from '../forms/suggest_field.tsx';
import { undoBy } from '../forms/undo.ts';
import { Button, notify, TextField, textOf, Unread } from '../ui/ui.ts';
import { type DnsEntry, holderOf, isOver, nameOf } from './entries.ts';

interface DnsFormProps {
  /** The entry to change; undefined: a new one. */
  entry?: DnsEntry;
  onClose: () => void;
  /** Opens the entry that has the hostname already. */
  changeOther: (id: number) => void;
}

export function DnsForm({ entry, onClose, changeOther }: DnsFormProps) {
  const scope = useScope();
  const [holder, setHolder] = useState<DnsEntry>();
  const revives = entry !== undefined && isOver(entry);
  const title = entry
    ? `${revives ? 'Revive' : 'Change'} ${entry.hostname} on ${entry.server}`
    : 'Add a custom DNS entry';
  const submit = async (fields: FormData) => {
    const given = {
      server: textOf(fields, 'server'),
      hostname: textOf(fields, 'hostname'),
      ip: textOf(fields, 'ip'),
      note: textOf(fields, 'note'),
    };
    const expiry = expiryOf(fields, entry?.expiry);
    setHolder(undefined);
    try {
      if (entry) await changeEntry(scope, entry, { ...given, expiry });
      else await addEntry(scope, { ...given, expiry: expiry as number });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'hostname_taken') throw error;
      setHolder(await findHolder(scope, given));
      // The server's sentence names the other entry by its id, which the console does not show.
      throw invalidField(
        'hostname',
        `${given.hostname} already has an entry on ${given.server}. Change that one.`,
      );
    }
  };
  return (
    <FormDialog
      title={title}
      verb={!entry ? 'Add the entry' : revives ? 'Revive the entry' : 'Save the change'}
      kind="primary"
      onSubmit={submit}
      onClose={onClose}
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
        onInput={() => setHolder(undefined)}
      />
      {holder && (
        <div>
          <Button icon="edit" onClick={() => changeOther(holder.id)}>
            Change that entry
          </Button>
        </div>
      )}
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
      <NoteField entry={entry} />
    </FormDialog>
  );
}

/** The entry that has the hostname on the server already. */
async function findHolder(
  { base }: Scope,
  { server, hostname }: Pick<Wanted, 'server' | 'hostname'>,
): Promise<DnsEntry | undefined> {
  const query = { server, search: nameOf(hostname), limit: 1000 };
  const { rows } = await readPage('console_list_overrides', query, {}, base);
  return holderOf(rows, { server, hostname });
}

function ServerField({ server }: { server: string | undefined }) {
  const [selected, setSelected] = useState(server);
  const first = useServerChoices('');
  const isNone = first.options?.length === 0;
  const { base } = useScope();
  const query = { server: server ?? '' };
  const isOwn = usePages('console_list_servers', {
    query,
    limit: 1,
    base,
    enabled: server !== undefined,
  });
  const isForeign = server !== undefined && isOwn.rows.data?.length === 0;
  return (
    <>
      <SuggestField
        label="On server"
        name="server"
        listName="the servers"
        value={selected ?? first.options?.[0]?.value ?? ''}
        onInput={setSelected}
        required
        others={isForeign ? [{ value: server, text: `${server}: not on your contract` }] : []}
        useChoices={useServerChoices}
        hint={
          isNone
            ? 'There are no servers on your contract yet. Add one under Servers.'
            : 'The entry applies on this server’s override ports only: the normal ports plus 500.'
        }
      />
      <Unread reading={isOwn.rows} name={`whether ${server} is on the contract`} />
    </>
  );
}

interface Wanted {
  server: string;
  hostname: string;
  ip: string;
  expiry: number;
  note: string;
}

async function addEntry(scope: Scope, body: Wanted): Promise<void> {
  const made = await changeIn(scope, 'create_override', { body });
  const { id, hostname, server, expiry } = made;
  const back = async () => {
    await changeIn(scope, 'remove_override', { path: { id } });
    return `${hostname} on ${server} was removed again.`;
  };
  const undo = undoBy(back, { about: keysOf(made), until: expiry });
  notify(`${hostname} on ${server} is added.`, undo);
}

async function changeEntry(
  scope: Scope,
  before: DnsEntry,
  wanted: Omit<Wanted, 'expiry'> & { expiry: number | undefined },
): Promise<void> {
  const { id, server, hostname, ip, expiry, note } = before;
  const earlier = { server, hostname, ip, expiry, note };
  const body = differing(earlier, wanted);
  if (Object.keys(body).length === 0) return;
  const after = await changeIn(scope, 'change_override', { path: { id }, body });
  const name = `${after.hostname} on ${after.server}`;
  const about = [...keysOf(before), ...keysOf(after)];
  // An expired entry can be revived, but not restored.
  if (isOver(before)) {
    notify(`${name} is revived.`, { about });
    return;
  }
  const back = async () => {
    await changeIn(scope, 'change_override', { path: { id }, body: earlier });
    return `${hostname} on ${server} is restored.`;
  };
  notify(`${name} is changed.`, undoBy(back, { about, until: expiry }));
}

/** Keys for the messages about an entry: its id, and its hostname, which another may have later. */
export function keysOf({ id, server, hostname }: Pick<DnsEntry, 'id' | 'server' | 'hostname'>) {
  return [`overrides/${id}`, `overrides/${server}/${hostname}`];
}
