// Short messages on what was done, with an undo if possible.
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Button, IconButton } from './button.tsx';
import { focusPage } from './focus.ts';

interface Toast {
  id: number;
  text: string;
  tone: 'done' | 'failed';
  undo?: () => unknown;
  about: readonly string[];
  /** Undefined: until it is dismissed. */
  lastsSeconds: number | undefined;
}

interface MessageOptions {
  /** Undoes it, while the message is shown. */
  undo?: () => unknown;
  /** Seconds for which that is possible; by default without limit. */
  undoSeconds?: number;
  /**
   * Keys of what it is about, such as `list/7`. The message replaces earlier ones about the same,
   * or about a part of it (`list` of `list/7`): what these would undo has changed since.
   */
  about?: readonly string[];
}

/** Enough time to read a message, and to reach its button by keyboard. */
const [readingSeconds, reachingSeconds] = [5, 12];

/** The messages that are shown now, the newest last. */
export const toasts = signal<readonly Toast[]>([]);
let last = 0;

/** Shows what was done. */
export function notify(text: string, { undo, undoSeconds, about = [] }: MessageOptions = {}): void {
  const lastsSeconds = Math.min(reachingSeconds, undoSeconds ?? reachingSeconds);
  // A button that is about to stop working is not shown.
  if (!undo || lastsSeconds < readingSeconds) {
    add({ text, tone: 'done', about, lastsSeconds: readingSeconds });
  } else {
    add({ text, tone: 'done', about, lastsSeconds, undo });
  }
}

/** Shows what failed, until it is dismissed. */
export function notifyError(text: string): void {
  add({ text, tone: 'failed', about: [], lastsSeconds: undefined });
}

function add(toast: Omit<Toast, 'id'>): void {
  last += 1;
  const others = toasts.value.filter((older) => !isReplaced(older.about, toast.about));
  toasts.value = [...others.slice(-2), { ...toast, id: last }];
}

function isReplaced(older: readonly string[], newer: readonly string[]): boolean {
  return newer.some((key) => older.some((old) => old === key || old.startsWith(`${key}/`)));
}

function drop(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

/** The place of the messages; once on a page. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <OneToast key={toast.id} {...toast} />
      ))}
    </div>
  );
}

function OneToast({ id, text, tone, undo, lastsSeconds }: Toast) {
  const shown = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (lastsSeconds === undefined) return;
    const timer = setTimeout(() => drop(id), lastsSeconds * 1000);
    return () => clearTimeout(timer);
  }, [id, lastsSeconds]);
  useEffect(() => {
    const element = shown.current;
    return () => {
      if (element?.contains(document.activeElement)) focusPage();
    };
  }, []);
  return (
    <div ref={shown} class={`toast ${tone}`}>
      <p>{text}</p>
      {undo && (
        <Button
          kind="quiet"
          onClick={() => {
            drop(id);
            void undo();
          }}
        >
          Undo
        </Button>
      )}
      <IconButton icon="close" label="Dismiss" onClick={() => drop(id)} />
    </div>
  );
}
