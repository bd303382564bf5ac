// Where the focus goes when its element disappears: it is never lost.

/** Focuses the page's name, from which the next Tab continues. */
export function focusPage(): void {
  document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
}

/** When `element` disappears while it has the focus, the page's name gets it. */
export function keepFocus(element: Element): void {
  if (!element.isConnected) {
    focusPage();
    return;
  }
  const observer = new MutationObserver(() => {
    if (element.isConnected) return;
    forget();
    if (document.activeElement === document.body) focusPage();
  });
  const moved = ({ target }: FocusEvent) => {
    if (target !== element) forget();
  };
  const forget = () => {
    observer.disconnect();
    document.removeEventListener('focusin', moved);
  };
  observer.observe(document.body, { childList: true, subtree: true });
  document.addEventListener('focusin', moved);
}
