// Connected now, in the whole network.
import { operatorScope, ScopeContext } from '../api/scope.ts';
import { type ConnectionFieldsProps, Connections, ServerFilter } from '../connections/page.tsx';
import { UserFilter } from '../forms/suggest_user.tsx';
import { useServerChoices } from './server_choices.ts';
import { SuggestAccount } from './suggest_account.tsx';
import { SuggestNode } from './suggest_node.tsx';

export const NetworkConnectedPage = () => <Connections Fields={Fields} />;

function Fields({ filters, change }: ConnectionFieldsProps) {
  const { account, user, node } = filters;
  return (
    <>
      <SuggestAccount value={account} onInput={(account) => change({ account, user: '' })} />
      {account !== '' && (
        <ScopeContext.Provider value={operatorScope(account)}>
          <UserFilter value={user} onInput={(user) => change({ user })} />
        </ScopeContext.Provider>
      )}
      <ServerFilter {...{ filters, change }} useChoices={useServerChoices} />
      <SuggestNode value={node} onInput={(node) => change({ node })} />
    </>
  );
}
