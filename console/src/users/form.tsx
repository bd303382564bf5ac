// Adding a user to the account, and changing one: the name that is shown, permissions, active or not.
import { useContext, useId } from 'preact/hooks';
import type { Answer } from '../api/api.ts';
import { change } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { readSession, session } from '../api/session.ts';
import { Dialog } from '../ui/dialog.tsx';
import { CheckField, FieldFault, TextField } from '../ui/field.tsx';
import { Form, textOf } from '../ui/form.tsx';
import { notify } from '../ui/toast.tsx';

export type User = Answer<'console_list_users'>[number];

/** What each permission allows. */
const permissions = [
  {
    flag: 'proxy',
    hint: 'Uses the proxies, and makes own proxy access tokens and authlist entries.',
  },
  { flag: 'billing', hint: 'Sees the contract, and what was used of it.' },
  {
    flag: 'admin',
    hint: 'Manages everything of the account: users, tokens, servers, authlist and custom DNS.',
  },
] as const;

export function AddUserDialog({
  onClose,
  onAdded,
}: {
  onClose: () => void;
  onAdded: (user: User) => void;
}) {
  const add = async (fields: FormData) => {
    const display_name = textOf(fields, 'display_name');
    const user = await change('console_create_user', {
      body: {
        name: textOf(fields, 'name'),
        ...(display_name ? { display_name } : {}),
        flags: flagsOf(fields),
      },
    });
    onAdded(user);
  };
  return (
    <Dialog title="Add a user" onClose={onClose}>
      <Form verb="Add the user" explain={explain} onSubmit={add} onCancel={onClose}>
        <TextField
          label="Name"
          name="name"
          required
          maxLength={63}
          autocapitalize="off"
          pattern="[A-Za-z0-9][A-Za-z0-9._@\-]*"
          title="Letters, digits and . _ @ - with a letter or digit first"
          hint="What the user signs in with, here and at the proxies; it stays. Letters, digits and . _ @ -"
        />
        <DisplayNameField hint="Shown in lists; the name when left out." />
        <FlagFields />
      </Form>
    </Dialog>
  );
}

export function ChangeUserDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const isSelf = user.name === session.value?.user.name;
  const save = async (fields: FormData) => {
    const display_name = textOf(fields, 'display_name');
    await change('console_change_user', {
      path: { user: user.name },
      body: {
        ...(display_name ? { display_name } : {}),
        active: fields.has('active'),
        flags: flagsOf(fields),
      },
    });
    onClose();
    notify(`Saved ${user.name}.`);
    // Their own permissions decide what this page shows.
    if (isSelf) await readSession();
  };
  return (
    <Dialog title={`Change ${user.name}`} onClose={onClose}>
      <Form verb="Save" explain={explain} onSubmit={save} onCancel={onClose}>
        <DisplayNameField required defaultValue={user.display_name} />
        <FlagFields of={user.flags} isSelf={isSelf} />
        <CheckField
          label="Active"
          name="active"
          defaultChecked={user.active}
          hint={
            isSelf
              ? 'Off: you are signed out at once, and your tokens and authlist entries give no access.'
              : 'Off: cannot sign in, and tokens and authlist entries give no access. Users are never deleted.'
          }
        />
      </Form>
    </Dialog>
  );
}

export function DisplayNameField(given: {
  hint?: string;
  required?: boolean;
  defaultValue?: string;
}) {
  return <TextField label="Display name" name="display_name" maxLength={128} {...given} />;
}

export function FlagFields({ of, isSelf = false }: { of?: User['flags']; isSelf?: boolean }) {
  const id = useId();
  const fault = useContext(FieldFault);
  const wrong = fault?.field === 'flags' ? fault.sentence : undefined;
  return (
    <fieldset name="flags" aria-describedby={wrong ? id : undefined}>
      <legend>May do</legend>
      {permissions.map(({ flag, hint }) => (
        <CheckField
          key={flag}
          label={flag}
          name={flag}
          hint={
            flag === 'admin' && isSelf
              ? `${hint} Without it you cannot give it back to yourself.`
              : hint
          }
          defaultChecked={of?.[flag] ?? (of === undefined && flag === 'proxy')}
        />
      ))}
      {wrong && (
        <p class="fault" id={id} role="alert">
          {wrong}
        </p>
      )}
    </fieldset>
  );
}

export function flagsOf(fields: FormData): User['flags'] {
  return {
    proxy: fields.has('proxy'),
    billing: fields.has('billing'),
    admin: fields.has('admin'),
  };
}
