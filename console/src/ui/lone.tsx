// The one card of those who are not signed in.
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

interface LoneProps {
  title: string;
  children: ComponentChildren;
  foot?: ComponentChildren;
}

export function Lone({ title, children, foot }: LoneProps) {
  useEffect(() => {
    document.title = `${title} · Exitward`;
  }, [title]);
  return (
    <main class="lone" id="main">
      <span class="brand">
        <img src="/icon.svg" alt="" /> Exitward
      </span>
      <section class="card">
        <h1>{title}</h1>
        {children}
      </section>
      {foot && <div class="lone-foot">{foot}</div>}
    </main>
  );
}
