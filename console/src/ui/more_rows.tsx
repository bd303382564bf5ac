// The end of a list that comes in pages: how much of it is there, and a button for more.
import { Button } from './button.tsx';

interface MoreRowsProps {
  of: {
    rows: { data: readonly unknown[] | undefined };
    hasMore: boolean;
    isReading: boolean;
    readMore: () => void;
  };
  /** The things that are counted: "accounts". */
  many: string;
  verb?: string;
}

export function MoreRows({ of, many, verb = 'Read more' }: MoreRowsProps) {
  const { rows, hasMore, isReading, readMore } = of;
  if (!hasMore) return null;
  return (
    <div class="row">
      <p class="note" role="status">
        {`${(rows.data?.length ?? 0).toLocaleString('en')} ${many} are read, and there are more.`}
      </p>
      <Button busy={isReading} onClick={readMore}>
        {verb}
      </Button>
    </div>
  );
}
