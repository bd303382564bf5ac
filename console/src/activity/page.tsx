// The audit log of the account: who changed what, when and from where, as sentences.
import { usePages } from '../api/paging.ts';
import { useScope } from '../api/scope.ts';
import { Page } from '../ui/ui.ts';
import { AuditLog } from './audit_log.tsx';
import { accountKinds } from './sentences.ts';

export function ActivityPage() {
  const { base } = useScope();
  const pages = usePages('console_list_audit', {
    query: {},
    limit: 50,
    base,
  });
  return (
    <Page title="Activity" note="Everything that was changed in the account, and every sign-in.">
      <AuditLog pages={pages} kinds={accountKinds} />
    </Page>
  );
}
