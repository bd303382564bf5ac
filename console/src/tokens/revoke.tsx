// Revokes the selected tokens of an account or of operators: all or none.
import type { ComponentChildren } from 'preact';
import { count } from '../format.ts';
import { FormDialog } from '../forms/form_dialog.tsx';
import type { ChosenInBar } from '../forms/list.ts';
import { inParts } from '../forms/parts.ts';
import { Button, ChosenBar } from '../ui/ui.ts';

interface RevokeBarProps extends ChosenInBar<{ id: number }> {
  one: string;
  many: string;
  revoke: (ids: number[]) => Promise<unknown>;
  /** The consequences. */
  children: ComponentChildren;
}

export function RevokeBar(props: RevokeBarProps) {
  const { one: singular, many, chosen, selection, open, revoke, children } = props;
  const ids = chosen.map(({ id }) => id);
  const what = count(ids.length, singular, many);
  const submit = async () => {
    await inParts(ids, revoke);
    selection.setAll(false);
    return `${what} revoked.`;
  };
  const ask = () =>
    open((close) => (
      <FormDialog
        title={`Revoke ${what}?`}
        verb={`Revoke ${what}`}
        onSubmit={submit}
        onClose={close}
      >
        <p>{children}</p>
      </FormDialog>
    ));
  return (
    <ChosenBar selection={selection}>
      <Button kind="danger" icon="remove" onClick={ask}>
        Revoke …
      </Button>
    </ChosenBar>
  );
}
