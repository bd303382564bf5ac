// A plot of uPlot in a box of the page, as wide as the box is.
import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { drawnColor, useDarkness } from './drawn.ts';

/** Gets the index on the x axis at the pointer. */
export type SetAt = (at: number | undefined) => void;

/** `draw` makes the plot, again when one of `of` changes, or the page turns light or dark. */
export function usePlot(draw: (box: HTMLElement, setAt: SetAt) => uPlot, of: readonly unknown[]) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const [at, setAt] = useState<number>();
  const darkness = useDarkness();
  useEffect(() => {
    const parent = box.current;
    if (!parent) return;
    const made = draw(parent, setAt);
    plot.current = made;
    const observer = new ResizeObserver(() => {
      const width = parent.clientWidth;
      if (width > 0 && width !== made.width) made.setSize({ width, height: made.height });
    });
    observer.observe(parent);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [...of, darkness]);
  return { box, plot, at };
}

/** The options that plots share; the legend is the page's own. */
export const plotOptions = (box: HTMLElement, height_pixels: number, setAt: SetAt) =>
  ({
    width: box.clientWidth,
    height: height_pixels,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: { setCursor: [(plot) => setAt(plot.cursor.idx ?? undefined)] },
  }) satisfies Partial<uPlot.Options>;

/** The steps between two values: whole numbers. */
const steps = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power));

/** The axis of values and its range; `max` 0: there is nothing but 0 to show. */
export function valueAxis(max: number, value: (value: number) => string) {
  return {
    scale: { range: [0, max > 0 ? max * 1.06 : 1] as [number, number] },
    axis: {
      space: 45,
      incrs: steps.flat(),
      values: (_plot: uPlot, splits: number[]) =>
        splits.map((split) => (max > 0 || split === 0 ? value(split) : '')),
    },
  };
}

export function axisOptions(box: HTMLElement): uPlot.Axis {
  const { fontSize, fontFamily } = getComputedStyle(box);
  return {
    stroke: drawnColor(box, '--text-soft'),
    font: `${fontSize} ${fontFamily}`,
    grid: { stroke: drawnColor(box, '--line'), width: 1 },
    ticks: { show: false },
  };
}
