// Columns that several tables share, and the contents of their cells.
import { Since } from '../relative_time.tsx';
import '../style/lists.css';
import type { Column } from '../ui/ui.ts';

/** A text that a one-line row may cut; the tooltip shows it in full. */
export function CutText({ text, look }: { text: string; look?: string }) {
  return text === '' ? (
    <Nothing />
  ) : (
    <span class={look} title={text}>
      {text}
    </span>
  );
}

/** An empty cell; on a phone there is no cell. */
export const Nothing = ({ text = '–' }) => <span class="note nothing">{text}</span>;

export const createdColumn: Column<{ created_at: number }> = {
  heading: 'Created',
  sort: 'created_at',
  word: 'created',
  rank: 2,
  cell: ({ created_at }) => <Since at={created_at} />,
};

export const lastUsedColumn: Column<{ last_used_at: number | null }> = {
  heading: 'Last used',
  sort: 'last_used_at',
  word: 'used',
  rank: 1,
  cell: ({ last_used_at }) => <Since at={last_used_at} />,
};
