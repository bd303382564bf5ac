// Sets the focus when a new step appears: on its first field, or on its text.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** Moves the focus once, when it appears. Give it a `key` for each step. */
export function StartingFocus({ children }: { children: ComponentChildren }) {
  const step = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const fields = step.current?.querySelectorAll<HTMLInputElement>(
      'input:not([hidden]), select, textarea',
    );
    const empty = [...(fields ?? [])].find((field) => field.value === '');
    (empty ?? step.current)?.focus({ preventScroll: true });
  }, []);
  return (
    <div class="stack starting-focus" ref={step} tabIndex={-1}>
      {children}
    </div>
  );
}
