// The keys that work on every page: Cmd-K or Ctrl-K opens the palette, "/" goes to the page's
// search, "?" lists all of them.
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Place } from '../menu.tsx';
import { notifyError } from '../ui/ui.ts';
import { isComposing, isMac } from './keys.ts';

export interface FinderProps {
  /** The pages that are open to the user. */
  places: readonly Place[];
  onLeave: () => void;
  onShortcuts: () => void;
  onClose: () => void;
}
export type LoadPalette = () => Promise<FunctionComponent<FinderProps>>;

const loadShortcuts = () => import('./shortcuts.tsx').then(({ Shortcuts }) => Shortcuts);

/** Whether keys are for the focused element, or for an open dialog or menu. */
function isTaken({ target }: KeyboardEvent): boolean {
  const field = 'input, select, textarea, [contenteditable]';
  return (
    (target instanceof Element && target.closest(field) !== null) ||
    document.querySelector('dialog[open], [popover]:popover-open') !== null
  );
}

/** Focuses the search of the page; false if it has none. */
function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]');
  field?.focus();
  field?.select();
  return field !== null;
}

/** `find` opens the palette, which is loaded by then; `dialog` goes somewhere in the frame. */
export function useFinder(
  load: LoadPalette,
  given: Pick<FinderProps, 'places' | 'onLeave'>,
): { find: () => void; dialog: preact.ComponentChildren } {
  const [Shown, setShown] = useState<FunctionComponent<FinderProps>>();
  const open = (read: LoadPalette) => {
    read().then(
      (component) => setShown(() => component),
      () => notifyError('Couldn’t open this: the server is offline or has been updated. Reload.'),
    );
  };
  const find = () => open(load);
  const showShortcuts = () => open(loadShortcuts);

  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { key, altKey, ctrlKey, metaKey, repeat, defaultPrevented } = event;
      if (altKey || repeat || isComposing(event) || defaultPrevented || isTaken(event)) return;
      const isPlain = !ctrlKey && !metaKey;
      if (key.toLowerCase() === 'k' && (isMac ? metaKey && !ctrlKey : ctrlKey && !metaKey)) find();
      else if (isPlain && key === '?') showShortcuts();
      else if (!(isPlain && key === '/' && focusSearch())) return;
      event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
  const dialog = Shown && (
    <Shown {...given} onShortcuts={showShortcuts} onClose={() => setShown(undefined)} />
  );
  return { find, dialog };
}
