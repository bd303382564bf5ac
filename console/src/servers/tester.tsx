// The tester of account holders: a node of the server decides as for a real connection, and sends a
// request through the exit; a command does the same from anywhere.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { usePages } from '../api/paging.ts';
import { changeIn, useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { AuthlistForm } from '../authlist/form.tsx';
import { SuggestUser } from '../forms/suggest_user.tsx';
import { addressOf, paths } from '../paths.ts';
import { Button, Copy, SelectField, TextField, Unread } from '../ui/ui.ts';
import { curlThrough } from './curl.ts';
import { type Decision, requestFor } from './decision.ts';
import { Outcome } from './outcome.tsx';
import { type OwnServer, unserved } from './rows.ts';
import { tokenPlace } from './settings.ts';
import { TestForm, useConnection } from './test_form.tsx';
import { type TestPort, testPorts } from './test_ports.ts';

export function Tester({ server }: { server: OwnServer }) {
  const scope = useScope();
  const address = useReadIn(scope, 'get_address', {});
  const ownAddress = address.data?.ip;
  const [{ to, dns, from }, change] = useConnection();
  const ports = testPorts(server);
  const port =
    ports.find((candidate) => String(candidate.port) === to) ??
    ports.find(({ plain }) => dns === '' || plain !== undefined);
  if (!port)
    return <p class="note">{server.server} offers no proxy on the ports of your contract.</p>;
  const missing = unserved(server.nodes);
  const path = { server: server.server };
  const { readOnlyReason } = scope;
  return (
    <>
      <TestForm
        lead={
          <SelectField
            label="Port"
            name="port"
            value={String(port.port)}
            onInput={(to) => change({ to })}
            options={ports.map(({ port, text }) => ({ value: String(port), text }))}
          />
        }
        from={{
          ...(ownAddress && { placeholder: ownAddress }),
          hint: `Leave empty for your own address${ownAddress ? `, ${ownAddress}` : ''}.`,
        }}
        asUser={<AsUser />}
        disabledReason={missing && `No node is online for ${server.server}, so the test can’t run.`}
        ask={(connection) =>
          changeIn(scope, 'explain_connection', {
            ...{ path, body: { ...connection, check_exit: true } },
          })
        }
        shown={(decision) => (
          <OwnOutcome {...{ decision, readOnlyReason }} ip={from.trim() || ownAddress} />
        )}
      />
      <Unread reading={address} name="your address" />
      <Commands server={server} port={port} />
    </>
  );
}

interface OwnOutcomeProps {
  decision: Decision;
  /** The address of the connection, if it is known. */
  ip: string | undefined;
  readOnlyReason: string | undefined;
}

/** A refused address can be added to the authlist with one press. */
function OwnOutcome({ decision, ip, readOnlyReason }: OwnOutcomeProps) {
  const { base } = useScope();
  const [isAdding, setAdding] = useState(false);
  const canAdd = decision.reason === 'unknown_address' && ip !== undefined;
  const { rows } = usePages('console_list_authlist', {
    ...{ query: { search: ip ?? '' }, base, enabled: canAdd },
  });
  // It may have been added since.
  const entry = rows.data?.find((listed) => listed.ip === ip);
  return (
    <>
      <Outcome
        decision={decision}
        remedy={
          canAdd &&
          (entry ? (
            <p class="note">
              {ip} is now listed for{' '}
              <Link href={addressOf(paths.authlist, { search: ip })}>{entry.user}</Link>. Test it
              again.
            </p>
          ) : (
            <div class="actions">
              <Button icon="plus" disabledReason={readOnlyReason} onClick={() => setAdding(true)}>
                Add {ip}
              </Button>
            </div>
          ))
        }
      />
      {canAdd && <Unread reading={rows} name="the authlist" />}
      {isAdding && <AuthlistForm ip={ip ?? ''} onClose={() => setAdding(false)} />}
    </>
  );
}

function AsUser() {
  const { flags, user: ownName = '' } = useScope();
  const [{ user }, change] = useConnection();
  return (
    <>
      {flags.admin ? (
        <SuggestUser
          label="User"
          value={user || ownName}
          onInput={(user) => change({ user })}
          required
        />
      ) : (
        <TextField label="User" name="user" value={ownName} readOnly />
      )}
      <TextField
        label="Token (optional)"
        name="token"
        type="password"
        autocomplete="off"
        hint="Leave empty to test with a valid token of the user. Never stored."
      />
    </>
  );
}

/** The same connection from a shell; with custom DNS also without, to compare. */
function Commands({
  server,
  port: { port, service, plain },
}: {
  server: OwnServer;
  port: TestPort;
}) {
  const { user: ownName } = useScope();
  const [{ page, by, user }] = useConnection();
  if (!requestFor(page)) return null;
  const line = (port: number) => {
    const credentials = { user: user || ownName || 'USER', token: tokenPlace };
    const through = { host: server.hostname, port, service };
    return curlThrough(by === 'token' ? { ...through, credentials } : through, page);
  };
  return (
    <section class="stack-tight">
      <h3>From a shell</h3>
      <Copy text={line(port)} name="the command" />
      {plain !== undefined && (
        <>
          <p class="note">
            Without custom DNS, as everyone else sees the page. If the page at your address has no
            valid certificate for the hostname, add <code>-k</code> to the first command.
          </p>
          <Copy text={line(plain)} name="the command without custom DNS" />
        </>
      )}
    </section>
  );
}
