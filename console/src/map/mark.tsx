// The marks on the map: one point has a shape for each tone, so that colour is not needed; several
// are a ring.
import type { Tone } from '../ui/ui.ts';
import { ringOf } from './clusters.ts';

/** `faint`: present, but not what the map is about. */
export type MarkTone = Tone | 'faint';

/** From the worst; known states before unknown ones. */
const markTones: readonly MarkTone[] = ['bad', 'warn', 'busy', 'good', 'neutral', 'faint'];

interface MarkProps {
  tone: MarkTone;
  /** Half its width, in pixels. */
  size: number;
}

export function Mark({ tone, size }: MarkProps) {
  return (
    <svg class={`mark ${tone}`} viewBox="-14 -14 28 28" width="28" height="28" aria-hidden="true">
      <Shape tone={tone} size={size} />
    </svg>
  );
}

function Shape({ tone, size }: MarkProps) {
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

/** Half the width of a ring, by the number of digits in it. */
const ringSizes = [8.5, 8.5, 10, 12.5];

/**
 * Several points: the proportions of their tones around their number. The bad part is the thickest.
 */
export function RingMark({ counts }: { counts: ReadonlyMap<MarkTone, number> }) {
  const all = [...counts.values()].reduce((sum, many) => sum + many, 0);
  const figure = all < 1000 ? String(all) : `${Math.floor(all / 1000)}k`;
  const size = ringSizes[figure.length] ?? 12.5;
  const parts = markTones.map((tone) => ({ value: tone, many: counts.get(tone) ?? 0 }));
  return (
    <svg class="mark ring" viewBox="-14 -14 28 28" width="28" height="28" aria-hidden="true">
      <circle class="ground" r={size + 1.5} />
      {ringOf(parts).map(({ value: tone, start, share }) => (
        <circle
          key={tone}
          class={`part ${tone}`}
          r={size - 1}
          pathLength={1}
          stroke-dasharray={`${share} 1`}
          stroke-dashoffset={-start}
          transform="rotate(-90)"
        />
      ))}
      <text y="0.36em" text-anchor="middle">
        {figure}
      </text>
    </svg>
  );
}
