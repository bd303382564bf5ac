// The IP authlist: which addresses need no password, for whom and until when.
import { useAddressState } from '../address.ts';
import { readPage, usePages } from '../api/paging.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { ExportButtons } from '../forms/export.tsx';
import {
  endingOptions,
  useDialogName,
  useEndsBefore,
  useSorting,
  useTypedState,
} from '../forms/list_state.ts';
import { ManyBar, ManyDialog } from '../forms/many.tsx';
import { adderOf } from '../forms/note.tsx';
import { LastRemovals, RemoveAll } from '../forms/remove_all.tsx';
import {
  Button,
  Card,
  Empty,
  Loaded,
  optionsIn,
  optionsOf,
  Page,
  SearchField,
  SelectField,
  useSelection,
} from '../ui/ui.ts';
import { type AuthlistEntry, AuthlistForm } from './form.tsx';
import { PasteAddresses } from './paste.tsx';
import { AuthlistTable, RemoveEntry } from './table.tsx';

const rowsOfPage = 100;
const sorts = ['id', 'ip', 'user', 'expiry', 'last_used_at'] as const;
const states = ['proven', 'unproven', 'waits', 'idle', 'acting'] as const;
const stateOptions = optionsIn({
  '': 'All states',
  proven: 'Proven',
  unproven: 'Unproven',
  waits: 'Unproven, waits',
  idle: 'User not active',
  acting: 'User active',
});

export function AuthlistPage() {
  const scope = useScope();
  const { flags, readOnlyReason, base } = scope;
  const [text, setText, search] = useTypedState('search');
  const [user, setUser] = useAddressState('user');
  const [stateText, setState] = useAddressState('state');
  const [ends, setEnds] = useAddressState('ends');
  const { sorting, query: order } = useSorting(sorts, '-id');
  const state = states.find((one) => one === stateText);
  const query = {
    ...order,
    ...{ search: search.trim(), user, ends_before: useEndsBefore(ends) },
    ...(state ? { state } : {}),
  };
  const pages = usePages('console_list_authlist', { query, limit: rowsOfPage, base });
  const rows = pages.rows.data ?? [];
  const selection = useSelection(rows.map(({ id }) => id));
  const { name: dialog, verb, id, open, close } = useDialogName();
  const isFiltered = Boolean(search || user || state || ends);
  const isEmpty = pages.rows.data !== undefined && pages.total === 0;
  const add = (
    <>
      <Button disabledReason={readOnlyReason} onClick={() => open('add-many')}>
        Add many …
      </Button>
      <Button
        kind="primary"
        icon="plus"
        disabledReason={readOnlyReason}
        onClick={() => open('add')}
      >
        Add an address
      </Button>
    </>
  );
  return (
    <Page
      wide
      title="IP authlist"
      note="A connection from a listed address needs no password and counts as its user."
      actions={
        pages.total > 0 && (
          <>
            {flags.admin && (
              <Button
                icon="remove"
                disabledReason={readOnlyReason}
                onClick={() => open('remove-all')}
              >
                Remove all …
              </Button>
            )}
            {add}
          </>
        )
      }
    >
      <Card>
        <Loaded of={pages.rows} what="the authlist">
          {() =>
            isEmpty && !isFiltered ? (
              <Empty title="No address is listed." action={<div class="actions">{add}</div>}>
                Until one is, the proxy asks everybody for a username and a proxy access token.
              </Empty>
            ) : (
              <>
                <div class="list-head">
                  <div class="filters">
                    <SearchField
                      label="Search"
                      name="search"
                      placeholder="Address, user or note"
                      value={text}
                      onInput={setText}
                    />
                    {flags.admin && <UserFilter user={user} onInput={setUser} />}
                    <SelectField
                      label="State"
                      name="state"
                      value={state ?? ''}
                      onInput={setState}
                      options={stateOptions}
                    />
                    <SelectField
                      label="Ends"
                      name="ends"
                      value={ends}
                      onInput={setEnds}
                      options={endingOptions}
                    />
                  </div>
                  <ManyBar selection={selection} open={open} />
                </div>
                <ProofNote rows={rows} />
                <AuthlistTable
                  pages={pages}
                  rows={rows}
                  sorting={sorting}
                  selection={selection}
                  open={open}
                  beside={
                    <ExportButtons
                      name="authlist"
                      read={(next) =>
                        readPage('console_list_authlist', { ...query, limit: 1000 }, next, base)
                      }
                      header={exported}
                      cells={cellsOf}
                    />
                  }
                />
              </>
            )
          }
        </Loaded>
      </Card>
      <LastRemovals list="authlist" />
      <Dialogs
        rows={rows}
        dialog={dialog}
        verb={verb}
        id={id}
        total={pages.total}
        onClose={close}
      />
      <ManyDialog
        name={dialog}
        list="authlist"
        chosen={rows.filter((row) => selection.keys.has(row.id))}
        selection={selection}
        onClose={close}
      />
    </Page>
  );
}

const exported = ['address', 'user', 'note', 'expires', 'last_used', 'added_by', 'added_at'];
const timeText = (at: number | null) => (at === null ? '' : new Date(at * 1000).toISOString());
const cellsOf = (entry: AuthlistEntry) => [
  ...[entry.ip, entry.user, entry.note, timeText(entry.expiry), timeText(entry.last_used_at)],
  ...[adderOf(entry), timeText(entry.added_at)],
];

interface DialogsProps {
  rows: readonly AuthlistEntry[];
  dialog: string;
  verb: string;
  id: number;
  total: number;
  onClose: () => void;
}

function Dialogs({ rows, dialog, verb, id, total, onClose }: DialogsProps) {
  const { account } = useScope();
  const entry = rows.find((row) => row.id === id);
  if (dialog === 'add') return <AuthlistForm onClose={onClose} />;
  if (dialog === 'add-many') return <PasteAddresses onClose={onClose} />;
  if (dialog === 'remove-all' && total > 0) {
    return (
      <RemoveAll list="authlist" entries={total} onClose={onClose}>
        Every address that account {account} has listed, of all its users, needs a username and a
        proxy access token from then on; open connections from them end.
      </RemoveAll>
    );
  }
  if (entry && verb === 'change') return <AuthlistForm entry={entry} onClose={onClose} />;
  return entry && verb === 'remove' ? <RemoveEntry entry={entry} onClose={onClose} /> : null;
}

function UserFilter({ user, onInput }: { user: string; onInput: (user: string) => void }) {
  const users = useReadIn(useScope(), 'list_users', {}).data ?? [];
  const names = new Set([...users.map(({ name }) => name), ...(user ? [user] : [])]);
  return (
    <SelectField
      label="Listed for"
      name="of"
      value={user}
      onInput={onInput}
      options={optionsOf([...names].sort(), 'All users')}
    />
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
