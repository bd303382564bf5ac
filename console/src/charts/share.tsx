// Bytes as a figure in a cell, next to a bar: its part of the largest value.
import { columnBytes } from '../format.ts';

export function Share({ value, max }: { value: number; max: number }) {
  const share = max > 0 ? Math.min(1, value / max) : 0;
  return (
    <span class="share-cell">
      <span class="share" aria-hidden="true">
        <span style={{ inlineSize: `${share * 100}%` }} />
      </span>
      {columnBytes(value)}
    </span>
  );
}
