// The nineteenth schema: nodes that take no new connections, and how many are open on each.

/** `connections`: open requests and tunnels, as its agent said last; null: it did not say. */
export function drainedNodes(): string[] {
  return [
    'alter table nodes add column drained_at bigint',
    'alter table nodes add column connections bigint',
  ];
}
