// The own limit of a server on a contract, which operators set, when they add the server or later.
import { useScope } from '../api/scope.ts';
import { LimitField, limitOf } from '../contract/limit_field.tsx';
import { FormDialog } from '../forms/form_dialog.tsx';
import { addServer, putServer } from './change.tsx';

interface LimitDialogProps {
  server: string;
  /** In bytes; null: no limit. Undefined: the server is not on the contract yet. */
  limit: number | null | undefined;
  /** The limit from before the server was removed from the contract. */
  formerLimit?: number | null;
  onClose: () => void;
}

export function LimitDialog({ server, limit, formerLimit, onClose }: LimitDialogProps) {
  const scope = useScope();
  const isNew = limit === undefined;
  const save = async (fields: FormData) => {
    if (isNew) return addServer(scope, server, limitOf(fields));
    await putServer(scope, server, limitOf(fields));
    return `Saved the limit of ${server}.`;
  };
  return (
    <FormDialog
      title={isNew ? `Add ${server} to ${scope.account}` : `Own limit of ${server}`}
      verb={isNew ? 'Add the server' : 'Save'}
      kind="primary"
      onSubmit={save}
      onClose={onClose}
    >
      <LimitField
        label="Own limit"
        value={limit ?? formerLimit ?? undefined}
        none="None: the limit of the whole network."
      />
    </FormDialog>
  );
}
