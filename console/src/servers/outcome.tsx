// The decision of a node on a connection, in words, with what would change it.
import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import { Badge } from '../ui/ui.ts';
import { type Decision, readDecision } from './decision.ts';

/** `remedy`: in place of the usual link. */
export function Outcome({ decision, remedy }: { decision: Decision; remedy?: ComponentChildren }) {
  const { tone, title, sentences, remedy: page } = readDecision(decision);
  return (
    <div class="stack-tight">
      <p>
        <Badge tone={tone}>{title}</Badge>
      </p>
      <p>
        {sentences.join(' ')} {!remedy && page && <Link href={page.path}>{page.text}</Link>}
      </p>
      {remedy}
    </div>
  );
}
