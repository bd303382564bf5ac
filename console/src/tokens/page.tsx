// API tokens, with which programs sign in to the account API.
import { changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { ExportMenu } from '../forms/export.tsx';
import { FilteredList, useFilteredList } from '../forms/filtered_list.tsx';
import { useDialog } from '../forms/form_dialog.tsx';
import { AddButton, Card, Copy, Empty, Page } from '../ui/ui.ts';
import { curlWith, NewApiTokenDialog } from './form.tsx';
import { RevokeBar } from './revoke.tsx';
import { csvColumns, TokenTable } from './table.tsx';

const sorts = ['id', 'name', 'created_at', 'expiry', 'last_used_at'] as const;
const states = { active: 'Active', expired: 'Expired', unused: 'Never used' };

export function TokensPage() {
  const scope = useScope();
  const { base } = scope;
  const list = useFilteredList('console_list_tokens', {
    ...{ key: 'id', sorts, sort: '-id', states, base },
  });
  const { pages, rows, table, selection, selected } = list;
  const { dialog, open, openLinked } = useDialog({
    create: (close) => <NewApiTokenDialog onClose={close} />,
  });
  const create = <AddButton onClick={() => openLinked('create')}>New API token</AddButton>;
  const revoke = (ids: number[]) => changeIn(scope, 'revoke_tokens', { body: { ids } });
  return (
    <Page
      note="Programs manage the account with an API token: servers, authlist, custom DNS, users. It doesn’t work at the proxies; use a proxy access token there."
      actions={create}
    >
      <FilteredList
        title="Tokens"
        name="the API tokens"
        empty={
          <Empty title="No API tokens" action={create}>
            Programs need one to manage the account. Create a token for each program.
          </Empty>
        }
        placeholder="Name"
        bar={
          <RevokeBar one="API token" many="API tokens" {...{ selected, selection, open, revoke }}>
            Requests with them get 401 at once. This can’t be undone: the programs that use them
            need new tokens.
          </RevokeBar>
        }
        {...{ list }}
      >
        <TokenTable
          {...table}
          open={open}
          buttons={<ExportMenu name="api-tokens" pages={pages} {...csvColumns} />}
        />
        {rows.some(({ viewable }) => !viewable) && (
          <p class="note">
            A token without “View” was shown once, when it was created. If it is lost, create a new
            one and revoke it.
          </p>
        )}
      </FilteredList>
      {!scope.isOperator && <Use />}
      {dialog}
    </Page>
  );
}

function Use() {
  const { origin } = location;
  return (
    <Card
      title="Using a token"
      note={
        <>
          With HTTP Basic authentication. Replace <code>TOKEN</code> with the token.{' '}
          <a href="/docs">API reference</a>.
        </>
      }
    >
      <div class="columns">
        <div class="stack-tight">
          <h3>Current interface</h3>
          <p class="note">The token is the password; the username is empty.</p>
          <Copy text={curlWith('TOKEN')} name="the line for the current interface" />
        </div>
        <div class="stack-tight">
          <h3>Earlier interface</h3>
          <p class="note">The token is the username; the password is empty.</p>
          <Copy
            text={`curl -u TOKEN: ${origin}/v0/contract`}
            name="the line for the earlier interface"
          />
        </div>
        <div class="stack-tight">
          <h3>Command line</h3>
          <p class="note">
            <code>exw</code> asks for the token once and stores it.
          </p>
          <Copy text={`exw login --url ${origin}`} name="the exw line" />
        </div>
      </div>
    </Card>
  );
}
