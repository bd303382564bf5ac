// A field that selects a user of the account, of whom there may be many.
import { type AccountGiven, type AccountResponse, useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { TextField } from '../ui/ui.ts';
import { type Choices, maxChoices, SuggestField } from './suggest_field.tsx';

/** The users to select from. */
type UserFilterQuery = Pick<NonNullable<AccountGiven<'list_users'>['query']>, 'state' | 'flag'>;

/** Users who may connect. */
const proxyUsers: UserFilterQuery = { state: 'active', flag: 'proxy' };

/**
 * Users whose names contain the text, by name; for an empty text the first ones. Unless `enabled`,
 * nothing is read.
 */
function useUsers(search: string, userFilter: UserFilterQuery, enabled = true) {
  const query = { ...userFilter, search: search.trim(), sort: 'name' as const, limit: maxChoices };
  return useReadIn(useScope(), 'list_users', { query }, { enabled });
}

interface SuggestUserProps {
  label: string;
  name?: string;
  userFilter?: UserFilterQuery;
  value: string;
  onInput: (user: string) => void;
  others?: ReadonlyArray<{ value: string; text: string }>;
  required?: boolean;
  hint?: string;
  /** The text for a user, if not the name alone. */
  textOf?: (user: AccountResponse<'list_users'>[number]) => string;
}

export function SuggestUser({
  userFilter = {},
  textOf,
  name = 'user',
  ...field
}: SuggestUserProps) {
  const useChoices = (search: string): Choices => {
    const { data, error } = useUsers(search, userFilter);
    return {
      options: data?.map((user) => ({ value: user.name, text: textOf?.(user) ?? user.name })),
      isWhole: search === '' && data !== undefined && data.length < maxChoices,
      error,
    };
  };
  return <SuggestField {...field} name={name} listName="the users" useChoices={useChoices} />;
}

/** The filter of a list by one user. */
export const UserFilter = (field: Pick<SuggestUserProps, 'value' | 'onInput'>) => (
  <SuggestUser {...field} label="User" others={[{ value: '', text: 'All users' }]} />
);

/**
 * The user who is signed in; for admins who may not connect, the first user who may. `hasNone`: no
 * user may connect. Unless `wanted`, nothing is read.
 */
export function useProxyUser(wanted = true): { user: string; hasNone: boolean } {
  const { flags, user: ownName = '' } = useScope();
  const isOwn = ownName !== '' && (flags.proxy || !flags.admin);
  const { data } = useUsers('', proxyUsers, wanted && flags.admin && !isOwn);
  const user = isOwn ? ownName : (data?.[0]?.name ?? '');
  return { user, hasNone: user === '' && (data !== undefined || !flags.admin) };
}

/** Admins select a user who may connect; other users are themselves. */
export function ProxyUserField({
  user,
  onInput,
}: {
  user: string;
  onInput: (user: string) => void;
}) {
  if (!useScope().flags.admin) return <TextField label="User" name="user" value={user} readOnly />;
  return <SuggestUser label="User" userFilter={proxyUsers} value={user} onInput={onInput} />;
}
