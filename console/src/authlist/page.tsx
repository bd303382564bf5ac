// The IP authlist: the addresses that need no password, for which user and until when.
import { useAddressState } from '../address.ts';
import { useScope } from '../api/scope.ts';
import { ExportButtons, timeText } from '../forms/export.tsx';
import { useDialog } from '../forms/form_dialog.tsx';
import { useList } from '../forms/list.ts';
import { ListHead } from '../forms/list_head.tsx';
import { useListFilters, useSorting } from '../forms/list_state.ts';
import { ManyBar } from '../forms/many.tsx';
import { adderOf } from '../forms/note.tsx';
import { OfEntry } from '../forms/of_entry.tsx';
import { Removals } from '../forms/remove_all.tsx';
import { SuggestUser } from '../forms/suggest_user.tsx';
import { Button, Card, Empty, Loaded, Page } from '../ui/ui.ts';
import { type AuthlistEntry, AuthlistForm } from './form.tsx';
import { PasteAddresses } from './paste.tsx';
import { AuthlistTable } from './table.tsx';

const sorts = ['id', 'ip', 'user', 'expiry', 'last_used_at'] as const;
const states = {
  proven: 'Proven',
  unproven: 'Unproven',
  waits: 'Unproven, waits',
  idle: 'User not active',
  acting: 'User active',
};

export function AuthlistPage() {
  const { account, flags, readOnlyReason, base } = useScope();
  const filters = useListFilters(states);
  const [user, setUser] = useAddressState('user');
  const { sorting, query: order } = useSorting(sorts, '-id');
  const query = { ...order, ...filters.query, user };
  const { pages, rows, selection, chosen } = useList('console_list_authlist', 'id', query, base);
  const { dialog, open, openLinked } = useDialog({
    add: (close) => <AuthlistForm onClose={close} />,
    'add-many': (close) => <PasteAddresses onClose={close} />,
    change: (close, id) => (
      <OfEntry read="get_authlist_entry" {...{ rows, id }} onClose={close}>
        {(entry) => <AuthlistForm entry={entry} onClose={close} />}
      </OfEntry>
    ),
  });
  const isEmpty = pages.rows.data !== undefined && pages.total === 0;
  const isFiltered = filters.isFiltered || user !== '';
  const add = (
    <>
      <Button disabledReason={readOnlyReason} onClick={() => openLinked('add-many')}>
        Add many …
      </Button>
      <Button
        kind="primary"
        icon="plus"
        disabledReason={readOnlyReason}
        onClick={() => openLinked('add')}
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
      actions={pages.total > 0 && add}
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
                <ListHead
                  filters={filters}
                  placeholder="Address, user or note"
                  states={states}
                  bar={<ManyBar list="authlist" {...{ chosen, selection, open }} />}
                >
                  {flags.admin && (
                    <SuggestUser
                      label="Listed for"
                      name="of"
                      value={user}
                      onInput={setUser}
                      others={[{ value: '', text: 'All users' }]}
                    />
                  )}
                </ListHead>
                <ProofNote rows={rows} />
                <AuthlistTable
                  {...{ pages, rows, sorting, selection, open, openLinked }}
                  buttons={<ExportButtons name="authlist" of={pages} {...{ header, cells }} />}
                />
              </>
            )
          }
        </Loaded>
      </Card>
      <Removals list="authlist" entries={flags.admin ? pages.total : 0} open={open}>
        Every address that account {account} has listed, of all its users, needs a username and a
        proxy access token from then on; open connections from them end.
      </Removals>
      {dialog}
    </Page>
  );
}

const header = ['address', 'user', 'note', 'expires', 'last_used', 'added_by', 'added_at'];
const cells = (entry: AuthlistEntry) => [
  ...[entry.ip, entry.user, entry.note, timeText(entry.expiry), timeText(entry.last_used_at)],
  ...[adderOf(entry), timeText(entry.added_at)],
];

/** Explains how to verify an address, if there is an unverified one. */
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
        ? 'Your word proves one, too: press the check mark (“Prove”) beside it.'
        : `To prove one, open this page from there, or run “exw authlist add --user ${first.user}” there; your provider can do so, too.`}
    </p>
  );
}
