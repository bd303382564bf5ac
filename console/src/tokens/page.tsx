// API tokens: what programs sign requests to the account API with.
import { useAddressStates } from '../address.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { useDialog } from '../forms/form_dialog.tsx';
import { now } from '../now.ts';
import { Since, Until } from '../relative_time.tsx';
import {
  Badge,
  Button,
  Card,
  type Column,
  Copy,
  Empty,
  isOneOf,
  Loaded,
  LongTable,
  optionsIn,
  Page,
  SearchField,
  SelectField,
} from '../ui/ui.ts';
import {
  type ApiToken,
  curlWith,
  NewApiTokenDialog,
  RevokeApiTokenDialog,
  ViewApiTokenDialog,
} from './form.tsx';
import { tokenGroups } from './groups.ts';

export function TokensPage() {
  const scope = useScope();
  const tokens = useReadIn(scope, 'list_tokens', {});
  const [{ search, state }, change] = useAddressStates({ search: '', state: '' });
  const { dialog, open, openLinked } = useDialog({
    create: (close) => <NewApiTokenDialog onClose={close} />,
  });
  const create = (
    <Button kind="primary" icon="plus" onClick={() => openLinked('create')}>
      New API token
    </Button>
  );
  return (
    <Page
      title="API tokens"
      note="Programs manage the account with an API token: servers, authlist, custom DNS, users. It is no key to the proxies; those take proxy access tokens."
      actions={create}
    >
      <Card title="Tokens">
        <Loaded of={tokens} what="the API tokens">
          {(list) =>
            list.length === 0 ? (
              <Empty title="There is no API token." action={create}>
                No program can manage the account now. Make a token for each one that is to.
              </Empty>
            ) : (
              <>
                <div class="filters">
                  <SearchField
                    label="Search"
                    name="search"
                    value={search}
                    onInput={(search) => change({ search })}
                  />
                  <SelectField
                    label="State"
                    name="state"
                    value={state}
                    onInput={(state) => change({ state })}
                    options={states}
                  />
                </div>
                <LongTable
                  caption="API tokens of the account"
                  columns={columns}
                  rows={filtered(list, search, state)}
                  all={list.length}
                  one="token"
                  many="tokens"
                  filter={`${state} ${search}`}
                  keyOf={({ id }) => id}
                  isFaint={hasExpired}
                  actions={(token) => (
                    <span class="actions">
                      {token.viewable && (
                        <Button
                          aria-label={`View ${token.name}`}
                          onClick={() =>
                            open((close) => <ViewApiTokenDialog token={token} onClose={close} />)
                          }
                        >
                          View
                        </Button>
                      )}
                      <Button
                        aria-label={`Revoke ${token.name}`}
                        onClick={() =>
                          open((close) => <RevokeApiTokenDialog token={token} onClose={close} />)
                        }
                      >
                        Revoke
                      </Button>
                    </span>
                  )}
                />
                {list.some(({ viewable }) => !viewable) && (
                  <p class="note">
                    A token without “View” was shown once, when it was made. Who has lost it makes a
                    new one and revokes it.
                  </p>
                )}
              </>
            )
          }
        </Loaded>
      </Card>
      {!scope.isOperator && <Use />}
      {dialog}
    </Page>
  );
}

const states = optionsIn({ '': 'Any state', ...tokenGroups });

function filtered(tokens: readonly ApiToken[], search: string, state: string): ApiToken[] {
  const wanted = search.trim().toLowerCase();
  return tokens.filter(
    (token) =>
      token.name.toLowerCase().includes(wanted) &&
      (!isOneOf(tokenGroups, state) || tokenGroups[state].has(token, now.value)),
  );
}

const hasExpired = (token: ApiToken) => tokenGroups.expired.has(token, now.value);

const columns: Array<Column<ApiToken>> = [
  { heading: 'Name', names: true, cell: ({ name }) => <span class="wrap-anywhere">{name}</span> },
  {
    heading: 'Access',
    cell: ({ read_only }) =>
      read_only ? <Badge tone="neutral">read-only</Badge> : <Badge tone="good">full</Badge>,
  },
  {
    heading: 'Expires',
    cell: (token) =>
      hasExpired(token) ? <Badge tone="bad">expired</Badge> : <Until at={token.expiry} />,
  },
  { heading: 'Created', cell: ({ created_at }) => <Since at={created_at} /> },
  { heading: 'Last used', cell: ({ last_used_at }) => <Since at={last_used_at} /> },
];

function Use() {
  const { origin } = location;
  return (
    <Card
      title="How one is used"
      note={
        <>
          By HTTP Basic, with <code>TOKEN</code> for the token itself.{' '}
          <a href="/docs">Read and try the whole interface</a>.
        </>
      }
    >
      <div class="columns">
        <div class="stack-tight">
          <h3>Current interface</h3>
          <p class="note">The token is the password; the username is empty.</p>
          <Copy text={curlWith('TOKEN')} what="the line for the current interface" />
        </div>
        <div class="stack-tight">
          <h3>Earlier interface</h3>
          <p class="note">The token is the username; the password is empty.</p>
          <Copy
            text={`curl -u TOKEN: ${origin}/v0/contract`}
            what="the line for the earlier interface"
          />
        </div>
        <div class="stack-tight">
          <h3>Command line</h3>
          <p class="note">
            <code>exw</code> asks for the token once, and keeps it.
          </p>
          <Copy text={`exw login --url ${origin}`} what="the exw line" />
        </div>
      </div>
    </Card>
  );
}
