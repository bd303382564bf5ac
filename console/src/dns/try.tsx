// The dialog that shows a custom DNS entry at work: a page by the override port and the normal one.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { usePages } from '../api/paging.ts';
import { type AccountResponse, changeIn, useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { explain } from '../api/sentences.ts';
import { dateTime } from '../format.ts';
import { ProxyUserField, useProxyUser } from '../forms/suggest_user.tsx';
import { paths } from '../paths.ts';
import { curlThrough, type Through } from '../servers/curl.ts';
import {
  Button,
  Copy,
  Dialog,
  Empty,
  Loaded,
  optionsIn,
  SelectField,
  TextField,
  Unread,
  useHold,
} from '../ui/ui.ts';
import { type DnsEntry, whyPending } from './entries.ts';
import { type Way, waysThrough } from './ways.ts';

const tokenLifetime_seconds = 3600;

type Token = AccountResponse<'create_proxy_token'>;

export function TryDns({ entry, onClose }: { entry: DnsEntry; onClose: () => void }) {
  const scope = useScope();
  const query = { server: entry.server };
  const servers = usePages('console_list_servers', { query, limit: 1, base: scope.base }).rows;
  // The current entry: it may become active while the dialog is open.
  const present = useReadIn(scope, 'get_override', { path: { id: entry.id } });
  return (
    <Dialog title={`Try ${entry.hostname} on ${entry.server}`} onClose={onClose} look="wide">
      <Unread of={present} what="whether the entry is in force" />
      <Loaded of={servers} what="the server">
        {([server]) => {
          const ways = server ? waysThrough(server) : [];
          return ways.length > 0 ? (
            <Commands entry={present.data ?? entry} ways={ways} />
          ) : (
            <Empty title={`${entry.server} has no proxy port for your account.`} />
          );
        }}
      </Loaded>
    </Dialog>
  );
}

function Commands({ entry, ways }: { entry: DnsEntry; ways: Way[] }) {
  const [at, setAt] = useState('0');
  const [by, setBy] = useState('authlist');
  const [pagePort, setPagePort] = useState('');
  const [token, setToken] = useState<Token>();
  const way = ways[Number(at)] ?? (ways[0] as Way);
  const { host, service } = way;
  const why = whyPending(entry);
  const credentials =
    by === 'token' ? { user: token?.user ?? 'USER', token: token?.token ?? 'TOKEN' } : undefined;
  const through = (port: number): Through => ({
    host,
    port,
    service,
    ...(credentials ? { credentials } : {}),
  });
  const place = `${entry.hostname}${/^\d+$/.test(pagePort) ? `:${pagePort}` : ''}/`;
  const commands = (port: number, name: string) => (
    <div class="stack-tight">
      {['https', 'http'].map((scheme) => (
        <Copy
          key={scheme}
          text={curlThrough(through(port), `${scheme}://${place}`)}
          what={`the ${scheme} command for ${name}`}
        />
      ))}
    </div>
  );
  return (
    <div class="stack">
      {entry.status !== 'active' && (
        <p class="banner" role="status">
          <strong>This entry isn’t active{why ? `: ${why}` : ' yet'}.</strong> Until it is, the
          commands for the override port don’t reach {entry.ip}.
        </p>
      )}
      <div class="fields">
        <SelectField
          label="Exit"
          name="exit"
          value={at}
          onInput={setAt}
          options={ways.map(({ text }, index) => ({ value: String(index), text }))}
        />
        <SelectField
          label="Sign in with"
          name="by"
          value={by}
          onInput={setBy}
          options={optionsIn({ authlist: 'the IP authlist', token: 'a proxy access token' })}
        />
        <TextField
          label="Port"
          name="page_port"
          inputMode="numeric"
          placeholder="default"
          value={pagePort}
          onInput={(event) => setPagePort(event.currentTarget.value.trim())}
        />
      </div>
      {by === 'token' ? (
        <TokenMaker token={token} onToken={setToken} />
      ) : (
        <p class="note">
          The commands work from an address on the <Link href={paths.authlist}>IP authlist</Link>.
        </p>
      )}
      <section class="stack-tight">
        <h3>{`Override port ${way.override_port}: ${entry.hostname} is ${entry.ip}`}</h3>
        {commands(way.override_port, 'the override port')}
      </section>
      <section class="stack-tight">
        <h3>{`Normal port ${way.port}: what everyone else sees, for comparison`}</h3>
        {commands(way.port, 'the normal port')}
      </section>
      <p class="note">
        If the page at {entry.ip} has no valid certificate for {entry.hostname}, add <code>-k</code>{' '}
        to the https command.
      </p>
    </div>
  );
}

interface TokenMakerProps {
  token: Token | undefined;
  onToken: (token: Token) => void;
}

/** Makes a token, and puts it into the commands. */
function TokenMaker({ token, onToken }: TokenMakerProps) {
  const scope = useScope();
  const { readOnlyReason } = scope;
  const { user: usual, hasNone } = useProxyUser();
  const [chosen, setChosen] = useState('');
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState('');
  useHold(busy);
  const user = chosen || usual;
  const make = async () => {
    if (busy) return;
    setBusy(true);
    setFault('');
    try {
      const body = { user, lifetime_seconds: tokenLifetime_seconds };
      onToken(await changeIn(scope, 'create_proxy_token', { body }));
    } catch (error) {
      setFault(explain(error).sentence);
    } finally {
      setBusy(false);
    }
  };
  if (hasNone) {
    return <p class="note">Your account has no active user with the proxy permission.</p>;
  }
  return (
    <div class="stack-tight">
      <div class="filters">
        <ProxyUserField user={user} onInput={setChosen} />
        {user && (
          <Button busy={busy} disabledReason={readOnlyReason} onClick={() => void make()}>
            Create a token for 1 hour
          </Button>
        )}
      </div>
      <p class={fault ? 'fault' : 'note'} role="status">
        {fault ||
          (token
            ? `The commands contain a token for ${token.user} that works until ${dateTime(token.expiry)}. Anyone who has it can use the proxy.`
            : 'Replace USER and TOKEN with your own, or create a token.')}
      </p>
    </div>
  );
}
