// A field that chooses one of the users of the account, of whom there may be many.
import { type AccountGiven, type AccountResponse, useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { TextField } from '../ui/ui.ts';
import { type Choices, mostChoices, SuggestField } from './suggest_field.tsx';

/** Which users can be chosen. */
type Which = Pick<NonNullable<AccountGiven<'list_users'>['query']>, 'state' | 'flag'>;

/** Those who may connect. */
const proxyUsers: Which = { state: 'active', flag: 'proxy' };

/** Users whose names hold the text, by name; for an empty text the first ones. Unless `enabled`, nothing is read. */
function useUsers(search: string, which: Which, enabled = true) {
  const query = { ...which, search: search.trim(), sort: 'name' as const, limit: mostChoices };
  return useReadIn(useScope(), 'list_users', { query }, { enabled });
}

interface SuggestUserProps {
  label: string;
  name?: string;
  which?: Which;
  value: string;
  onInput: (user: string) => void;
  others?: ReadonlyArray<{ value: string; text: string }>;
  required?: boolean;
  hint?: string;
  /** How a user is told among the others, if not by name alone. */
  textOf?: (user: AccountResponse<'list_users'>[number]) => string;
}

export function SuggestUser({ which = {}, textOf, name = 'user', ...field }: SuggestUserProps) {
  const useChoices = (search: string): Choices => {
    const { data, error } = useUsers(search, which);
    return {
      options: data?.map((user) => ({ value: user.name, text: textOf?.(user) ?? user.name })),
      isWhole: search === '' && data !== undefined && data.length < mostChoices,
      error,
    };
  };
  return <SuggestField {...field} name={name} what="the users" useChoices={useChoices} />;
}

/** The user who is signed in; for admins who may not connect the first user who may. `hasNone`: nobody may. Unless `wanted`, nothing is read. */
export function useProxyUser(wanted = true): { user: string; hasNone: boolean } {
  const { flags, user: own = '' } = useScope();
  const isOwn = own !== '' && (flags.proxy || !flags.admin);
  const { data } = useUsers('', proxyUsers, wanted && flags.admin && !isOwn);
  const user = isOwn ? own : (data?.[0]?.name ?? '');
  return { user, hasNone: user === '' && (data !== undefined || !flags.admin) };
}

/** Admins choose among those who may connect, other people are themselves. */
export function ProxyUserField({
  user,
  onInput,
}: {
  user: string;
  onInput: (user: string) => void;
}) {
  if (!useScope().flags.admin) return <TextField label="User" name="user" value={user} readOnly />;
  return <SuggestUser label="User" which={proxyUsers} value={user} onInput={onInput} />;
}
