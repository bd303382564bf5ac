// A world map with selectable points: one stop of the Tab key, arrow keys within.

import { center, land, scale, width } from 'virtual:world-map';
import { useMemo, useState } from 'preact/hooks';
import { usePixels } from '../ui/width.ts';
import { type Cluster, clusterOf, type Direction, neighbour, type Placed } from './clusters.ts';
import { Mark, type MarkTone, RingMark } from './mark.tsx';
import { project } from './project.ts';

export interface MapPoint {
  id: string;
  name: string;
  /** The rest of its description: its city, its status in words. */
  text: string;
  longitude: number;
  latitude: number;
  /** For several points: their worst tone. */
  tone: MarkTone;
  /** For a point that stands for several: the number of each tone. */
  counts?: ReadonlyMap<MarkTone, number>;
  /** Half the width of its mark in pixels: 3 to 9. */
  size: number;
  selected: boolean;
}

interface WorldMapProps {
  /** The name of the map, for screen readers. */
  label: string;
  points: readonly MapPoint[];
  /** The meaning of the marks. */
  legend: ReadonlyArray<{ tone: MarkTone; text: string }>;
  /** Gets all points of the selected mark. */
  onSelect: (ids: string[]) => void;
}

/** The least distance between marks, for fingers or a mouse. */
const minPixels = matchMedia('(pointer: coarse)').matches ? 24 : 20;
const maxNames = 8;
/** Drawn from the north to here: there are no servers further south. */
const [, shownHeight] = project(0, -58, { scale, center });

const arrows: Record<string, Direction> = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
};

export function WorldMap({ label, points, legend, onSelect }: WorldMapProps) {
  const [frame, pixels] = usePixels<HTMLDivElement>();
  const shownPixels = pixels || width;
  const marks = useMemo(() => marksOf(points, shownPixels), [points, shownPixels]);
  const [at, setAt] = useState('');
  const current = marks.some((mark) => idOf(mark) === at) ? at : marks[0] && idOf(marks[0]);

  const move = (event: KeyboardEvent, mark: Cluster<MapPoint>) => {
    const direction = arrows[event.key];
    if (!direction) return;
    event.preventDefault();
    const next = neighbour(mark, marks, direction);
    if (!next) return;
    setAt(idOf(next));
    frame.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(idOf(next))}"]`)?.focus();
  };

  return (
    <figure class="world-map">
      <div class="world" ref={frame}>
        <svg viewBox={`0 0 ${width} ${shownHeight}`} aria-hidden="true" class="land">
          <path d={land} />
        </svg>
        {/* biome-ignore lint/a11y/useSemanticElements: these are no fields of a form */}
        <div role="group" aria-label={`${label}. Use the arrow keys to move between marks.`}>
          {marks.map((mark) => (
            <MarkButton
              key={idOf(mark)}
              mark={mark}
              legend={legend}
              isCurrent={idOf(mark) === current}
              onFocus={() => setAt(idOf(mark))}
              onKeyDown={(event) => move(event, mark)}
              onSelect={() => onSelect(mark.points.map(({ id }) => id))}
            />
          ))}
        </div>
      </div>
      <figcaption>
        <ul class="legend">
          {legend.map(({ tone, text }) => (
            <li key={tone}>
              <Mark tone={tone} size={tone === 'faint' ? 3.5 : 6} /> {text}
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

interface MarkButtonProps {
  mark: Cluster<MapPoint>;
  legend: WorldMapProps['legend'];
  isCurrent: boolean;
  onFocus: () => void;
  onKeyDown: (event: KeyboardEvent) => void;
  onSelect: () => void;
}

function MarkButton({ mark, legend, isCurrent, onFocus, onKeyDown, onSelect }: MarkButtonProps) {
  const { points, x, y } = mark;
  const counts = countsOf(points);
  const faint = counts.get('faint') ?? 0;
  // Faint points at the same mark are named, but not counted.
  counts.delete('faint');
  const count = [...counts.values()].reduce((sum, many) => sum + many, 0);
  const [{ tone, size }] = points;
  const sentences = points.slice(0, maxNames).map(({ name, text }) => `${name}: ${text}`);
  if (points.length > maxNames) sentences.push(`and ${points.length - maxNames} more`);
  const states = legend
    .filter((item) => counts.get(item.tone))
    .map((item) => `${counts.get(item.tone)} × ${item.text}`);
  if (count > 1) sentences.unshift(`${count} here: ${states.join(', ')}`);
  const side = x < width * 0.25 ? 'start' : x > width * 0.75 ? 'end' : 'middle';
  return (
    <button
      type="button"
      class={points.some(({ selected }) => selected) ? 'place selected' : 'place'}
      style={{
        insetInlineStart: `${(x / width) * 100}%`,
        insetBlockStart: `${(y / shownHeight) * 100}%`,
      }}
      data-id={idOf(mark)}
      tabIndex={isCurrent ? 0 : -1}
      aria-label={sentences.join('; ')}
      aria-pressed={points.every(({ selected }) => selected)}
      onFocus={onFocus}
      onKeyDown={onKeyDown}
      onClick={onSelect}
    >
      {count > 1 ? (
        <RingMark counts={counts} />
      ) : (
        <Mark tone={tone} size={count === 0 && faint > 1 ? 5 : size} />
      )}
      <span
        class={`place-tip ${side} ${y < shownHeight * 0.35 ? 'below' : 'above'}`}
        aria-hidden="true"
      >
        {sentences.map((sentence) => (
          <span key={sentence}>{` ${sentence}`}</span>
        ))}
      </span>
    </button>
  );
}

function countsOf(points: readonly MapPoint[]): Map<MarkTone, number> {
  const all = new Map<MarkTone, number>();
  for (const { tone, counts = new Map([[tone, 1]]) } of points) {
    for (const [countedTone, many] of counts)
      all.set(countedTone, (all.get(countedTone) ?? 0) + many);
  }
  return all;
}

const idOf = ({ points }: Cluster<MapPoint>) => points[0].id;

/**
 * Important points come before faint ones, and large before small, and keep their positions. Faint
 * ones are drawn first.
 */
function marksOf(points: readonly MapPoint[], shownPixels: number): Cluster<MapPoint>[] {
  const placed: Placed<MapPoint>[] = points
    .map((point) => {
      const [x, y] = project(point.longitude, point.latitude, { scale, center });
      // The far south is cut off: points there are at the edge.
      return { point, x, y: Math.min(y, shownHeight - 8) };
    })
    .sort((a, b) => rank(a.point) - rank(b.point) || (a.point.id < b.point.id ? -1 : 1));
  return clusterOf(placed, minPixels * (width / shownPixels)).reverse();
}

const rank = ({ tone, size }: MapPoint) => (tone === 'faint' ? 100 : 0) - size;
