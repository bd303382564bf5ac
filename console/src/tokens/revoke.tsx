// Revokes the selected tokens of an account or of operators: all or none.
import type { ComponentChildren } from 'preact';
import { count } from '../format.ts';
import { FormDialog } from '../forms/form_dialog.tsx';
import type { SelectedInBar } from '../forms/list.ts';
import { inParts } from '../forms/parts.ts';
import { Button, SelectionBar } from '../ui/ui.ts';

interface RevokeBarProps extends SelectedInBar<{ id: number }> {
  one: string;
  many: string;
  revoke: (ids: number[]) => Promise<unknown>;
  /** The consequences. */
  children: ComponentChildren;
}

export function RevokeBar(props: RevokeBarProps) {
  const { one: singular, many, selected, selection, open, revoke, children } = props;
  const ids = selected.map(({ id }) => id);
  const countText = count(ids.length, singular, many);
  const submit = async () => {
    await inParts(ids, revoke);
    selection.setAll(false);
    return `${countText} revoked.`;
  };
  const ask = () =>
    open((close) => (
      <FormDialog
        title={`Revoke ${countText}?`}
        verb={`Revoke ${countText}`}
        onSubmit={submit}
        onClose={close}
      >
        <p>{children}</p>
      </FormDialog>
    ));
  return (
    <SelectionBar selection={selection}>
      <Button kind="danger" icon="remove" onClick={ask}>
        Revoke …
      </Button>
    </SelectionBar>
  );
}
