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

export function axisOptions(box: HTMLElement): uPlot.Axis {
  const { fontSize, fontFamily } = getComputedStyle(box);
  return {
    stroke: drawnColor(box, '--text-soft'),
    font: `${fontSize} ${fontFamily}`,
    grid: { stroke: drawnColor(box, '--line'), width: 1 },
    ticks: { show: false },
  };
}
