// Makes the selected users active or inactive, changes a permission or a limit, or signs them out:
// all or none, with an undo.
import { useState } from 'preact/hooks';
import { changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { readSessionAgain } from '../api/session.ts';
import { count } from '../format.ts';
import { differing } from '../forms/differing.ts';
import { FormDialog } from '../forms/form_dialog.tsx';
import type { Selected, SelectedInBar, SelectedInDialog } from '../forms/list.ts';
import { inParts } from '../forms/parts.ts';
import { ConfirmPassword, confirmationOf } from '../forms/password.tsx';
import { undoBy } from '../forms/undo.ts';
import { Button, notify, optionsIn, SelectField, SelectionBar, textOf } from '../ui/ui.ts';
import { ManyLimitsDialog } from './limits_form.tsx';
import { type Limits, noLimits, type User } from './user.ts';

/** The bar for selected users. */
export function ManyUsersBar({ open, ...many }: SelectedInBar<User>) {
  return (
    <SelectionBar selection={many.selection}>
      <Button onClick={() => open((close) => <ChangePermission {...many} onClose={close} />)}>
        Permission …
      </Button>
      <Button onClick={() => open((close) => <ChangeLimits {...many} onClose={close} />)}>
        Limits …
      </Button>
      <Button
        icon="leave"
        onClick={() => open((close) => <EndSessions {...many} onClose={close} />)}
      >
        End sessions …
      </Button>
      {[true, false].map((active) => (
        <Button
          key={String(active)}
          kind={active ? 'plain' : 'danger'}
          onClick={() =>
            open((close) => <ChangeActive {...many} active={active} onClose={close} />)
          }
        >
          {active ? 'Make active …' : 'Make inactive …'}
        </Button>
      ))}
    </SelectionBar>
  );
}

const countOf = (users: readonly unknown[]) => count(users.length, 'user', 'users');

interface Change {
  active?: boolean;
  flags?: Partial<User['flags']>;
  limits?: Partial<Limits> | null;
}

/** Bytes of the changes in a request, of which the server takes 64 KiB. */
const maxBytes = 50_000;

/** So many fit into a request: those that list servers may be long. */
const maxAtOnce = (users: readonly object[]) =>
  Math.min(
    1000,
    Math.floor(maxBytes / Math.max(...users.map((user) => JSON.stringify(user).length))),
  );

/** Changes the users that differ. */
function useChange({ selected, selection }: Selected<User>) {
  const scope = useScope();
  const send = (all: Array<Change & { id: number }>, confirmation = {}) =>
    inParts(
      all,
      (users) => changeIn(scope, 'change_users', { body: { users, ...confirmation } }),
      maxAtOnce(all),
    );
  return async (
    differs: (user: User) => boolean,
    to: Change,
    before: (user: User) => Change,
    fields: FormData,
    done: (countText: string) => string,
  ) => {
    const changed = selected.filter(differs);
    if (changed.length === 0) return notify('Nothing to change.');
    const users = changed.map(({ id }) => ({ id, ...to }));
    await send(users, confirmationOf(fields));
    selection.setAll(false);
    const about = changed.map(({ id }) => `users/${id}`);
    const undo = async () => {
      await send(changed.map((user) => ({ id: user.id, ...before(user) })));
      return `${countOf(changed)}: change undone.`;
    };
    // Making a user an admin again requires the password.
    const isForGood = !scope.isOperator && changed.some((user) => isAdmin(user) && isLess(to));
    notify(done(countOf(changed)), isForGood ? { about } : undoBy(undo, { about }));
    // The user's own permissions decide what this page shows.
    if (changed.some(({ name }) => name === scope.user)) readSessionAgain();
  };
}

const isAdmin = ({ active, flags }: User) => active && flags.admin;
const isLess = (to: Change) => to.active === false || to.flags?.admin === false;

function ChangeActive({ active, onClose, ...many }: SelectedInDialog<User> & { active: boolean }) {
  const { isOperator } = useScope();
  const change = useChange(many);
  const countText = countOf(many.selected);
  const makesAdmin =
    !isOperator && active && many.selected.some((user) => !user.active && user.flags.admin);
  const word = active ? 'active' : 'inactive';
  return (
    <FormDialog
      title={`Make ${countText} ${word}?`}
      verb={`Make ${countText} ${word}`}
      kind={active ? 'primary' : 'danger'}
      onClose={onClose}
      onSubmit={(fields) =>
        change(
          (user) => user.active !== active,
          { active },
          () => ({ active: !active }),
          fields,
          (changed) => `${changed} made ${word}.`,
        )
      }
    >
      <p>
        {active
          ? 'They can sign in again, and their tokens and authlist entries work.'
          : 'They are signed out and can’t sign in. Their tokens and authlist entries stop working, and their invitations end.'}
      </p>
      {makesAdmin && <ConfirmPassword why="To make a user an admin, you" />}
    </FormDialog>
  );
}

const flags = optionsIn({ proxy: 'proxy', billing: 'billing', admin: 'admin' });

function ChangePermission({ onClose, ...many }: SelectedInDialog<User>) {
  const { isOperator } = useScope();
  const change = useChange(many);
  const [flag, setFlag] = useState<string>('proxy');
  const [gives, setGives] = useState('give');
  const countText = countOf(many.selected);
  const makesAdmin =
    !isOperator &&
    flag === 'admin' &&
    gives === 'give' &&
    many.selected.some((user) => user.active && !user.flags.admin);
  return (
    <FormDialog
      title={`Change a permission of ${countText}`}
      verb={`Change ${countText}`}
      kind="primary"
      onClose={onClose}
      onSubmit={(fields) => {
        const name = textOf(fields, 'flag') as keyof User['flags'];
        const has = gives === 'give';
        return change(
          (user) => user.flags[name] !== has,
          { flags: { [name]: has } },
          () => ({ flags: { [name]: !has } }),
          fields,
          (changed) => `${name} ${has ? 'given to' : 'removed from'} ${changed}.`,
        );
      }}
    >
      <div class="fields">
        <SelectField
          label="Action"
          name="gives"
          value={gives}
          onInput={setGives}
          options={optionsIn({ give: 'Give', take: 'Remove' })}
        />
        <SelectField
          label="Permission"
          name="flag"
          value={flag}
          onInput={setFlag}
          options={flags}
        />
      </div>
      {makesAdmin && <ConfirmPassword why="To make a user an admin, you" />}
    </FormDialog>
  );
}

function ChangeLimits({ onClose, ...many }: SelectedInDialog<User>) {
  const change = useChange(many);
  const countText = countOf(many.selected);
  const save = (limits: Partial<Limits> | null) => {
    const wanted = limits ?? noLimits;
    const isSame = (user: User) => Object.keys(differing<Limits>(user.limits, wanted)).length === 0;
    const before = ({ limits: current }: User) => ({
      limits: differing<Limits>(wanted as Limits, current),
    });
    return change(
      (user) => !isSame(user),
      { limits },
      before,
      new FormData(),
      (changed) => (limits ? `Saved the limits of ${changed}.` : `Limits of ${changed} removed.`),
    );
  };
  return (
    <ManyLimitsDialog
      users={many.selected}
      countText={countText}
      onSubmit={save}
      onClose={onClose}
    />
  );
}

function EndSessions({ selected, selection, onClose }: SelectedInDialog<User>) {
  const scope = useScope();
  const countText = countOf(selected);
  const isSelf = selected.some(({ name }) => name === scope.user);
  return (
    <FormDialog
      title={`End all sessions of ${countText}`}
      verb={`Sign ${countText} out`}
      onClose={onClose}
      onSubmit={async () => {
        await inParts(
          selected.map(({ id }) => id),
          (ids) => changeIn(scope, 'end_sessions_of_users', { body: { ids } }),
        );
        selection.setAll(false);
        return `All sessions of ${countText} have ended.`;
      }}
    >
      <p>
        They are signed out in every browser{isSelf && ', including you here'}, and can sign in
        again. Proxy access tokens keep working.
      </p>
    </FormDialog>
  );
}
