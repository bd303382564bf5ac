// Warns if a change of terms ends connections: nodes apply it within seconds, to open ones too.
import { bytes } from '../format.ts';

export interface Terms {
  on_limit: 'refuse' | 'allow';
  /** Bytes in a billing period; null: none. */
  limit_bytes: number | null;
  /** Epoch seconds; undefined: the terms have no end of their own. */
  expiry?: number;
}

interface Used {
  /** Bytes in the running billing period. */
  usage: number;
  now: number;
}

/** The reason why nodes refuse connections under these terms; undefined: there is none. */
function reasonToRefuse(
  { on_limit, limit_bytes, expiry = Number.POSITIVE_INFINITY }: Terms,
  { usage, now }: Used,
): string | undefined {
  if (expiry <= now) return 'This date has passed.';
  const isOver = on_limit === 'refuse' && limit_bytes !== null && usage >= limit_bytes;
  return isOver ? `${bytes(usage)} of this limit is already used.` : undefined;
}

/** A warning, if nodes serve under the terms `before`, and refuse under `after`. */
export function cutOffBy(before: Terms, after: Terms, used: Used): string | undefined {
  if (reasonToRefuse(before, used)) return undefined;
  const reason = reasonToRefuse(after, used);
  return reason && `${reason} Once you save, nodes refuse every connection.`;
}
