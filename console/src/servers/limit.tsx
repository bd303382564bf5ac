// The own limit of a server on a contract, which operators set, when they add the server or later.
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { cutOffBy } from '../contract/cut_off.ts';
import { LimitField, limitIn, limitOf } from '../contract/limit_field.tsx';
import { FormDialog } from '../forms/form_dialog.tsx';
import { now } from '../now.ts';
import { Unread } from '../ui/ui.ts';
import { addServer, putServer } from './change.tsx';

interface LimitDialogProps {
  server: string;
  /** Bytes; a limit of null: none. Undefined: the server is not on the contract. */
  own: { current: number; limit_bytes: number | null } | undefined;
  /** The limit from before the server was removed from the contract. */
  formerLimit: number | null;
  onClose: () => void;
}

export function LimitDialog({ server, own, formerLimit, onClose }: LimitDialogProps) {
  const scope = useScope();
  const contract = useReadIn(scope, 'get_contract', {}, { enabled: own !== undefined });
  const save = async (fields: FormData) => {
    const limit = limitOf(fields);
    if (!own) return addServer(scope, server, limit);
    if (limit === own.limit_bytes) return 'Nothing was changed.';
    await putServer(scope, server, limit);
    return `Saved the limit of ${server}.`;
  };
  const warningOf = (fields: FormData) => {
    const { detailed_billing, on_limit } = contract.data ?? {};
    const limit = limitIn(fields);
    if (!own || !on_limit || !detailed_billing || limit === undefined) return undefined;
    const after = { on_limit, limit_bytes: limit };
    const used = { usage: own.current, now: now.value };
    return cutOffBy({ on_limit, limit_bytes: own.limit_bytes }, after, used);
  };
  return (
    <FormDialog
      title={own ? `Own limit of ${server}` : `Add ${server} to ${scope.account}`}
      verb={own ? 'Save' : 'Add the server'}
      kind="primary"
      warningOf={warningOf}
      onSubmit={save}
      onClose={onClose}
    >
      <LimitField
        label="Own limit"
        value={(own ? own.limit_bytes : formerLimit) ?? undefined}
        none="None: the limit of the whole network."
      />
      <Unread reading={contract} name="the contract" />
    </FormDialog>
  );
}
