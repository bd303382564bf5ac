// The width of an element, and whether it can be scrolled sideways.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** A reference to set on an element; `measure` gets it at first, and when its size changes. */
function useMeasured<E extends HTMLElement>(measure: (element: E) => void) {
  const ref = useRef<E>(null);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    measure(element);
    const observer = new ResizeObserver(() => measure(element));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return ref;
}

/** The element's width in pixels, for drawings; 0 until it is there. */
export function usePixels<E extends HTMLElement>() {
  const [pixels, setPixels] = useState(0);
  const ref = useMeasured<E>((element) => setPixels(element.clientWidth));
  return [ref, pixels] as const;
}

/** In rem, as of the element that was measured last: a good guess for the next one. */
let lastWidth = 60;

/** The element's width in whole rem. It gets `data-more`: the sides on which content is hidden. */
export function useWidth<E extends HTMLElement>() {
  const [width, setWidth] = useState(lastWidth);
  const ref = useMeasured<E>((element) => {
    const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
    lastWidth = Math.floor(element.clientWidth / rem);
    setWidth(lastWidth);
    markMore(element);
  });
  // Other content may need more or less room.
  useLayoutEffect(() => {
    if (ref.current) markMore(ref.current);
  });
  return { ref, width };
}

/** Marks the sides on which an element has more to scroll to. */
export function markMore(element: HTMLElement): void {
  const { scrollLeft, clientWidth, scrollWidth } = element;
  const sides = [scrollLeft > 1 && 'start', scrollLeft + clientWidth < scrollWidth - 1 && 'end'];
  element.dataset.more = sides.filter(Boolean).join(' ');
}
