// A part of the largest as a horizontal bar, in a cell beside its figure.

export function Share({ value, most }: { value: number; most: number }) {
  const share = most > 0 ? Math.min(1, value / most) : 0;
  return (
    <span class="share" aria-hidden="true">
      <span style={{ inlineSize: `${share * 100}%` }} />
    </span>
  );
}
