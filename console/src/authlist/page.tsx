// The IP authlist: the addresses that need no password, for which user and until when.
import { useAddressState } from '../address.ts';
import { useScope } from '../api/scope.ts';
import { ExportMenu } from '../forms/export.tsx';
import { FilteredList, useFilteredList } from '../forms/filtered_list.tsx';
import { useDialog } from '../forms/form_dialog.tsx';
import { ManyBar } from '../forms/many.tsx';
import { OfEntry } from '../forms/of_entry.tsx';
import { Removals } from '../forms/remove_all.tsx';
import { SuggestUser } from '../forms/suggest_user.tsx';
import { AddButton, Button, Empty, Page } from '../ui/ui.ts';
import { type AuthlistEntry, AuthlistForm } from './form.tsx';
import { OwnAddress } from './own_address.tsx';
import { PasteAddresses } from './paste.tsx';
import { AuthlistTable, csvColumns } from './table.tsx';

const sorts = ['id', 'ip', 'user', 'expiry', 'last_used_at'] as const;
const states = {
  proven: 'Verified',
  unproven: 'Not verified',
  waits: 'Not verified, no effect yet',
  idle: 'User not active',
  in_use: 'In use',
};

export function AuthlistPage() {
  const { account, flags, readOnlyReason, base, isOperator } = useScope();
  const [user, setUser] = useAddressState('user');
  const list = useFilteredList('console_list_authlist', {
    ...{ key: 'id', sorts, sort: '-id', states, ownFilters: { user }, base },
  });
  const { pages, rows, table, selection, selected } = list;
  const { dialog, open, openLinked } = useDialog({
    add: (close, ip) => <AuthlistForm ip={ip} onClose={close} />,
    'add-many': (close) => <PasteAddresses onClose={close} />,
    change: (close, id) => (
      <OfEntry read="get_authlist_entry" {...{ rows, id }} onClose={close}>
        {(entry) => <AuthlistForm entry={entry} onClose={close} />}
      </OfEntry>
    ),
  });
  const add = (
    <>
      <Button disabledReason={readOnlyReason} onClick={() => openLinked('add-many')}>
        Add several …
      </Button>
      <AddButton disabledReason={readOnlyReason} onClick={() => openLinked('add')}>
        Add an address
      </AddButton>
    </>
  );
  return (
    <Page
      note="Connections from these addresses don’t need a password. Traffic is counted for the user shown."
      actions={pages.total > 0 && add}
    >
      <FilteredList
        name="the authlist"
        empty={
          <Empty title="No addresses listed" action={<div class="actions">{add}</div>}>
            Until you add one, every connection needs a username and a proxy access token.
          </Empty>
        }
        placeholder="Address, user or note"
        fields={
          flags.admin && (
            <SuggestUser
              label="Listed for"
              name="listed_for"
              value={user}
              onInput={setUser}
              others={[{ value: '', text: 'All users' }]}
            />
          )
        }
        bar={<ManyBar list="authlist" {...{ selected, selection, open }} />}
        {...{ list }}
      >
        {!isOperator && <OwnAddress onList />}
        <ProofNote rows={rows} />
        <AuthlistTable
          {...table}
          {...{ open, openLinked }}
          buttons={<ExportMenu name="authlist" pages={pages} {...csvColumns} />}
        />
      </FilteredList>
      <Removals list="authlist" entries={flags.admin ? pages.total : 0} open={open}>
        Every address listed by {account}, for any of its users, will need a username and a proxy
        access token. Open connections from these addresses will end.
      </Removals>
      {dialog}
    </Page>
  );
}

/** Explains how to verify an address, if there is an unverified one. */
function ProofNote({ rows }: { rows: readonly AuthlistEntry[] }) {
  const { isOperator } = useScope();
  const first = rows.find(({ proof }) => proof === 'unproven' || proof === 'waits');
  if (!first) return null;
  return (
    <p class="note">
      {first.proof === 'waits'
        ? 'An address has no effect until it is verified. '
        : 'If another account verifies an address that you haven’t, it moves to them. '}
      {isOperator
        ? 'You can verify one for the account: select “Verify” in its row.'
        : `To verify it, open this page from that address, or run “exw authlist add --user ${first.user}” there. Your provider can also verify it.`}
    </p>
  );
}
