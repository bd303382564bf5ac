// A part of a page: a box with a heading, and a text for when it is empty.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface CardProps {
  title?: string;
  /** Small print below the heading. */
  note?: ComponentChildren;
  actions?: ComponentChildren;
  children?: ComponentChildren;
}

export function Card({ title, note, actions, children }: CardProps) {
  const id = useId();
  return (
    <section class="card" aria-labelledby={title ? id : undefined}>
      {(title || actions) && (
        <header class="card-head">
          <div>
            {title && <h2 id={id}>{title}</h2>}
            {note && <p class="note">{note}</p>}
          </div>
          {actions && <div class="actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** An empty list says what it would hold, and what to do next. */
export function Empty({
  title,
  children,
  action,
}: {
  title: string;
  children?: ComponentChildren;
  action?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <p>{children}</p>}
      {action && <div class="actions">{action}</div>}
    </div>
  );
}

/** One figure with its name. */
export function Stat({
  name,
  children,
  note,
}: {
  name: string;
  children: ComponentChildren;
  note?: ComponentChildren;
}) {
  return (
    <div class="stat">
      <dt>{name}</dt>
      <dd>{children}</dd>
      {note && <dd class="note">{note}</dd>}
    </div>
  );
}

/** A name and its value. */
export type Fact = [string, ComponentChildren];

/** The facts about one thing: names and values in pairs. */
export function DescriptionList({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl class="description-list">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
