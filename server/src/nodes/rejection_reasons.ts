// The reasons for which nodes reject connections. A report may contain any words; each of these is
// a kind of its own, and all others together are one.

const reasons: ReadonlySet<string> = new Set([
  ...['unknown_address', 'bad_token', 'expired_token', 'old_token_version', 'stale'],
  ...['inactive_user', 'no_proxy_flag', 'server_not_on_contract', 'wrong_port', 'no_service'],
  ...['contract_expired', 'contract_suspended', 'over_limit', 'destination_refused'],
  ...['user_expired', 'not_for_user', 'user_limit_reached'],
  ...['other_family', 'too_many_connections', 'too_many_addresses', 'drained', 'not_ready'],
]);

/** The kind of all other words: those of newer agents, and those that a stolen node makes up. */
const other = 'other';

/** All kinds. */
export const rejectionKinds: readonly string[] = [...reasons, other];

/** The kind of a word for a reason. */
export const kindOf = (word: string) => (reasons.has(word) ? word : other);

/** The counts of a report by the kinds that are stored. */
export function countsByReason(counts: Readonly<Record<string, number>>): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [word, count] of Object.entries(counts)) {
    const reason = kindOf(word);
    sums[reason] = Math.min((sums[reason] ?? 0) + count, Number.MAX_SAFE_INTEGER);
  }
  return sums;
}
