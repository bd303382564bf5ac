// The operators' own tokens: one for each person, as the audit log names them.
import type { ResponseOf } from '../api/api.ts';
import { change } from '../api/reading.ts';
import { CutText, createdColumn, lastUsedColumn } from '../forms/columns.tsx';
import { ExportMenu, timeText } from '../forms/export.tsx';
import { FilteredList, useFilteredList } from '../forms/filtered_list.tsx';
import { FormDialog, MakerDialog, useDialog } from '../forms/form_dialog.tsx';
import { NameField } from '../forms/name_field.tsx';
import { RevokeBar } from '../tokens/revoke.tsx';
import { AddButton, CheckField, type Column, Page, ShownOnce, Table, textOf } from '../ui/ui.ts';

type Token = ResponseOf<'admin_list_tokens'>[number];

const sorts = ['id', 'name', 'created_at', 'last_used_at'] as const;
const states = { used: 'Used', unused: 'Never used' };

export function TokensPage() {
  const list = useFilteredList('admin_list_tokens', {
    ...{ key: 'id', sorts, sort: 'name', states, canEnd: false },
  });
  const { pages, table, selection, selected } = list;
  const { dialog, open, openLinked } = useDialog({
    create: (close) => <NewToken onClose={close} />,
  });
  return (
    <Page
      note="An operator token gives full access. Create one for each person: the audit log shows its name."
      actions={<AddButton onClick={() => openLinked('create')}>Create a token</AddButton>}
    >
      <FilteredList
        name="the operator tokens"
        placeholder="Name"
        bar={
          <RevokeBar
            one="operator token"
            many="operator tokens"
            revoke={(ids) => change('admin_revoke_tokens', { body: { ids } })}
            {...{ selected, selection, open }}
          >
            They stop working at once, in this console and on the command line. This can’t be
            undone. If yours is among them, you are signed out.
          </RevokeBar>
        }
        {...{ list }}
      >
        <Table
          {...table}
          columns={columns}
          caption="Operator tokens"
          one="token"
          many="tokens"
          keyOf={({ id }) => id}
          nameOf={({ name }) => name}
          actions={(token) => [
            {
              ...{ text: 'Revoke', isWritten: true },
              onSelect: () => open((close) => <RevokeToken token={token} onClose={close} />),
            },
          ]}
          buttons={<ExportMenu name="operator-tokens" pages={pages} {...{ header, cells }} />}
        />
      </FilteredList>
      {dialog}
    </Page>
  );
}

const header = ['id', 'operator', 'created', 'last_used', 'may_find_connections'];
const cells = ({ id, name, created_at, last_used_at, may_find_connections }: Token) => [
  ...[id, name, timeText(created_at), timeText(last_used_at), may_find_connections ? 'yes' : ''],
];

const columns: Column<Token>[] = [
  {
    heading: 'Operator',
    names: true,
    sort: 'name',
    grows: true,
    cell: ({ name }) => <CutText text={name} />,
  },
  {
    heading: 'Can find out who used an exit',
    rank: 1,
    fills: ({ may_find_connections }) => may_find_connections,
    cell: ({ may_find_connections }) => (may_find_connections ? 'Yes' : ''),
  },
  createdColumn,
  lastUsedColumn,
];

function NewToken({ onClose }: { onClose: () => void }) {
  const make = (fields: FormData) =>
    change('admin_create_token', {
      body: {
        name: textOf(fields, 'name'),
        ...(fields.has('may_find_connections') && { may_find_connections: true }),
      },
    });
  return (
    <MakerDialog
      title="New operator token"
      titleOf={({ name }) => `Token of ${name}`}
      verb="Create token"
      make={make}
      shown={({ admin_token }) => (
        <ShownOnce
          name="the operator token"
          text={admin_token}
          lead="Copy it now. It won’t be shown again."
          onDone={onClose}
        />
      )}
      onClose={onClose}
    >
      <NameField label="Name" hint="The person’s name, as the audit log shows it." />
      <CheckField
        label="Can find out who used an exit"
        name="may_find_connections"
        hint="From the nodes that keep a connection log. Each search is recorded in the audit log."
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
        <strong>The token of {name} stops working at once</strong>, in this console and on the
        command line. This can’t be undone. If you signed in with it, you are signed out.
      </p>
    </FormDialog>
  );
}
