// The width of an element, and whether it can be scrolled sideways.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** In rem, as of the element that was measured last: a good guess for the next one. */
let lastWidth = 60;

/** The element's width in whole rem. It gets `data-more`: the sides on which content is hidden. */
export function useWidth<E extends HTMLElement>() {
  const ref = useRef<E>(null);
  const [width, setWidth] = useState(lastWidth);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const measure = () => {
      const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
      lastWidth = Math.floor(element.clientWidth / rem);
      setWidth(lastWidth);
      markMore(element);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
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
