// The audit log of the account, as sentences: who changed what, when and from where.
import { useScope } from '../api/scope.ts';
import { Page } from '../ui/ui.ts';
import { AuditLog } from './audit_log.tsx';

export function ActivityPage() {
  const { account, base } = useScope();
  return (
    <Page note="Every change in the account, and every sign-in.">
      <AuditLog operation="console_list_audit" base={base} name={account} />
    </Page>
  );
}
