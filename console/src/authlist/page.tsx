// The IP authlist: which addresses need no password, for whom and until when.
import { useAddressState } from '../address.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { type OpenDialog, useDialog } from '../forms/form_dialog.tsx';
import { LastRemovals, RemoveAll } from '../forms/remove_all.tsx';
import {
  Button,
  Card,
  Empty,
  Loaded,
  optionsOf,
  Page,
  SearchField,
  SelectField,
} from '../ui/ui.ts';
import { type AuthlistEntry, AuthlistForm } from './form.tsx';
import { AuthlistTable } from './table.tsx';

export function AuthlistPage() {
  const scope = useScope();
  const entries = useReadIn(scope, 'list_authlist', {});
  const { account, flags, readOnlyReason } = scope;
  const { dialog, open, ask } = useDialog({ add: (close) => <AuthlistForm onClose={close} /> });
  const total = entries.data?.length ?? 0;
  const add = (
    <Button kind="primary" icon="plus" disabledReason={readOnlyReason} onClick={() => ask('add')}>
      Add an address
    </Button>
  );
  const removeAll = () =>
    open((close) => (
      <RemoveAll list="authlist" entries={total} onClose={close}>
        Every address that account {account} has listed, of all its users, needs a username and a
        proxy access token from then on; open connections from them end.
      </RemoveAll>
    ));
  return (
    <Page
      title="IP authlist"
      note="A connection from a listed address needs no password and counts as its user."
      actions={
        total > 0 && (
          <>
            {flags.admin && (
              <Button icon="remove" disabledReason={readOnlyReason} onClick={removeAll}>
                Remove all …
              </Button>
            )}
            {add}
          </>
        )
      }
    >
      <Card>
        <Loaded of={entries} what="the authlist">
          {(all) =>
            all.length > 0 ? (
              <Entries all={all} open={open} />
            ) : (
              <Empty title="No address is listed." action={add}>
                Until one is, the proxy asks everybody for a username and a proxy access token.
              </Empty>
            )
          }
        </Loaded>
      </Card>
      {flags.admin && <LastRemovals list="authlist" />}
      {dialog}
    </Page>
  );
}

/** The way from an unproven entry to a proven one, where there is an unproven one. */
function ProofNote({ rows }: { rows: readonly AuthlistEntry[] }) {
  const { isOperator } = useScope();
  const first = rows.find(({ proof }) => proof === 'unproven' || proof === 'waits');
  if (!first) return null;
  return (
    <p class="note">
      {first.proof === 'waits'
        ? 'An unproven address lets nobody in until it proves itself. '
        : 'An unproven address goes to another account that proves to call from there. '}
      {isOperator
        ? 'Your word proves one, too: press the check mark beside it.'
        : 'To prove one, open this page from there, or run “exw authlist add” there; your provider can do so, too.'}
    </p>
  );
}

function Entries({ all, open }: { all: readonly AuthlistEntry[]; open: OpenDialog }) {
  const [part, setPart] = useAddressState('search');
  const [user, setUser] = useAddressState('user');
  const users = [...new Set(all.map((entry) => entry.user))].sort();
  const wanted = part.trim().toLowerCase();
  const rows = all
    .filter((entry) => entry.ip.includes(wanted) && (user === '' || entry.user === user))
    .sort((a, b) => b.id - a.id);
  return (
    <>
      <div class="filters">
        <SearchField label="Address contains" name="part" value={part} onInput={setPart} />
        {(users.length > 1 || user) && (
          <SelectField
            label="User"
            name="of"
            value={user}
            onInput={setUser}
            options={optionsOf(users, 'All users')}
          />
        )}
      </div>
      <ProofNote rows={rows} />
      <AuthlistTable rows={rows} all={all.length} filter={`${user} ${wanted}`} open={open} />
    </>
  );
}
