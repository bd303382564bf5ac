// The page that tests a connection through a server of the contract.
import { Link } from 'wouter-preact';
import { useAddressState } from '../address.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { useServerChoices } from '../forms/server_choices.ts';
import { SuggestField } from '../forms/suggest_field.tsx';
import { paths } from '../paths.ts';
import { Card, Empty, Loaded, Page } from '../ui/ui.ts';
import { testNote } from './test_form.tsx';
import { Tester } from './tester.tsx';
import { useServerToTry } from './to_try.ts';

export function TestPage() {
  const scope = useScope();
  const [chosen, choose] = useAddressState('server');
  const { toTry, reading } = useServerToTry('proxy', { enabled: chosen === '' });
  const name = chosen || toTry?.server.server || '';
  const path = { server: name };
  const server = useReadIn(scope, 'get_server', { path }, { enabled: name !== '' });
  return (
    <Page note={testNote}>
      <Card title="Connection">
        {chosen === '' && toTry === null ? (
          <Empty
            title="No server to test"
            action={
              <Link class="button" href={paths.servers}>
                Servers
              </Link>
            }
          >
            A test needs a server on the contract that offers a proxy.
          </Empty>
        ) : (
          <>
            <div class="fields">
              <SuggestField
                label="Server"
                name="server"
                what="the servers"
                value={name}
                onInput={choose}
                useChoices={useServerChoices}
              />
            </div>
            <Loaded of={name === '' ? { ...reading, data: undefined } : server} what="the server">
              {(ofContract) => <Tester key={ofContract.server} server={ofContract} />}
            </Loaded>
          </>
        )}
      </Card>
    </Page>
  );
}
