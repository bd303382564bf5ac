// The page that tests a connection through a server of the contract.
import { useEffect, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useAddressState } from '../address.ts';
import { usePages } from '../api/paging.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { useServerChoices } from '../forms/server_choices.ts';
import { ServerField } from '../forms/server_field.tsx';
import { paths } from '../paths.ts';
import { testStateOf } from '../refusals/to_test.ts';
import { reasonWords } from '../refusals/words.ts';
import { Since } from '../relative_time.tsx';
import { Card, Empty, Loaded, Page, Unread } from '../ui/ui.ts';
import { testNote, useConnection } from './test_form.tsx';
import { Tester } from './tester.tsx';
import { useServerToTry } from './to_try.ts';

export function TestPage() {
  const scope = useScope();
  const [selected, select] = useAddressState('server');
  const { refusal, isRead, reading: refusals } = useLastRefusal();
  const { toTry, reading } = useServerToTry('proxy', { enabled: selected === '' && isRead });
  const name = selected || toTry?.server.server || '';
  const path = { server: name };
  const server = useReadIn(scope, 'get_server', { path }, { enabled: name !== '' });
  return (
    <Page note={testNote}>
      <Card
        title="Connection"
        note={
          refusal && (
            <>
              Filled in from your last refused connection, <Since at={refusal.at} />:{' '}
              {reasonWords(refusal.reason)}.
            </>
          )
        }
      >
        {selected === '' && toTry === null ? (
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
              <ServerField value={name} onInput={select} useChoices={useServerChoices} />
            </div>
            <Loaded
              reading={name === '' ? { ...reading, data: undefined } : server}
              name="the server"
            >
              {(ofContract) => <Tester key={ofContract.server} server={ofContract} />}
            </Loaded>
            <Unread reading={refusals} name="your last refused connection" />
          </>
        )}
      </Card>
    </Page>
  );
}

/**
 * The last refused connection from the viewer's own address. It fills in the test, unless the
 * address of the page describes another connection.
 */
function useLastRefusal() {
  const scope = useScope();
  const [server, setServer] = useAddressState('server');
  const [, change] = useConnection();
  const [isBlank] = useState(server === '');
  const { rows } = usePages('console_list_refusals', {
    ...{ query: { own_address: 'true' }, limit: 5, base: scope.base, enabled: isBlank },
  });
  const refusal = rows.data?.find((row) => testStateOf(row, false) !== undefined);
  const [filled, setFilled] = useState<typeof refusal>();
  useEffect(() => {
    if (!isBlank || !refusal || filled || server !== '') return;
    const { server: refusing = '', ...connection } = testStateOf(refusal, false) ?? {};
    change(connection);
    setServer(refusing);
    setFilled(refusal);
  }, [isBlank, refusal, filled, server]);
  const isRead =
    !isBlank || filled !== undefined || rows.error != null || (rows.data && !refusal) === true;
  return { refusal: filled?.server === server ? filled : undefined, isRead, reading: rows };
}
