// The audit log of the whole network, or of one account in it.
import { useId, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { AuditLog } from '../activity/audit_log.tsx';
import { accountKinds, networkKinds } from '../activity/sentences.ts';
import { usePages } from '../api/paging.ts';
import { paths } from '../paths.ts';
import { Page, TextField } from '../ui/ui.ts';

export function AuditPage() {
  const [account, setAccount] = useState('');
  const list = useId();
  const known = usePages('admin_list_accounts', {
    query: {},
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
      <NetworkLog key={account} account={account} />
    </Page>
  );
}

/** `account`: only its records; empty: all, each with its account. */
function NetworkLog({ account }: { account: string }) {
  const pages = usePages('admin_list_audit', {
    query: account ? { account } : {},
    limit: 100,
  });
  if (account) return <AuditLog pages={pages} kinds={accountKinds} />;
  return (
    <AuditLog
      pages={pages}
      kinds={networkKinds}
      beside={({ account: of }) => of && <Link href={paths.operator.account(of)}>{of}</Link>}
    />
  );
}
