// The marks on the map: each tone has a shape of its own, for those who do not tell its colour.
import type { Tone } from '../ui/ui.ts';

/** `faint`: there, and not what the map is about. */
export type MarkTone = Tone | 'faint';

/** Of several points in one mark the first of these is shown: from the worst, and what is known before what is not. */
export const markTones: readonly MarkTone[] = ['bad', 'warn', 'busy', 'good', 'neutral', 'faint'];

interface MarkProps {
  tone: MarkTone;
  /** Half its width, in pixels. */
  size: number;
  /** How many points it stands for; one goes without a figure. */
  count?: number;
}

export function Mark({ tone, size, count = 1 }: MarkProps) {
  return (
    <svg class={`mark ${tone}`} viewBox="-14 -14 28 28" width="28" height="28" aria-hidden="true">
      <Shape tone={tone} size={size} />
      {count > 1 && (
        <text y="0.36em" text-anchor="middle">
          {count}
        </text>
      )}
    </svg>
  );
}

function Shape({ tone, size }: { tone: MarkTone; size: number }) {
  if (tone === 'bad') {
    const half = size * 0.92;
    return <rect x={-half} y={-half} width={2 * half} height={2 * half} rx="1.5" />;
  }
  if (tone === 'warn') {
    const half = size * 1.28;
    return <path d={`M0 ${-half}L${half} 0L0 ${half}L${-half} 0Z`} stroke-linejoin="round" />;
  }
  return <circle r={size} />;
}
