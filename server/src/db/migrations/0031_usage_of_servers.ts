// The thirty-first schema: the last thirty days of a few servers of an account are read without those of its others.

/** The bytes are not part of it: they change often, and the index would change with them. */
export function usageOfServers(): string[] {
  return [
    'create index usage_server_hours_by_server on usage_server_hours (account_id, server_id, hour)',
  ];
}
