// The single card of a page without a sign-in.
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

interface SingleCardProps {
  title: string;
  children: ComponentChildren;
  foot?: ComponentChildren;
}

export function Brand() {
  return (
    <span class="brand">
      <img src="/icon.svg" alt="" /> Exitward
    </span>
  );
}

export function SingleCard({ title, children, foot }: SingleCardProps) {
  useEffect(() => {
    document.title = `${title} · Exitward`;
  }, [title]);
  return (
    <main class="single-card" id="main">
      <Brand />
      <section class="card">
        <h1>{title}</h1>
        {children}
      </section>
      {foot && <div class="note single-card-foot">{foot}</div>}
    </main>
  );
}
