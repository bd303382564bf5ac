// Connected now, in the whole network.
import { operatorScope, ScopeContext } from '../api/scope.ts';
import {
  type ConnectionFieldsProps,
  Connections,
  ServerFilter,
  UserFilter,
} from '../connections/page.tsx';
import { useServerChoices } from './server_choices.ts';
import { SuggestAccount } from './suggest_account.tsx';

export const NetworkConnectedPage = () => <Connections Fields={Fields} />;

function Fields({ filters, change }: ConnectionFieldsProps) {
  const { account } = filters;
  return (
    <>
      <SuggestAccount value={account} onInput={(account) => change({ account, user: '' })} />
      {account !== '' && (
        <ScopeContext.Provider value={operatorScope(account)}>
          <UserFilter {...{ filters, change }} />
        </ScopeContext.Provider>
      )}
      <ServerFilter {...{ filters, change }} useChoices={useServerChoices} />
    </>
  );
}
