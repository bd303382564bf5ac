// Columns that several tables share, and the contents of their cells.
import { Since } from '../relative_time.tsx';
import '../style/lists.css';
import type { Column } from '../ui/ui.ts';

/** A name or an address that a one-line row may cut; the tooltip shows it in full. */
export function CutText({ of, look = 'hostname' }: { of: string; look?: string }) {
  return (
    <span class={look} title={of}>
      {of}
    </span>
  );
}

export const createdColumn: Column<{ created_at: number }> = {
  heading: 'Created',
  sort: 'created_at',
  cell: ({ created_at }) => <Since at={created_at} />,
};

export const lastUsedColumn: Column<{ last_used_at: number | null }> = {
  heading: 'Last used',
  sort: 'last_used_at',
  cell: ({ last_used_at }) => <Since at={last_used_at} />,
};
