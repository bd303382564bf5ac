// Steps in their order: each is ticked off when it is done.
import type { ComponentChildren } from 'preact';

export function Steps({ children }: { children: ComponentChildren }) {
  return <ol class="first-steps">{children}</ol>;
}

interface StepProps {
  title: string;
  isDone: boolean;
  note?: ComponentChildren;
  /** The instructions, next to it. */
  children?: ComponentChildren;
}

export function Step({ title, isDone, note, children }: StepProps) {
  return (
    <li class={isDone ? 'done' : undefined}>
      <div>
        <h3>
          <span>
            {title}
            {isDone && <span class="visually-hidden"> (done)</span>}
          </span>
        </h3>
        {note && <p class="note">{note}</p>}
      </div>
      {children}
    </li>
  );
}
