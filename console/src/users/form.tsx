// Adds a user to the account, or changes one: display name, permissions, active or not.
import { useId, useState } from 'preact/hooks';
import { changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { readSessionAgain } from '../api/session.ts';
import { differing } from '../forms/differing.ts';
import { FormDialog } from '../forms/form_dialog.tsx';
import { NameField } from '../forms/name_field.tsx';
import { ConfirmPassword, confirmationOf } from '../forms/password.tsx';
import { CheckField, Dialog, Form, TextField, textOf, useFieldFault } from '../ui/ui.ts';
import { changedLimits, LimitFields } from './limits_form.tsx';
import type { User } from './user.ts';

/** The permissions, and what each allows. */
const permissions = [
  {
    flag: 'proxy',
    hint: 'Uses the proxies, and creates their own proxy access tokens and authlist entries.',
  },
  { flag: 'billing', hint: 'Sees the contract and its usage.' },
  {
    flag: 'admin',
    hint: 'Manages the account: users, tokens, servers, authlist and custom DNS.',
  },
] as const;

interface AddUserDialogProps {
  onClose: () => void;
  /** Continues with the new user instead of this dialog. */
  onAdded: (user: User) => void;
}

export function AddUserDialog({ onClose, onAdded }: AddUserDialogProps) {
  const scope = useScope();
  const [isLimited, setLimited] = useState(false);
  const add = async (fields: FormData) => {
    const display_name = textOf(fields, 'display_name');
    const limits = isLimited ? changedLimits(fields) : {};
    const body = {
      name: textOf(fields, 'name'),
      ...(display_name ? { display_name } : {}),
      flags: flagsOf(fields),
      ...(Object.keys(limits).length > 0 ? { limits } : {}),
    };
    onAdded(await changeIn(scope, 'create_user', { body }));
  };
  return (
    <Dialog title="Add a user" onClose={onClose}>
      <Form verb="Add the user" onSubmit={add} onCancel={onClose}>
        <NameField hint="For signing in, here and at the proxies. It can’t be changed later." />
        <DisplayNameField hint="Shown in lists. Default: the name." />
        <FlagFields />
        <CheckField
          label="Set limits"
          name="set_limits"
          checked={isLimited}
          onChange={({ currentTarget }) => setLimited(currentTarget.checked)}
          hint="Bytes, connections, addresses, an end, services and servers. They can be changed later."
        />
        {isLimited && <LimitFields />}
      </Form>
    </Dialog>
  );
}

export function ChangeUserDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const scope = useScope();
  const isSelf = user.name === scope.user;
  const [makesAdmin, setMakesAdmin] = useState(false);
  const lookAt = (form: HTMLFormElement | null) => {
    const fields = new FormData(form ?? undefined);
    const isAdmin = user.active && user.flags.admin;
    setMakesAdmin(!isAdmin && fields.has('active') && fields.has('admin'));
  };
  const save = async (fields: FormData) => {
    const display_name = textOf(fields, 'display_name') || undefined;
    const flags = differing(user.flags, flagsOf(fields));
    const changes = {
      ...differing<Partial<User>>(user, { display_name, active: fields.has('active') }),
      ...(Object.keys(flags).length > 0 && { flags }),
    };
    if (Object.keys(changes).length === 0) return 'Nothing was changed.';
    await changeIn(scope, 'change_user', {
      path: { user: user.name },
      body: { ...changes, ...confirmationOf(fields) },
    });
    // The user's own permissions decide what this page shows.
    if (isSelf) readSessionAgain();
    return `Saved ${user.name}.`;
  };
  return (
    <FormDialog
      title={`Change ${user.name}`}
      verb="Save"
      kind="primary"
      onSubmit={save}
      onClose={onClose}
    >
      <div class="stack" onChange={(event) => lookAt(event.currentTarget.closest('form'))}>
        <DisplayNameField required defaultValue={user.display_name} />
        <FlagFields flags={user.flags} isSelf={isSelf} />
        <CheckField
          label="Active"
          name="active"
          defaultChecked={user.active}
          hint={
            isSelf
              ? 'If off, you’re signed out at once, and your tokens and authlist entries stop working.'
              : 'If off, the user can’t sign in, and their tokens and authlist entries stop working. Users are never deleted.'
          }
        />
      </div>
      {makesAdmin && <ConfirmPassword why="To make a user an admin, you" />}
    </FormDialog>
  );
}

function DisplayNameField(given: { hint?: string; required?: boolean; defaultValue?: string }) {
  return <TextField label="Display name" name="display_name" maxLength={128} {...given} />;
}

function FlagFields({ flags, isSelf = false }: { flags?: User['flags']; isSelf?: boolean }) {
  const id = useId();
  const wrong = useFieldFault('flags');
  return (
    <fieldset name="flags" aria-describedby={wrong ? id : undefined}>
      <legend>Permissions</legend>
      {permissions.map(({ flag, hint }) => (
        <CheckField
          key={flag}
          label={flag}
          name={flag}
          hint={
            flag === 'admin' && isSelf
              ? `${hint} Without it you can’t give it back to yourself.`
              : hint
          }
          defaultChecked={flags?.[flag] ?? (flags === undefined && flag === 'proxy')}
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

function flagsOf(fields: FormData): User['flags'] {
  return {
    proxy: fields.has('proxy'),
    billing: fields.has('billing'),
    admin: fields.has('admin'),
  };
}
