// Bytes as a figure in a cell, with a bar beside it: a part of the largest.
import { bytes } from '../format.ts';

export function Share({ value, most }: { value: number; most: number }) {
  const share = most > 0 ? Math.min(1, value / most) : 0;
  return (
    <span class="share-cell">
      <span class="share" aria-hidden="true">
        <span style={{ inlineSize: `${share * 100}%` }} />
      </span>
      {bytes(value)}
    </span>
  );
}
