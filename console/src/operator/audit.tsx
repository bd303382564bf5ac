// The audit log of the whole network, or of one account in it.
import { AuditLog } from '../activity/audit_log.tsx';
import { usePages } from '../api/paging.ts';
import { Page } from '../ui/ui.ts';

export function AuditPage() {
  const known = usePages('admin_list_accounts', { query: {}, limit: 1000 });
  return (
    <Page
      title="Audit log"
      note="Everything that anybody changed in the network, and every sign-in."
    >
      <AuditLog
        operation="admin_list_audit"
        name="network"
        accounts={(known.rows.data ?? []).map(({ name }) => name)}
      />
    </Page>
  );
}
