// Held usage: reports beyond what a node's machine can carry, for the operator to accept or
// discard.
import { Link } from 'wouter-preact';
import type { ResponseOf } from '../api/api.ts';
import { change, useRead } from '../api/reading.ts';
import { bytes, columnBytes, count, dateTime } from '../format.ts';
import { FormDialog, type OpenDialog, useDialog } from '../forms/form_dialog.tsx';
import { paths } from '../paths.ts';
import { Since } from '../relative_time.tsx';
import { Card, type Column, Loaded, type RowAction, Table, Unread } from '../ui/ui.ts';

type Held = ResponseOf<'admin_list_held_usage'>[number];

/**
 * The held usage of one server, or of all; empty if there is none. A failure is shown, since there
 * may be some.
 */
export function HeldUsage({ server }: { server?: string }) {
  const all = useRead('admin_list_held_usage', {});
  const held = all.data?.filter((batch) => server === undefined || batch.server === server);
  const { dialog, open } = useDialog();
  return (
    <>
      {held?.length === 0 ? (
        <Unread reading={all} name="held usage" />
      ) : (
        (held || all.error) && (
          <Card
            title="Held usage"
            note="A node reported more than its machine could have carried since its last report. It isn’t billed until you accept it."
          >
            <Loaded reading={{ ...all, data: held }} name="held usage">
              {(rows) => (
                <Table
                  caption="Held usage"
                  columns={columns}
                  rows={rows}
                  keyOf={({ id }) => id}
                  actions={(batch) => judging(batch, open)}
                />
              )}
            </Loaded>
          </Card>
        )
      )}
      {dialog}
    </>
  );
}

const columns: Column<Held>[] = [
  {
    heading: 'Node',
    names: true,
    cell: ({ node, revoked }) => (revoked ? `${node} (revoked)` : node),
  },
  {
    heading: 'Server',
    cell: ({ server }) => <Link href={paths.operator.server(server)}>{server}</Link>,
  },
  {
    heading: 'Received',
    word: 'received',
    cell: ({ received_at }) => <Since at={received_at} />,
  },
  { heading: 'Bytes', numeric: true, cell: (batch) => columnBytes(batch.bytes) },
  { heading: 'Plausible', numeric: true, cell: (batch) => columnBytes(batch.plausible_bytes) },
  {
    heading: 'Traffic of',
    cell: ({ oldest_at, newest_at }) => (
      <span class="two-lines">
        {dateTime(oldest_at)}
        <span class="note">to {dateTime(newest_at)}</span>
      </span>
    ),
  },
  { heading: 'Accounts', cell: (batch) => accountsOf(batch) },
];

function accountsOf({ accounts, account_count }: Held): string {
  const shares = accounts.map((share) => `${share.account} ${bytes(share.bytes)}`);
  const others = account_count - accounts.length;
  return [...shares, ...(others > 0 ? [count(others, 'other')] : [])].join(', ');
}

function judging(batch: Held, open: OpenDialog): RowAction[] {
  const { id, node } = batch;
  const batchText = `${bytes(batch.bytes)} of ${node}`;
  const accept = async () => {
    await change('admin_accept_held_usage', { path: { id } });
    return `${batchText} billed.`;
  };
  const discard = async () => {
    await change('admin_remove_held_usage', { path: { id } });
    return `${batchText} discarded.`;
  };
  return [
    {
      ...{ text: 'Accept …', label: `Accept ${batchText}`, isWritten: true },
      onSelect: () =>
        open((close) => (
          <FormDialog
            title={`Accept ${batchText}?`}
            verb="Bill it"
            onSubmit={accept}
            onClose={close}
          >
            <p>
              <strong>It counts for {accountsOf(batch)}</strong>, in the hours that it names. Limits
              apply at once: an account that goes over its limit is refused.
            </p>
          </FormDialog>
        )),
    },
    {
      ...{ text: 'Discard …', label: `Discard ${batchText}`, isWritten: true },
      onSelect: () =>
        open((close) => (
          <FormDialog
            title={`Discard ${batchText}?`}
            verb="Discard it"
            onSubmit={discard}
            onClose={close}
          >
            <p>It is never billed. This can’t be undone. The audit log keeps the totals.</p>
          </FormDialog>
        )),
    },
  ];
}
