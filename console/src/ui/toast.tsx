// Short messages of what was done, with a way back where there is one.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Button, IconButton } from './button.tsx';

interface Toast {
  id: number;
  text: string;
  tone: 'done' | 'failed';
  undo?: () => void;
}

const toasts = signal<Toast[]>([]);
let last = 0;

/** Says what was done. `undo` takes it back, for as long as the message stands. */
export function say(text: string, { undo }: { undo?: () => void } = {}): void {
  add({ text, tone: 'done', ...(undo ? { undo } : {}) });
}

/** Says what did not work. */
export function complain(text: string): void {
  add({ text, tone: 'failed' });
}

function add(toast: Omit<Toast, 'id'>): void {
  last += 1;
  toasts.value = [...toasts.value.slice(-2), { ...toast, id: last }];
}

function drop(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

/** Where the messages appear; once on a page. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <OneToast key={toast.id} {...toast} />
      ))}
    </div>
  );
}

function OneToast({ id, text, tone, undo }: Toast) {
  useEffect(() => {
    // Time enough to reach the button by keyboard; failures stay until they are read.
    if (tone === 'failed') return;
    const timer = setTimeout(() => drop(id), undo ? 12_000 : 5_000);
    return () => clearTimeout(timer);
  }, [id, tone, undo]);
  return (
    <div class={`toast ${tone}`}>
      <p>{text}</p>
      {undo && (
        <Button
          kind="quiet"
          onClick={() => {
            drop(id);
            undo();
          }}
        >
          Undo
        </Button>
      )}
      <IconButton icon="close" label="Dismiss" onClick={() => drop(id)} />
    </div>
  );
}
