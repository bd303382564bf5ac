// The audit log of the whole network, or of one account.
import { AuditLog } from '../activity/audit_log.tsx';
import { useAddressState } from '../address.ts';
import { Page } from '../ui/ui.ts';
import { SuggestAccount } from './suggest_account.tsx';

export function AuditPage() {
  const [account, setAccount] = useAddressState('account');
  return (
    <Page note="Every change in the network, and every sign-in.">
      <AuditLog operation="admin_list_audit" name="network">
        <SuggestAccount value={account} onInput={setAccount} />
      </AuditLog>
    </Page>
  );
}
