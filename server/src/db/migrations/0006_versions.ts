// The sixth schema: `stamps` are called versions, and usage has one of its own.

/**
 * A report of usage bumps `usage_revision` alone, so that the responses without usage stay as they are.
 * An old process that still runs must not bump versions that new ones do not read: it fails.
 */
export function versions(): string[] {
  return [
    'alter table stamps rename to versions',
    'alter table versions add column usage_revision bigint not null default 0',
  ];
}
