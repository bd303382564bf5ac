// The servers on an account's contract, each with its own limit where it has one.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import type { Answer } from '../../api/api.ts';
import { change, useRead } from '../../api/reading.ts';
import { explain } from '../../api/sentences.ts';
import { LimitField, limitOf } from '../../contract/limit_field.tsx';
import { bytes } from '../../format.ts';
import { FormDialog, useDialog } from '../../forms/form_dialog.tsx';
import { paths } from '../../paths.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { Card, Empty } from '../../ui/card.tsx';
import { SelectField } from '../../ui/field.tsx';
import { textOf } from '../../ui/form.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { UsageMeter } from '../accounts.tsx';
import { Happened } from '../moment.tsx';
import type { Account } from '../states.ts';

type AccountServer = Answer<'admin_list_account_servers'>[number];

export function ServersPart({ account }: { account: Account }) {
  const { name } = account;
  const servers = useRead('admin_list_account_servers', { path: { account: name } });
  const { dialog, open } = useDialog();
  const add = (
    <Button
      kind="primary"
      icon="plus"
      onClick={() =>
        open((close) => (
          <AddServer
            account={account}
            present={(servers.data ?? []).map(({ server }) => server)}
            onClose={close}
          />
        ))
      }
    >
      Add a server
    </Button>
  );
  return (
    <Card
      title="Servers on the contract"
      note={
        account.detailed_billing
          ? 'Own limits count: the contract has detailed server billing.'
          : 'Own limits do not count: the contract has no detailed server billing.'
      }
      actions={add}
    >
      <Loaded of={servers} what="the servers on the contract" explain={explain}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No server is on the contract.">
              Until one is, the account’s users reach none.
            </Empty>
          ) : (
            <Table
              caption={`Servers on the contract of ${name}`}
              columns={columns}
              rows={all}
              keyOf={({ server }) => server}
              actions={(server) => (
                <>
                  <IconButton
                    icon="edit"
                    label={`Own limit of ${server.server}`}
                    onClick={() =>
                      open((close) => <ChangeLimit account={account} of={server} onClose={close} />)
                    }
                  />
                  <IconButton
                    icon="remove"
                    label={`Remove ${server.server}`}
                    onClick={() =>
                      open((close) => (
                        <RemoveServer account={account} server={server.server} onClose={close} />
                      ))
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

const columns: Column<AccountServer>[] = [
  {
    heading: 'Server',
    names: true,
    cell: ({ server }) => <Link href={paths.operator.server(server)}>{server}</Link>,
  },
  { heading: 'Hostname', cell: ({ hostname }) => <span class="wrap-anywhere">{hostname}</span> },
  {
    heading: 'This period',
    cell: ({ server, usage, limit_bytes, over_limit }) => (
      <span class="stack-tight">
        {limit_bytes === null ? (
          bytes(usage)
        ) : (
          <UsageMeter name={server} usage={usage} limit={limit_bytes} />
        )}
        {over_limit && <Badge tone="bad">over the limit</Badge>}
      </span>
    ),
  },
  {
    heading: 'Own limit',
    cell: ({ limit_bytes }) =>
      limit_bytes === null ? <span class="note">none</span> : bytes(limit_bytes),
  },
  { heading: 'Added', cell: ({ added_at }) => <Happened at={added_at} /> },
];

interface OfAccount {
  account: Account;
  onClose: () => void;
}

function AddServer({ account, present, onClose }: OfAccount & { present: string[] }) {
  const network = useRead('admin_list_servers', {}).data ?? [];
  const free = network.filter(({ name }) => !present.includes(name));
  const [chosen, setChosen] = useState('');
  const server = chosen || free[0]?.name || '';
  const add = async (fields: FormData) => {
    const name = textOf(fields, 'server');
    await change('admin_set_account_server', {
      path: { account: account.name, server: name },
      body: { limit_bytes: limitOf(fields) },
    });
    return `${name} is on the contract of ${account.name}.`;
  };
  return (
    <FormDialog
      title={`Add a server to ${account.name}`}
      verb="Add the server"
      kind="primary"
      onSubmit={add}
      onClose={onClose}
    >
      <SelectField
        label="Server"
        name="server"
        required
        value={server}
        onInput={setChosen}
        options={free.map(({ name, title, country }) => ({
          value: name,
          text: `${name}: ${title}, ${country}`,
        }))}
      />
      <LimitField
        label="Own limit"
        value={undefined}
        none="None: the limit of the whole network."
      />
    </FormDialog>
  );
}

function ChangeLimit({ account, of, onClose }: OfAccount & { of: AccountServer }) {
  const save = async (fields: FormData) => {
    await change('admin_set_account_server', {
      path: { account: account.name, server: of.server },
      body: { limit_bytes: limitOf(fields) },
    });
    return `Saved the limit of ${of.server}.`;
  };
  return (
    <FormDialog
      title={`Own limit of ${of.server}`}
      verb="Save"
      kind="primary"
      onSubmit={save}
      onClose={onClose}
    >
      <LimitField
        label="Own limit"
        value={of.limit_bytes ?? undefined}
        none="None: the limit of the whole network."
      />
    </FormDialog>
  );
}

function RemoveServer({ account, server, onClose }: OfAccount & { server: string }) {
  return (
    <FormDialog
      title={`Take ${server} off the contract?`}
      verb={`Remove ${server}`}
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_remove_account_server', { path: { account: account.name, server } });
        return `${server} is off the contract of ${account.name}.`;
      }}
    >
      <p>
        <strong>
          {server} refuses the users of {account.name} from then on.
        </strong>{' '}
        Their custom DNS entries on it stop working; they work again when the server is added again
        before they expire. What was used there stays counted.
      </p>
    </FormDialog>
  );
}
