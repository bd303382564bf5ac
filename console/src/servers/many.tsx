// Adds the selected servers to the contract or removes them: all or none, with an undo.
import { changeIn } from '../api/reading.ts';
import { type Scope, useScope } from '../api/scope.ts';
import { explain } from '../api/sentences.ts';
import { count } from '../format.ts';
import { FormDialog } from '../forms/form_dialog.tsx';
import type { SelectedInBar } from '../forms/list.ts';
import { inParts } from '../forms/parts.ts';
import { undoBy } from '../forms/undo.ts';
import { Button, notify, notifyError, type Selection, SelectionBar } from '../ui/ui.ts';
import type { NetworkServer } from './rows.ts';

const namesOf = (servers: readonly NetworkServer[]) => servers.map(({ server }) => server);
const writtenCount = (names: readonly string[]) => count(names.length, 'server');

const put = (scope: Scope, all: string[]) =>
  inParts(all, (servers) => changeIn(scope, 'add_servers', { body: { servers } }));
const take = (scope: Scope, all: string[]) =>
  inParts(all, (servers) => changeIn(scope, 'remove_servers', { body: { servers } }));

/** The bar for selected servers. */
export function ManyServersBar({ selected, selection, open }: SelectedInBar<NetworkServer>) {
  const scope = useScope();
  const { readOnlyReason } = scope;
  const added = namesOf(selected.filter(({ can_add }) => can_add));
  const removed = namesOf(selected.filter(({ on_contract }) => on_contract));
  const add = async () => {
    try {
      await put(scope, added);
      selection.setAll(false);
      const back = async () => {
        await take(scope, added);
        return `${writtenCount(added)} removed from the contract again.`;
      };
      notify(`${writtenCount(added)} added to the contract.`, undoBy(back));
    } catch (error) {
      notifyError(explain(error).sentence);
    }
  };
  return (
    <SelectionBar selection={selection}>
      {added.length > 0 && (
        <Button icon="plus" disabledReason={readOnlyReason} onClick={() => void add()}>
          {`Add ${writtenCount(added)} to the contract`}
        </Button>
      )}
      {removed.length > 0 && (
        <Button
          kind="danger"
          icon="remove"
          disabledReason={readOnlyReason}
          onClick={() =>
            open((close) => <RemoveMany names={removed} selection={selection} onClose={close} />)
          }
        >
          {`Remove ${writtenCount(removed)} …`}
        </Button>
      )}
      {added.length + removed.length === 0 && (
        <span class="note">None of them can be added. Ask your provider.</span>
      )}
    </SelectionBar>
  );
}

interface RemoveManyProps {
  names: string[];
  selection: Selection;
  onClose: () => void;
}

function RemoveMany({ names, selection, onClose }: RemoveManyProps) {
  const scope = useScope();
  const countText = writtenCount(names);
  const remove = async () => {
    await take(scope, names);
    selection.setAll(false);
    const back = async () => {
      await put(scope, names);
      return `${countText} added to the contract again.`;
    };
    notify(`${countText} removed from the contract.`, undoBy(back));
  };
  return (
    <FormDialog
      title={`Remove ${countText} from the contract?`}
      verb={`Remove ${countText}`}
      onSubmit={remove}
      onClose={onClose}
    >
      <ul class="servers-endings">
        <li>Connections through their exit IPs end at once.</li>
        <li>Their custom DNS entries become pending until the servers are added again.</li>
        <li>Their own limits apply again if they are added back.</li>
        <li>Their usage still counts.</li>
      </ul>
    </FormDialog>
  );
}
