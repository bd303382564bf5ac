// The dialog that adds an entry to the IP authlist, or changes one.
import { useRef, useState } from 'preact/hooks';
import { call } from '../api/api.ts';
import { type AccountResponse, changeIn, useReadIn } from '../api/reading.ts';
import { type Scope, useScope } from '../api/scope.ts';
import { explain } from '../api/sentences.ts';
import { dateTime } from '../format.ts';
import { differing } from '../forms/differing.ts';
import { ExpiryField, expiryOf } from '../forms/expiry_field.tsx';
import { FormDialog } from '../forms/form_dialog.tsx';
import { NoteField } from '../forms/note.tsx';
import { SuggestUser, useProxyUser } from '../forms/suggest_user.tsx';
import { undoBy } from '../forms/undo.ts';
import { Button, Field, notify, TextField, textOf, Unread } from '../ui/ui.ts';
import { explainListed, isOnOwnList } from './listed_elsewhere.ts';

export type AuthlistEntry = AccountResponse<'list_authlist'>[number];

interface AuthlistFormProps {
  /** The entry to change; undefined: a new one. */
  entry?: AuthlistEntry;
  /** The initial address of a new entry. */
  ip?: string;
  onClose: () => void;
}

export function AuthlistForm({ entry, ip = '', onClose }: AuthlistFormProps) {
  const scope = useScope();
  /** Whether the user can see the other entry of this address. */
  const isSeen = useRef(true);
  const submit = async (fields: FormData) => {
    const [ip, user, note] = ['ip', 'user', 'note'].map((name) => textOf(fields, name)) as [
      string,
      string,
      string,
    ];
    const expiry = expiryOf(fields, entry?.expiry);
    try {
      if (entry) await changeEntry(scope, entry, { ip, user, note, expiry });
      else await addEntry(scope, { ip, user, note, expiry: expiry as number });
    } catch (error) {
      isSeen.current = await isOnOwnList(scope, error, ip);
      throw error;
    }
  };
  return (
    <FormDialog
      title={entry ? `Change ${entry.ip}` : 'Add an address'}
      verb={entry ? 'Save the change' : 'Add the address'}
      kind="primary"
      onSubmit={submit}
      explain={(error) => explainListed(error, isSeen.current, scope)}
      onClose={onClose}
    >
      <AddressField ip={entry?.ip ?? ip} />
      <UserField user={entry?.user} />
      <ExpiryField {...(entry ? { current: entry.expiry } : {})} />
      <NoteField entry={entry} />
    </FormDialog>
  );
}

interface Wanted {
  ip: string;
  user: string;
  expiry: number;
  note: string;
}

/** Adds an entry and confirms it. Errors: ApiError. */
async function addEntry(scope: Scope, body: Wanted): Promise<void> {
  const { id, ip, user, expiry } = await changeIn(scope, 'create_authlist_entry', { body });
  const back = async () => {
    await changeIn(scope, 'remove_authlist_entry', { path: { id } });
    return `${ip} was removed again.`;
  };
  const undo = undoBy(back, { about: keysOf({ id, ip }), until: expiry });
  notify(`${ip} is listed for ${user} until ${dateTime(expiry)}.`, undo);
}

async function changeEntry(
  scope: Scope,
  before: AuthlistEntry,
  wanted: Omit<Wanted, 'expiry'> & { expiry: number | undefined },
): Promise<void> {
  const { id, ip, user, expiry, note } = before;
  const earlier = { ip, user, expiry, note };
  const body = differing(earlier, wanted);
  if (Object.keys(body).length === 0) return;
  const after = await changeIn(scope, 'change_authlist_entry', { path: { id }, body });
  const back = async () => {
    await changeIn(scope, 'change_authlist_entry', { path: { id }, body: earlier });
    return `${ip} restored.`;
  };
  const about = [...keysOf(before), ...keysOf(after)];
  notify(`${after.ip} changed.`, undoBy(back, { about, until: expiry }));
}

/** Keys for the messages about an entry: its id, and its address, which another may have later. */
export function keysOf({ id, ip }: { id: number; ip: string }): string[] {
  return [`authlist/${id}`, `authlist/${ip}`];
}

function AddressField({ ip: first }: { ip: string }) {
  const { isOperator } = useScope();
  const [ip, setIp] = useState(first);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const useOwn = async () => {
    setBusy(true);
    setFault('');
    try {
      const ownAddress = (await call('console_get_address', {})).ip;
      if (!input.current) return;
      // Like typing, this removes an earlier error of the field.
      input.current.value = ownAddress;
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
          {!isOperator && (
            <Button busy={busy} onClick={() => void useOwn()}>
              Use my address
            </Button>
          )}
        </div>
      )}
    </Field>
  );
}

/** Admins select an active user; other users list addresses for themselves. */
export function UserField({ user }: { user: string | undefined }) {
  const scope = useScope();
  const { flags, user: ownName = '' } = scope;
  const [selected, setSelected] = useState(user);
  const defaultUser = useProxyUser(selected === undefined).user;
  const value = selected ?? defaultUser;
  const isRead = flags.admin && value !== '';
  const path = { user: value };
  const read = useReadIn(scope, 'get_user', { path }, { enabled: isRead });
  if (!flags.admin) {
    return (
      <TextField
        label="User"
        name="user"
        value={ownName}
        readOnly
        hint="You can list addresses for yourself. An admin can do so for every user."
      />
    );
  }
  const shown = read.data?.name === value ? read.data : undefined;
  const isIdle = shown && !(shown.active && shown.flags.proxy);
  return (
    <>
      <SuggestUser
        label="User"
        userFilter={{ state: 'active' }}
        value={value}
        onInput={setSelected}
        textOf={({ name, flags }) => (flags.proxy ? name : `${name}: without the proxy flag`)}
        required
        hint={
          isIdle
            ? `${value} isn’t an active proxy user. The entry has no effect until that changes.`
            : `Connections from the address count as ${shown?.display_name ?? 'this user'}.`
        }
      />
      <Unread reading={read} name={value} />
    </>
  );
}
