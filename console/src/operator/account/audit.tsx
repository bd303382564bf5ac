// The audit log of one account.

import { AuditLog } from '../audit_log.tsx';
import type { Account } from '../states.ts';

export function AuditPart({ account }: { account: Account }) {
  return <AuditLog account={account.name} />;
}
