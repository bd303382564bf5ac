// Refused connections in the whole network.
import { useAddressStates } from '../address.ts';
import { operatorScope, ScopeContext } from '../api/scope.ts';
import { UserFilter } from '../forms/suggest_user.tsx';
import { RefusalList } from '../refusals/list.tsx';
import { Page } from '../ui/ui.ts';
import { useServerChoices } from './server_choices.ts';
import { SuggestAccount } from './suggest_account.tsx';
import { SuggestNode } from './suggest_node.tsx';

export function RefusalsPage() {
  const [{ account, user, node }, change] = useAddressStates({ account: '', user: '', node: '' });
  return (
    <Page note="Connections that nodes refused lately, by the minute. Destinations aren’t stored.">
      <RefusalList
        useServers={useServerChoices}
        rareFields={
          <>
            {account !== '' && (
              <ScopeContext.Provider value={operatorScope(account)}>
                <UserFilter value={user} onInput={(user) => change({ user })} />
              </ScopeContext.Provider>
            )}
            <SuggestNode value={node} onInput={(node) => change({ node })} />
          </>
        }
      >
        <SuggestAccount value={account} onInput={(account) => change({ account, user: '' })} />
      </RefusalList>
    </Page>
  );
}
