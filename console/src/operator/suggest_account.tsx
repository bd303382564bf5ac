// A filter by one account, of which there may be many.
import { useRead } from '../api/reading.ts';
import { type Choices, maxChoices, SuggestField } from '../forms/suggest_field.tsx';

interface SuggestAccountProps {
  value: string;
  onInput: (account: string) => void;
}

export function SuggestAccount(field: SuggestAccountProps) {
  const useChoices = (search: string): Choices => {
    const query = { search: search.trim(), sort: 'name' as const, limit: maxChoices };
    const { data, error } = useRead('admin_list_accounts', { query });
    return {
      options: data?.map(({ name }) => ({ value: name, text: name })),
      isWhole: search === '' && data !== undefined && data.length < maxChoices,
      error,
    };
  };
  return (
    <SuggestField
      {...field}
      label="Account"
      name="account"
      listName="the accounts"
      others={[{ value: '', text: 'All accounts' }]}
      useChoices={useChoices}
    />
  );
}
