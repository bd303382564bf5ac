// Drains the selected nodes, or ends that: all or none, with an undo.
import { change } from '../api/reading.ts';
import { named } from '../attention/items.ts';
import { count } from '../format.ts';
import { FormDialog } from '../forms/form_dialog.tsx';
import type { SelectedInBar, SelectedInDialog } from '../forms/list.ts';
import { inParts } from '../forms/parts.ts';
import { undoBy } from '../forms/undo.ts';
import { Button, notify, SelectionBar } from '../ui/ui.ts';
import type { Node } from './states.ts';

/** The bar for selected nodes. */
export function ManyNodesBar({ open, ...many }: SelectedInBar<Node>) {
  return (
    <SelectionBar selection={many.selection}>
      {[true, false].map((drained) => (
        <Button
          key={String(drained)}
          icon={drained ? 'pause' : 'resume'}
          onClick={() => open((close) => <DrainMany {...many} drained={drained} onClose={close} />)}
        >
          {drained ? 'Drain …' : 'Undrain …'}
        </Button>
      ))}
    </SelectionBar>
  );
}

const setDrained = (ids: number[], drained: boolean) =>
  inParts(ids, (nodes) => change('admin_drain_nodes', { body: { nodes, drained } }));

function DrainMany({
  selected,
  selection,
  drained,
  onClose,
}: SelectedInDialog<Node> & { drained: boolean }) {
  const countText = count(selected.length, 'node');
  const verb = `${drained ? 'Drain' : 'Undrain'} ${countText}`;
  const submit = async () => {
    const changed = selected.filter(({ drained_at }) => (drained_at !== null) !== drained);
    const ids = changed.map(({ id }) => id);
    if (ids.length > 0) await setDrained(ids, drained);
    selection.setAll(false);
    if (ids.length === 0) return notify('Nothing to change.');
    const changedText = count(ids.length, 'node');
    const back = async () => {
      await setDrained(ids, !drained);
      return `${changedText}: change undone.`;
    };
    const about = ids.map((id) => `nodes/${id}`);
    notify(`${changedText} ${drained ? 'drained' : 'no longer drained'}.`, undoBy(back, { about }));
  };
  const servers = [...new Set(selected.map(({ server }) => server))];
  return (
    <FormDialog
      title={`${verb}?`}
      verb={verb}
      kind={drained ? 'danger' : 'primary'}
      onSubmit={submit}
      onClose={onClose}
    >
      <p>
        {drained
          ? `They refuse new connections; open ones continue. Servers without another node that accepts connections stop working: ${named(servers)}.`
          : 'They accept new connections again.'}
      </p>
    </FormDialog>
  );
}
