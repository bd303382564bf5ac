// The API tokens of an account.
import { useState } from 'preact/hooks';
import type { Answer } from '../../api/api.ts';
import { change, useRead } from '../../api/reading.ts';
import { explain } from '../../api/sentences.ts';
import { FormDialog, useDialog } from '../../forms/form_dialog.tsx';
import { lifetimeOptions, lifetimes } from '../../forms/lifetimes.ts';
import { now } from '../../now.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { Card, Empty } from '../../ui/card.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { CheckField, SelectField, TextField } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { ShownOnce } from '../../ui/shown_once.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Happened, Moment } from '../moment.tsx';
import type { Account } from '../states.ts';

type Token = Answer<'admin_list_account_tokens'>[number];

export function TokensPart({ account: { name: account } }: { account: Account }) {
  const tokens = useRead('admin_list_account_tokens', { path: { account } });
  const { dialog, open } = useDialog();
  const create = (
    <Button
      kind="primary"
      icon="plus"
      onClick={() => open((close) => <NewToken account={account} onClose={close} />)}
    >
      Create a token
    </Button>
  );
  return (
    <Card title="API tokens" note="What the account’s programs use at /v0." actions={create}>
      <Loaded of={tokens} what="the API tokens" explain={explain}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="The account has no API token.">Its programs cannot reach the API.</Empty>
          ) : (
            <Table
              caption={`API tokens of ${account}`}
              columns={columns}
              rows={all}
              keyOf={({ id }) => id}
              isFaint={({ expiry }) => expiry !== null && expiry <= now.value}
              actions={(token) => (
                <>
                  {token.viewable && (
                    <Button
                      kind="quiet"
                      onClick={() =>
                        open((close) => <ViewToken account={account} of={token} onClose={close} />)
                      }
                    >
                      View<span class="visually-hidden"> {token.name}</span>
                    </Button>
                  )}
                  <IconButton
                    icon="remove"
                    label={`Revoke ${token.name}`}
                    onClick={() =>
                      open((close) => <RevokeToken account={account} of={token} onClose={close} />)
                    }
                  />
                </>
              )}
            />
          )
        }
      </Loaded>
      {dialog}
    </Card>
  );
}

const columns: Column<Token>[] = [
  { heading: 'Token', names: true, cell: ({ name }) => name },
  {
    heading: 'May',
    cell: ({ read_only }) =>
      read_only ? <Badge tone="neutral">read only</Badge> : <Badge tone="busy">everything</Badge>,
  },
  { heading: 'Expires', cell: ({ expiry }) => <Moment at={expiry} /> },
  { heading: 'Created', cell: ({ created_at }) => <Happened at={created_at} /> },
  { heading: 'Last used', cell: ({ last_used_at }) => <Happened at={last_used_at} /> },
];

interface OfAccount {
  account: string;
  onClose: () => void;
}

function NewToken({ account, onClose }: OfAccount) {
  const [token, setToken] = useState<Answer<'admin_create_account_token'>>();
  const [lifetime, setLifetime] = useState('');
  const create = async (fields: FormData) => {
    const seconds = Number(textOf(fields, 'expiry'));
    setToken(
      await change('admin_create_account_token', {
        path: { account },
        body: {
          name: textOf(fields, 'name'),
          read_only: fields.has('read_only'),
          ...(seconds > 0 ? { expiry: now.value + seconds } : {}),
        },
      }),
    );
  };
  const { day, month, quarter, year } = lifetimes;
  return (
    <Dialog title={token ? `API token ${token.name}` : 'New API token'} onClose={onClose}>
      {token ? (
        <ShownOnce
          what="the API token"
          text={token.api_token}
          lead={
            token.viewable
              ? 'Here it is. It can be viewed again later; that is audited.'
              : 'Copy it now: it is not shown again, to nobody.'
          }
          onDone={onClose}
        />
      ) : (
        <Form verb="Create the token" explain={explain} onSubmit={create} onCancel={onClose}>
          <TextField label="Name" name="name" required maxLength={64} hint="What uses it." />
          <SelectField
            label="Expires"
            name="expiry"
            value={lifetime}
            onInput={setLifetime}
            options={[
              { value: '', text: 'never' },
              ...lifetimeOptions(day, month, quarter, year).map(({ value, text }) => ({
                value,
                text: `in ${text}`,
              })),
            ]}
          />
          <CheckField label="Read only" name="read_only" hint="It changes nothing." />
        </Form>
      )}
    </Dialog>
  );
}

function ViewToken({ account, of: { id, name }, onClose }: OfAccount & { of: Token }) {
  const [text, setText] = useState<string>();
  const view = async () => {
    const { api_token } = await change('admin_view_account_token', { path: { account, id } });
    setText(api_token);
  };
  return (
    <Dialog title={`View ${name}`} onClose={onClose}>
      {text === undefined ? (
        <Form verb="View the token" explain={explain} onSubmit={view} onCancel={onClose}>
          <p>
            Whoever has it acts as {account}. That you viewed it is audited, where the account sees
            it, too.
          </p>
        </Form>
      ) : (
        <ShownOnce what="the API token" text={text} lead={`${name}:`} onDone={onClose} />
      )}
    </Dialog>
  );
}

function RevokeToken({ account, of: { id, name }, onClose }: OfAccount & { of: Token }) {
  return (
    <FormDialog
      title={`Revoke ${name}?`}
      verb={`Revoke ${name}`}
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_remove_account_token', { path: { account, id } });
        return `Revoked the API token ${name} of ${account}.`;
      }}
    >
      <p>
        <strong>Requests with the API token {name} get 401 at once.</strong> It cannot be brought
        back; programs of {account} that use it need another one.
      </p>
    </FormDialog>
  );
}
