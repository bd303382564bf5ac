// Where the focus goes when what had it is no longer there: never to nowhere.

/** Gives the focus to the page's name, from which the next Tab leads on. */
export function focusPage(): void {
  document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
}

/** When `element` goes away while it has the focus, the page's name takes it. */
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
