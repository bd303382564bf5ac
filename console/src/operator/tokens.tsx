// The operators' own tokens: one for each person, as the audit log names them.
import type { ResponseOf } from '../api/api.ts';
import { change, useRead } from '../api/reading.ts';
import { FormDialog, MakerDialog, useDialog } from '../forms/form_dialog.tsx';
import { nameRule } from '../forms/name_rule.ts';
import { Since } from '../relative_time.tsx';
import {
  Button,
  Card,
  type Column,
  IconButton,
  Loaded,
  Page,
  ShownOnce,
  Table,
  TextField,
  textOf,
} from '../ui/ui.ts';

type Token = ResponseOf<'admin_list_tokens'>[number];

export function TokensPage() {
  const tokens = useRead('admin_list_tokens', {});
  const { dialog, open, openLinked } = useDialog({
    create: (close) => <NewToken onClose={close} />,
  });
  return (
    <Page
      title="Operator tokens"
      note="Whoever has one may do everything here. Give each person their own: the audit log names them by it."
      actions={
        <Button kind="primary" icon="plus" onClick={() => openLinked('create')}>
          Create a token
        </Button>
      }
    >
      <Card>
        <Loaded of={tokens} what="the operator tokens">
          {(all) => (
            <Table
              caption="Operator tokens"
              columns={columns}
              rows={all}
              keyOf={({ id }) => id}
              actions={(token) => (
                <IconButton
                  icon="remove"
                  label={`Revoke ${token.name}`}
                  onClick={() => open((close) => <RevokeToken token={token} onClose={close} />)}
                />
              )}
            />
          )}
        </Loaded>
      </Card>
      {dialog}
    </Page>
  );
}

const columns: Column<Token>[] = [
  { heading: 'Operator', names: true, cell: ({ name }) => name },
  { heading: 'Created', cell: ({ created_at }) => <Since at={created_at} /> },
  { heading: 'Last used', cell: ({ last_used_at }) => <Since at={last_used_at} /> },
];

function NewToken({ onClose }: { onClose: () => void }) {
  const make = (fields: FormData) =>
    change('admin_create_token', { body: { name: textOf(fields, 'name') } });
  return (
    <MakerDialog
      title="New operator token"
      titleOf={({ name }) => `Token of ${name}`}
      verb="Create the token"
      make={make}
      shown={({ admin_token }) => (
        <ShownOnce
          what="the operator token"
          text={admin_token}
          lead="Copy it now: it is not shown again, to nobody."
          onDone={onClose}
        />
      )}
      onClose={onClose}
    >
      <TextField
        label="Who will hold it"
        name="name"
        required
        {...nameRule}
        hint="The name that the audit log shows. Letters, digits and . _ @ -"
      />
    </MakerDialog>
  );
}

function RevokeToken({ token: { id, name }, onClose }: { token: Token; onClose: () => void }) {
  return (
    <FormDialog
      title={`Revoke the token of ${name}?`}
      verb={`Revoke ${name}`}
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_remove_token', { path: { id } });
        return `Revoked the operator token ${name}.`;
      }}
    >
      <p>
        <strong>
          Whoever uses the token of {name}, by this console or by the command line, is refused at
          once.
        </strong>{' '}
        It cannot be brought back. If it is the one that you signed in with, you are signed out.
      </p>
    </FormDialog>
  );
}
