// The things that need attention, as a list of sentences; or that nothing does.
import { Link } from 'wouter-preact';
import { explain } from '../api/sentences.ts';
import { Badge, Card, Icon } from '../ui/ui.ts';
import type { Item } from './items.ts';

const tones = {
  bad: { tone: 'bad', word: 'Urgent' },
  warn: { tone: 'warn', word: 'Warning' },
  note: { tone: 'neutral', word: 'Note' },
} as const;

interface AttentionCardProps {
  items: readonly Item[];
  isReading: boolean;
  faults: readonly unknown[];
  /** A sentence that takes the place of “All is well” where there is nothing yet that could be. */
  nothingYet?: string | undefined;
}

export function AttentionCard({ items, isReading, faults, nothingYet }: AttentionCardProps) {
  const [fault] = faults;
  return (
    <Card title="What needs attention">
      {faults.length > 0 && (
        <p class="fault banner" role="alert">
          {`Not everything could be looked at. ${explain(fault).sentence}`}
        </p>
      )}
      {items.length > 0 && (
        <ul class="attention">
          {items.map(({ key, tone, sentence, link }) => (
            <li key={key}>
              <Badge tone={tones[tone].tone}>{tones[tone].word}</Badge>
              <p>
                {sentence}{' '}
                {link && (
                  <Link class="attention-link" href={link.path}>
                    {link.text}
                  </Link>
                )}
              </p>
            </li>
          ))}
        </ul>
      )}
      <p class="attention-state" role="status">
        {isReading ? (
          <>
            <span class="spinner" aria-hidden="true" /> Looking around …
          </>
        ) : items.length > 0 || faults.length > 0 ? null : nothingYet ? (
          nothingYet
        ) : (
          <>
            <Icon name="check" /> All is well: nothing needs you.
          </>
        )}
      </p>
    </Card>
  );
}
