// The things that need attention, as a list of sentences, or the sentence that there are none.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { retryReads } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { Badge, Button, Card, Icon } from '../ui/ui.ts';
import type { Item } from './items.ts';

const tones = {
  bad: { tone: 'bad', word: 'Urgent' },
  warn: { tone: 'warn', word: 'Warning' },
  note: { tone: 'neutral', word: 'Note' },
} as const;

/** The most urgent come first; the rest is a click away, so that the page below stays visible. */
const maxShown = 7;

interface AttentionCardProps {
  items: readonly Item[];
  isReading: boolean;
  faults: readonly unknown[];
  /** Replaces “Nothing needs attention” in an empty network or account. */
  nothingYet?: string | undefined;
}

export function AttentionCard({ items, isReading, faults, nothingYet }: AttentionCardProps) {
  const [fault] = faults;
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole || items.length <= maxShown + 1 ? items : items.slice(0, maxShown);
  return (
    <Card title="Needs attention">
      {faults.length > 0 && (
        <div class="fault banner" role="alert">
          <p>{`Some checks failed. ${explain(fault).sentence} What you see may be out of date.`}</p>
          <Button onClick={retryReads}>Try again</Button>
        </div>
      )}
      {items.length > 0 && (
        <ul class="attention">
          {shown.map(({ key, tone, sentence, link }) => (
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
      {shown.length < items.length && (
        <Button onClick={() => setWhole(true)}>Show {items.length - shown.length} more</Button>
      )}
      <p class="attention-state" role="status">
        {isReading ? (
          <>
            <span class="spinner" aria-hidden="true" /> Checking …
          </>
        ) : items.length > 0 || faults.length > 0 ? null : nothingYet ? (
          nothingYet
        ) : (
          <>
            <Icon name="check" /> Nothing needs attention.
          </>
        )}
      </p>
    </Card>
  );
}
