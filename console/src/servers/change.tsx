// Adds a server to the contract or removes it; each undoes the other.
import { useState } from 'preact/hooks';
import { usePages } from '../api/paging.ts';
import { change, changeIn, useReadIn } from '../api/reading.ts';
import { type Scope, useScope } from '../api/scope.ts';
import { explain } from '../api/sentences.ts';
import { bytes, count } from '../format.ts';
import { FormDialog } from '../forms/form_dialog.tsx';
import { undoBy } from '../forms/undo.ts';
import { Button, notify, notifyError, Unread } from '../ui/ui.ts';

/**
 * Adds the server to the contract, or changes its own limit there, which only operators set.
 * Undefined: the limit stays, even from before a removal. Errors: ApiError.
 */
export async function putServer(scope: Scope, server: string, limit_bytes?: number | null) {
  const { account, isOperator } = scope;
  if (!isOperator) await changeIn(scope, 'add_server', { path: { server } });
  else {
    const body = limit_bytes === undefined ? {} : { limit_bytes };
    await change('admin_set_account_server', { path: { account, server }, body });
  }
}

const takeServer = (scope: Scope, server: string) =>
  changeIn(scope, 'remove_server', { path: { server } });

/** Adds the server and confirms it. Errors: ApiError. */
export async function addServer(scope: Scope, server: string, limit_bytes?: number | null) {
  await putServer(scope, server, limit_bytes);
  const back = async () => {
    await takeServer(scope, server);
    return `${server} was removed from the contract again.`;
  };
  notify(`${server} added to the contract.`, undoBy(back));
}

interface Removed {
  server: string;
  limit_bytes: number | null;
  ip_count: number;
}

/** Removes the server and confirms it. Errors: ApiError. */
async function removeServer(scope: Scope, { server, limit_bytes }: Removed) {
  await takeServer(scope, server);
  const back = async () => {
    await putServer(scope, server, limit_bytes);
    return `${server} added to the contract again.`;
  };
  notify(`${server} removed from the contract.`, undoBy(back));
}

export function AddButton({ server }: { server: string }) {
  const scope = useScope();
  const [busy, setBusy] = useState(false);
  const press = async () => {
    setBusy(true);
    await addServer(scope, server).catch((error: unknown) => notifyError(explain(error).sentence));
    setBusy(false);
  };
  return (
    <Button
      icon="plus"
      busy={busy}
      disabledReason={scope.readOnlyReason}
      onClick={busy ? undefined : () => void press()}
    >
      Add to the contract
    </Button>
  );
}

interface RemoveDialogProps {
  server: Removed;
  onClose: () => void;
}

export function RemoveDialog({ server, onClose }: RemoveDialogProps) {
  const scope = useScope();
  const name = server.server;
  const contract = useReadIn(scope, 'get_contract', {});
  const query = { server: name, state: 'current' } as const;
  const overrides = usePages('console_list_overrides', { query, limit: 1, base: scope.base });
  const entries = overrides.rows.data && overrides.found;
  const ownLimit = contract.data?.detailed_billing ? server.limit_bytes : null;
  return (
    <FormDialog
      title={`Remove ${name} from the contract?`}
      verb={`Remove ${name}`}
      onSubmit={() => removeServer(scope, server)}
      onClose={onClose}
    >
      <ul class="servers-endings">
        <li>Connections through its {count(server.ip_count, 'exit IP')} end at once.</li>
        {entries === undefined && <li>Its custom DNS entries become pending.</li>}
        {entries !== undefined && entries > 0 && (
          <li>
            {`Its ${count(entries, 'custom DNS entry becomes', 'custom DNS entries become')} pending until the server is added again.`}
          </li>
        )}
        {ownLimit !== null && (
          <li>{`Its own limit of ${bytes(ownLimit)} applies again if it is added back.`}</li>
        )}
        <li>Its usage still counts.</li>
      </ul>
      <Unread reading={contract} name="the contract" />
      <Unread reading={overrides.rows} name="its custom DNS entries" />
    </FormDialog>
  );
}
