// The operators' own tokens: one for each person, as the audit log names them.
import type { ResponseOf } from '../api/api.ts';
import { change } from '../api/reading.ts';
import { CutText, createdColumn, lastUsedColumn } from '../forms/columns.tsx';
import { ExportButtons, timeText } from '../forms/export.tsx';
import { FormDialog, MakerDialog, useDialog } from '../forms/form_dialog.tsx';
import { useList } from '../forms/list.ts';
import { ListHead } from '../forms/list_head.tsx';
import { useListFilters, useSorting } from '../forms/list_state.ts';
import { NameField } from '../forms/name_field.tsx';
import { RevokeBar } from '../tokens/revoke.tsx';
import {
  Button,
  Card,
  type Column,
  Loaded,
  Page,
  PagedTable,
  RowButton,
  ShownOnce,
  textOf,
} from '../ui/ui.ts';

type Token = ResponseOf<'admin_list_tokens'>[number];

const sorts = ['id', 'name', 'created_at', 'last_used_at'] as const;
const states = { used: 'Used', unused: 'Never used' };

export function TokensPage() {
  const filters = useListFilters(states, false);
  const { sorting, query: order } = useSorting(sorts, 'name');
  const query = { ...order, ...filters.query };
  const { pages, rows, selection, chosen } = useList('admin_list_tokens', 'id', query);
  const { dialog, open, openLinked } = useDialog({
    create: (close) => <NewToken onClose={close} />,
  });
  return (
    <Page
      wide
      title="Operator tokens"
      note="Whoever has one may do everything here. Give each person their own: the audit log names them by it."
      actions={
        <Button kind="primary" icon="plus" onClick={() => openLinked('create')}>
          Create a token
        </Button>
      }
    >
      <Card>
        <Loaded of={pages.rows} what="the operator tokens">
          {() => (
            <>
              <ListHead
                filters={filters}
                placeholder="Name"
                states={states}
                bar={
                  <RevokeBar
                    one="operator token"
                    many="operator tokens"
                    revoke={(ids) => change('admin_revoke_tokens', { body: { ids } })}
                    {...{ chosen, selection, open }}
                  >
                    Whoever uses one of them, by this console or by the command line, is refused at
                    once. They cannot be brought back. If yours is among them, you are signed out.
                  </RevokeBar>
                }
              />
              <PagedTable
                {...{ pages, rows, sorting, selection, columns }}
                caption="Operator tokens"
                one="token"
                many="tokens"
                keyOf={({ id }) => id}
                nameOf={({ name }) => name}
                actions={(token) => (
                  <RowButton
                    verb="Revoke"
                    of={token.name}
                    onClick={() => open((close) => <RevokeToken token={token} onClose={close} />)}
                  />
                )}
                buttons={<ExportButtons name="operator-tokens" of={pages} {...{ header, cells }} />}
              />
            </>
          )}
        </Loaded>
      </Card>
      {dialog}
    </Page>
  );
}

const header = ['id', 'operator', 'created', 'last_used'];
const cells = ({ id, name, created_at, last_used_at }: Token) => [
  ...[id, name, timeText(created_at), timeText(last_used_at)],
];

const columns: Column<Token>[] = [
  {
    heading: 'Operator',
    names: true,
    sort: 'name',
    cell: ({ name }) => <CutText of={name} />,
  },
  createdColumn,
  lastUsedColumn,
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
      <NameField label="Who will hold it" hint="The name that the audit log shows." />
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
