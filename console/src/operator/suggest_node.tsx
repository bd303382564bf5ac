// A filter by one node, of which there may be many: by its id, shown as its name.
import { usePages } from '../api/paging.ts';
import { useRead } from '../api/reading.ts';
import { type Choices, maxChoices, SuggestField } from '../forms/suggest_field.tsx';

interface SuggestNodeProps {
  /** The node's id, or empty. */
  value: string;
  onInput: (node: string) => void;
}

export function SuggestNode(field: SuggestNodeProps) {
  const path = { id: Number(field.value) };
  const node = useRead('admin_get_node', { path }, { enabled: field.value !== '' });
  const useChoices = (search: string): Choices => {
    const query = { search: search.trim(), sort: 'name' } as const;
    const { rows, found: matchCount } = usePages('admin_list_nodes', { query, limit: maxChoices });
    return {
      options: rows.data?.map(({ id, name }) => ({ value: String(id), text: name })),
      isWhole: rows.data !== undefined && matchCount <= maxChoices && search === '',
      error: rows.error ?? node.error,
    };
  };
  return (
    <SuggestField
      {...field}
      label="Node"
      name="node"
      listName="the nodes"
      valueText={node.data?.name ?? field.value}
      others={[{ value: '', text: 'All nodes' }]}
      useChoices={useChoices}
    />
  );
}
