// Ends open connections and, on request, keeps their user from connecting again.
import { ApiError, type Given } from '../api/api.ts';
import { change, changeIn } from '../api/reading.ts';
import { operatorScope, type Scope } from '../api/scope.ts';
import { FormDialog, type OpenDialog } from '../forms/form_dialog.tsx';
import { Button, CheckField, type RowAction } from '../ui/ui.ts';
import { noteEnded } from './ended.ts';
import type { EndTarget } from './groups.ts';
import { endedText, namedText } from './words.ts';

/** A way to keep a user out. */
interface Remedy {
  name: string;
  label: string;
  run: () => Promise<unknown>;
}

interface EndProps {
  target: EndTarget;
  /** Undefined: the whole network, for operators. */
  scope: Scope | undefined;
}

export function endAction({ target, scope }: EndProps, open: OpenDialog): RowAction {
  return {
    text: 'End',
    label: `End ${namedText(target)}`,
    icon: 'close',
    isWritten: true,
    onSelect: () => open((onClose) => <EndDialog {...{ target, scope, onClose }} />),
  };
}

export function EndButton({ target, scope, open }: EndProps & { open: OpenDialog }) {
  const { onSelect } = endAction({ target, scope }, open);
  return (
    <Button
      kind="quiet"
      icon="close"
      aria-label={`End all: ${namedText(target)}`}
      onClick={onSelect}
    >
      End all
    </Button>
  );
}

function EndDialog({ target, scope, onClose }: EndProps & { onClose: () => void }) {
  const remedies = remediesFor(target, scope);
  return (
    <FormDialog
      title="End connections"
      verb="End connections"
      onClose={onClose}
      onSubmit={async (fields) => {
        // First, so that nodes know it before they end anything.
        for (const { name, run } of remedies) if (fields.has(name)) await run();
        const outcome = await end(target, scope);
        // On nodes that were not reached, connections may still be open.
        if (outcome.ended > 0 || outcome.missing.length === 0) noteEnded(target);
        return endedText(outcome);
      }}
    >
      <p>
        <strong>This ends {namedText(target)} at once.</strong> Users who still have access can
        connect again right away; many apps do so automatically.
      </p>
      {remedies.length > 0 && (
        <fieldset>
          <legend>Keep {userOf(target, scope)} out</legend>
          {remedies.map(({ name, label }) => (
            <CheckField key={name} {...{ name, label }} />
          ))}
        </fieldset>
      )}
    </FormDialog>
  );
}

type EndOrder = Given<'admin_end_connections'>['body'];

function end(
  { account, node, service, authlist_entry: _, ...rest }: EndTarget,
  scope: Scope | undefined,
) {
  // The server refuses the words of a newer node.
  const filters = { ...rest, ...(service && { service: service as EndOrder['service'] }) };
  if (scope) return changeIn(scope, 'end_connections', { body: filters });
  const body: EndOrder = {
    ...filters,
    ...(account && { account }),
    ...(node && { node: Number(node) }),
  };
  return change('admin_end_connections', { body });
}

/** Undefined: of several users. Without the admin flag they are the viewer's own. */
const userOf = ({ user }: EndTarget, scope: Scope | undefined) =>
  scope && !scope.flags.admin ? scope.user : user;

function remediesFor(target: EndTarget, scope: Scope | undefined): Remedy[] {
  const { account = '', address, authlist_entry: id } = target;
  const user = userOf(target, scope);
  const inAccount = scope ?? (account === '' ? undefined : operatorScope(account));
  if (!inAccount || user === undefined) return [];
  const { flags, readOnlyReason } = inAccount;
  const isSelf = user === inAccount.user;
  if (!flags.admin && !isSelf) return [];
  const entry: Remedy = {
    name: 'entry',
    label: `Remove ${address} from the authlist`,
    run: () => changeIn(inAccount, 'remove_authlist_entry', { path: { id: id ?? 0 } }).catch(gone),
  };
  const tokens: Remedy = {
    name: 'tokens',
    label: `Invalidate all tokens and VPN passwords of ${user}`,
    run: () => changeIn(inAccount, 'raise_token_version', { path: { user } }),
  };
  const inactive: Remedy = {
    name: 'inactive',
    label: `Make ${user} inactive`,
    run: () => changeIn(inAccount, 'change_user', { path: { user }, body: { active: false } }),
  };
  return [
    ...(id === undefined || readOnlyReason ? [] : [entry]),
    tokens,
    ...(flags.admin && !isSelf && !readOnlyReason ? [inactive] : []),
  ];
}

/** It is removed already, perhaps by an earlier try. */
function gone(error: unknown): void {
  if (!(error instanceof ApiError) || error.status !== 404) throw error;
}
