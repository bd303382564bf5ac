// The facts about one thing: names and values, two by two.
import type { ComponentChildren } from 'preact';

export function DescriptionList({
  of,
}: {
  of: ReadonlyArray<readonly [string, ComponentChildren]>;
}) {
  return (
    <dl class="description-list">
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
