// The audit log of the whole network.
import { useId, useState } from 'preact/hooks';
import { usePages } from '../api/paging.ts';
import { TextField } from '../ui/field.tsx';
import { Page } from '../ui/page.tsx';
import { AuditLog } from './audit_log.tsx';

export function AuditPage() {
  const [account, setAccount] = useState('');
  const list = useId();
  const known = usePages('admin_list_accounts', {
    query: {},
    after: ({ name }) => ({ after: name }),
    limit: 1000,
  });
  return (
    <Page
      title="Audit log"
      note="Everything that anybody changed in the network, and every sign-in."
    >
      <div class="filters">
        <TextField
          label="Account"
          name="account"
          type="search"
          list={list}
          placeholder="All accounts"
          // When it is chosen or entered: a part of a name is no account.
          onChange={(event) => setAccount(event.currentTarget.value.trim())}
        />
        <datalist id={list}>
          {(known.rows.data ?? []).map(({ name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </div>
      <AuditLog key={account} account={account} />
    </Page>
  );
}
