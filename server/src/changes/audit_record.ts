// A record of the audit log.

/** A record of the log as it is stored; `before` and `after` are JSON. */
export interface AuditRecord {
  id: number;
  at: number;
  actor_kind: string;
  actor: string;
  address: string;
  request_id: string;
  account_id: number | null;
  action: string;
  target: string;
  before: string | null;
  after: string | null;
}
