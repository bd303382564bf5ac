// Steps to the first page through a proxy, ticked off when done, with commands for a server.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { change, useRead } from '../../api/reading.ts';
import { type Session, session } from '../../api/session.ts';
import { keysOf } from '../../authlist/form.tsx';
import { explainListed, isTaken } from '../../authlist/listed_elsewhere.ts';
import { dateTime } from '../../format.ts';
import { undoBy } from '../../forms/undo.ts';
import { now } from '../../now.ts';
import { addressOf, paths } from '../../paths.ts';
import { curlThrough } from '../../servers/curl.ts';
import type { ToTry } from '../../servers/to_try.ts';
import {
  Button,
  Card,
  Copy,
  keepFocus,
  notify,
  notifyError,
  Step,
  Steps,
  Unread,
} from '../../ui/ui.ts';
import type { Overview } from './use_overview.ts';

const example = 'https://www.example.com/';
const lifetimeSeconds = 8 * 3600;

const unservedSentence = 'No server of the contract has a node online right now.';

interface ConnectCardProps {
  /** How many servers are on the contract. */
  servers: number;
  toTry: Overview['toTry'];
  /** How many addresses are listed. */
  listed: number;
  /** Whether traffic has passed. */
  isConnected: boolean;
}

export function ConnectCard({ servers, toTry: place, listed, isConnected }: ConnectCardProps) {
  const { user } = session.value as Session;
  const credentials = { user: user.flags.proxy ? user.name : 'USER', token: 'TOKEN' };
  return (
    <Card
      title="Connect for the first time"
      note={
        isConnected ? (
          'All done: traffic is flowing.'
        ) : !place ? (
          'Each step is checked off automatically.'
        ) : place.isLive ? (
          <>
            The commands go through <strong>{place.server.server}</strong>; any of your servers will
            do.
          </>
        ) : (
          `${unservedSentence} The commands work once one is online.`
        )
      }
    >
      <Steps>
        <Step
          title="Add a server to the contract"
          isDone={servers > 0}
          note={servers === 0 && 'There is none yet. An admin can add one from the network.'}
        >
          {servers === 0 && user.flags.admin && (
            <div class="actions">
              <Link class="button primary" href={addressOf(paths.servers, { view: 'others' })}>
                See the servers of the network
              </Link>
            </div>
          )}
        </Step>
        <OwnAddress isAnyListed={listed > 0} />
        {place && (
          <Step
            title="Fetch a page through the proxy"
            isDone={isConnected}
            note={`The page sees the exit IP ${place.exit}.`}
          >
            <Copy text={curlThrough(through(place), example)} name="the command" />
          </Step>
        )}
      </Steps>
      {place && (
        <div class="stack-tight">
          <p class="note">
            From anywhere else, use a proxy access token as the password. Create one under{' '}
            <Link href={paths.users}>Users and tokens</Link>.
          </p>
          <Copy
            text={curlThrough({ ...through(place), credentials }, example)}
            name="the command with a token"
          />
        </div>
      )}
    </Card>
  );
}

const through = ({ server, port, service }: ToTry) => ({ host: server.hostname, port, service });

/** The short way to a command that works: the page of an online server. */
export function ConnectHint({ place }: { place: ToTry | null }) {
  return (
    <Card
      title="Connect"
      note={
        place?.isLive ? (
          <>
            The page of the server <strong>{place.server.server}</strong> has settings to copy, for
            curl, browsers and scripts.
          </>
        ) : (
          unservedSentence
        )
      }
      actions={
        <Link
          class="button"
          href={place?.isLive ? paths.server(place.server.server) : paths.servers}
        >
          {place?.isLive ? `Settings for ${place.server.server}` : 'Servers'}
        </Link>
      }
    />
  );
}

/**
 * The first step: lists the address of this browser with one press, for users who may use proxies.
 */
function OwnAddress({ isAnyListed }: { isAnyListed: boolean }) {
  const { user, writable } = session.value as Session;
  const address = useRead('console_get_address', {});
  const { ip, entry } = address.data ?? {};
  const [busy, setBusy] = useState(false);
  const listed = entry?.user_active ? entry : undefined;
  const canList = user.flags.proxy && writable && !listed;
  const list = async (button: HTMLElement) => {
    if (busy) return;
    setBusy(true);
    // The button goes away when the address is listed.
    keepFocus(button);
    try {
      const body = { user: user.name, expiry: now.value + lifetimeSeconds };
      const entry = await change('console_create_authlist_entry', { body });
      const { ip, id } = entry;
      const back = async () => {
        await change('console_remove_authlist_entry', { path: { id } });
        return `${ip} was removed from the authlist again.`;
      };
      const undo = undoBy(back, { about: keysOf(entry), until: entry.expiry });
      notify(`${ip} is allowed for 8 hours.`, undo);
    } catch (error) {
      // This request verifies the address: only one that is verified elsewhere is refused.
      const isElsewhere = user.flags.admin && !entry && isTaken(error);
      const sentence = isElsewhere
        ? 'Another account has verified this address. Use a proxy access token.'
        : explainListed(error, Boolean(entry), { isOperator: false, flags: user.flags }).sentence;
      notifyError(sentence);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Step
      title="Allow your address"
      isDone={isAnyListed}
      note={
        listed ? (
          `Your address ${listed.ip} is on the authlist for ${listed.user}, until ${dateTime(listed.expiry)}.`
        ) : canList ? (
          `Connections from ${ip ?? 'your address'} then need no password and count as ${user.name}.`
        ) : (
          <>
            {ip && `The address of this browser is ${ip}. `}
            Add the address and its user to the <Link href={paths.authlist}>IP authlist</Link>.
          </>
        )
      }
    >
      <Unread reading={address} name="your address" />
      {canList && (
        <div class="actions">
          <Button busy={busy} onClick={(event) => void list(event.currentTarget)}>
            {ip ? `Allow ${ip} for 8 hours` : 'Allow my address for 8 hours'}
          </Button>
        </div>
      )}
    </Step>
  );
}
