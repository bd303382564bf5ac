// Adding a server to the contract and taking it off; each can be undone by the other.
import { useState } from 'preact/hooks';
import { change, useRead } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { refusal } from '../api/session.ts';
import { bytes, count } from '../format.ts';
import { undoBy } from '../forms/undo.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Form } from '../ui/form.tsx';
import { notify, notifyError } from '../ui/toast.tsx';
import type { OwnServer } from './rows.ts';

const put = (server: string) => change('console_add_server', { path: { server } });
const take = (server: string) => change('console_remove_server', { path: { server } });

/** Adds it and says so. Errors: ApiError. */
async function add(server: string): Promise<void> {
  await put(server);
  const back = async () => {
    await take(server);
    return `${server} is off the contract again.`;
  };
  notify(`${server} is on the contract.`, undoBy(back));
}

/** Takes it off and says so. Errors: ApiError. */
async function remove(server: string): Promise<void> {
  await take(server);
  const back = async () => {
    await put(server);
    return `${server} is on the contract again.`;
  };
  notify(`${server} is off the contract.`, undoBy(back));
}

/** `words`: in full where no row says which server it is. */
export function AddButton({ server, words }: { server: string; words?: string }) {
  const [busy, setBusy] = useState(false);
  const press = async () => {
    setBusy(true);
    await add(server).catch((error: unknown) => notifyError(explain(error).sentence));
    setBusy(false);
  };
  return (
    <Button
      icon="plus"
      busy={busy}
      refused={refusal.value}
      aria-label={words ?? `Add ${server} to the contract`}
      onClick={busy ? undefined : () => void press()}
    >
      {words ?? 'Add'}
    </Button>
  );
}

interface RemoveDialogProps {
  server: OwnServer;
  onClose: () => void;
}

export function RemoveDialog({ server, onClose }: RemoveDialogProps) {
  const name = server.server;
  const contract = useRead('console_get_contract', {});
  const overrides = useRead('console_list_overrides', {});
  const entries = overrides.data?.filter((entry) => entry.server === name).length;
  const hasOwnLimit =
    contract.data?.detailed_billing && server.usage?.limit !== contract.data.period.limit;
  return (
    <Dialog title={`Remove ${name} from the contract?`} onClose={onClose}>
      <ul class="servers-endings">
        <li>Connections through its {count(server.ips.length, 'exit IP')} end at once.</li>
        {entries === undefined && <li>Its custom DNS entries go pending.</li>}
        {entries !== undefined && entries > 0 && (
          <li>
            {`Its ${count(entries, 'custom DNS entry goes', 'custom DNS entries go')} pending, and ${entries === 1 ? 'counts' : 'count'} again when the server is back.`}
          </li>
        )}
        {hasOwnLimit && server.usage && (
          <li>
            {`Its own limit of ${bytes(server.usage.limit)} is given up: added again, the server has the limit of the contract.`}
          </li>
        )}
        <li>What was used through it stays in your usage.</li>
      </ul>
      <Form
        verb={`Remove ${name}`}
        kind="danger"
        explain={explain}
        onCancel={onClose}
        onSubmit={async () => {
          await remove(name);
          onClose();
        }}
      />
    </Dialog>
  );
}
