// The dialog that adds an entry to the IP authlist, or changes one.
import { useRef, useState } from 'preact/hooks';
import { type Answer, call } from '../api/api.ts';
import { change, useRead } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { flags, session } from '../api/session.ts';
import { dateTime } from '../format.ts';
import { ExpiryField, expiryOf } from '../forms/expiry_field.tsx';
import { ReadingField } from '../forms/reading_field.tsx';
import { undoBy } from '../forms/undo.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field, SelectField, TextField } from '../ui/field.tsx';
import { Form, textOf } from '../ui/form.tsx';
import { notify } from '../ui/toast.tsx';
import { listedElsewhere } from './listed_elsewhere.ts';

export type AuthlistEntry = Answer<'console_list_authlist'>[number];

interface AuthlistFormProps {
  /** The entry to change; none: a new one. */
  entry?: AuthlistEntry;
  /** The address that a new entry begins with. */
  ip?: string;
  onClose: () => void;
}

export function AuthlistForm({ entry, ip = '', onClose }: AuthlistFormProps) {
  const seen = useRead('console_list_authlist', {}).data;
  const submit = async (fields: FormData) => {
    const given = { ip: textOf(fields, 'ip'), user: textOf(fields, 'user') };
    const expiry = expiryOf(fields);
    if (entry) await changeEntry(entry, { ...given, expiry });
    else await addEntry({ ...given, expiry: expiry as number });
    onClose();
  };
  return (
    <Dialog title={entry ? `Change ${entry.ip}` : 'Add an address'} onClose={onClose}>
      <Form
        verb={entry ? 'Save the change' : 'Add the address'}
        onSubmit={submit}
        explain={(error) => listedElsewhere(explain(error), seen, flags.value.admin)}
        onCancel={onClose}
      >
        <AddressField ip={entry?.ip ?? ip} />
        <UserField user={entry?.user} />
        <ExpiryField {...(entry ? { current: entry.expiry } : {})} />
      </Form>
    </Dialog>
  );
}

/** Adds an entry and says so. Errors: ApiError. */
async function addEntry(body: { ip: string; user: string; expiry: number }): Promise<void> {
  const { id, ip, user, expiry } = await change('console_create_authlist_entry', { body });
  const back = async () => {
    await change('console_remove_authlist_entry', { path: { id } });
    return `${ip} is off the list again.`;
  };
  const undo = undoBy(back, { about: keysOf({ id, ip }), until: expiry });
  notify(`${ip} is listed for ${user} until ${dateTime(expiry)}.`, undo);
}

async function changeEntry(
  before: AuthlistEntry,
  wanted: { ip: string; user: string; expiry: number | undefined },
): Promise<void> {
  const { ip, user, expiry = before.expiry } = wanted;
  const body = {
    ...(ip === before.ip ? {} : { ip }),
    ...(user === before.user ? {} : { user }),
    ...(expiry === before.expiry ? {} : { expiry }),
  };
  if (Object.keys(body).length === 0) return;
  const path = { id: before.id };
  const after = await change('console_change_authlist_entry', { path, body });
  const back = async () => {
    const earlier = { ip: before.ip, user: before.user, expiry: before.expiry };
    await change('console_change_authlist_entry', { path, body: earlier });
    return `${before.ip} is as it was.`;
  };
  const about = [...keysOf(before), ...keysOf(after)];
  notify(`${after.ip} is changed.`, undoBy(back, { about, until: before.expiry }));
}

/** What messages about an entry are about: the entry, and its address, which another may have later. */
export function keysOf({ id, ip }: { id: number; ip: string }): string[] {
  return [`authlist/${id}`, `authlist/${ip}`];
}

function AddressField({ ip: first }: { ip: string }) {
  const [ip, setIp] = useState(first);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const useOwn = async () => {
    setBusy(true);
    setFault('');
    try {
      const own = (await call('console_get_address', {})).ip;
      if (!input.current) return;
      // As if it were typed: what was wrong with the field before is no longer said.
      input.current.value = own;
      input.current.dispatchEvent(new Event('input', { bubbles: true }));
    } catch (error) {
      setFault(explain(error).sentence);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Field
      label="Address"
      name="ip"
      hint={fault || 'One IPv4 or IPv6 address, as the proxy sees it.'}
    >
      {(given) => (
        <div class="beside">
          <input
            {...given}
            ref={input}
            type="text"
            value={ip}
            onInput={(event) => setIp(event.currentTarget.value)}
            autocomplete="off"
            autoCapitalize="off"
            spellcheck={false}
            required
            // biome-ignore lint/a11y/noAutofocus: the first field of a dialog that was just opened
            autoFocus
            placeholder="203.0.113.7"
          />
          <Button busy={busy} onClick={() => void useOwn()}>
            Use my address
          </Button>
        </div>
      )}
    </Field>
  );
}

/** Admins choose among the active users; everybody else lists addresses for themselves. */
function UserField({ user }: { user: string | undefined }) {
  const own = session.value?.user.name ?? '';
  const isAdmin = flags.value.admin;
  const users = useRead('console_list_users', {}, { enabled: isAdmin });
  const [chosen, setChosen] = useState(user);
  if (!isAdmin) {
    return (
      <TextField
        label="User"
        name="user"
        value={own}
        readOnly
        hint="You list addresses for yourself; an admin can do so for everybody."
      />
    );
  }
  if (!users.data) {
    return (
      <ReadingField
        label="User"
        name="user"
        what="the users"
        error={users.error}
        known={user ?? (flags.value.proxy ? own : undefined)}
      />
    );
  }
  const active = users.data.filter((one) => one.active);
  const [proxy, others] = [true, false].map((is) =>
    active.filter(({ flags }) => flags.proxy === is),
  ) as [typeof active, typeof active];
  const names = [...proxy, ...others].map(({ name }) => name);
  const options = [
    ...proxy.map(({ name }) => ({ value: name, text: name })),
    ...others.map(({ name }) => ({ value: name, text: `${name}: without the proxy flag` })),
    ...(user && !names.includes(user) ? [{ value: user, text: `${user}: inactive` }] : []),
  ];
  const value = chosen ?? (proxy.some(({ name }) => name === own) ? own : names[0]) ?? own;
  const shown = proxy.find(({ name }) => name === value)?.display_name;
  const isIdle = !proxy.some(({ name }) => name === value);
  return (
    <SelectField
      label="User"
      name="user"
      value={value}
      onInput={setChosen}
      options={options}
      hint={
        isIdle
          ? `${value} is not an active proxy user: while that is so, the entry lets nobody in.`
          : `Connections from the address count as ${shown ?? 'this user'}.`
      }
    />
  );
}
