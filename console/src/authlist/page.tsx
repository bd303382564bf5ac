// The IP authlist: which addresses need no password, for whom and until when.
import { useAddressStates } from '../address.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { type OpenDialog, useDialog } from '../forms/form_dialog.tsx';
import { LastRemovals, RemoveAll } from '../forms/remove_all.tsx';
import { now } from '../now.ts';
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
import { entryGroups } from './groups.ts';
import { AuthlistTable } from './table.tsx';

export function AuthlistPage() {
  const scope = useScope();
  const entries = useReadIn(scope, 'list_authlist', {});
  const { dialog, open } = useDialog();
  const { account, flags, readOnlyReason } = scope;
  const total = entries.data?.length ?? 0;
  const add = (
    <Button
      kind="primary"
      icon="plus"
      disabledReason={readOnlyReason}
      onClick={() => open((close) => <AuthlistForm onClose={close} />)}
    >
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

/** `ends`: 24h for those that end within it; `state`: idle for those whose user is not an active proxy user. */
const noFilters = { search: '', user: '', ends: '', state: '' };

function Entries({ all, open }: { all: readonly AuthlistEntry[]; open: OpenDialog }) {
  const [{ search, user, ends, state }, change] = useAddressStates(noFilters);
  const group = ends ? entryGroups.ending : state ? entryGroups.idle : undefined;
  const users = [...new Set(all.map((entry) => entry.user))].sort();
  const wanted = search.trim().toLowerCase();
  const rows = all
    .filter(
      (entry) =>
        entry.ip.includes(wanted) &&
        (user === '' || entry.user === user) &&
        (group?.has(entry, now.value) ?? true),
    )
    .sort((a, b) => b.id - a.id);
  return (
    <>
      <div class="filters">
        <SearchField
          label="Address contains"
          name="part"
          value={search}
          onInput={(search) => change({ search })}
        />
        {(users.length > 1 || user) && (
          <SelectField
            label="User"
            name="of"
            value={user}
            onInput={(user) => change({ user })}
            options={optionsOf(users, 'All users')}
          />
        )}
      </div>
      {group && (
        <p class="row note">
          Those that {group.text}.
          <Button kind="quiet" icon="close" onClick={() => change({ ends: '', state: '' })}>
            Show all
          </Button>
        </p>
      )}
      <ProofNote rows={rows} />
      <AuthlistTable
        rows={rows}
        all={all.length}
        filter={[user, ends, state, wanted].join(' ')}
        open={open}
      />
    </>
  );
}
