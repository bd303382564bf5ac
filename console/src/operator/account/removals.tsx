// Lists that the account removed as a whole: for seven days they can be put back.

import { call } from '../../api/api.ts';
import { change, queries, useRead } from '../../api/reading.ts';
import { count, dateTime } from '../../format.ts';
import { FormDialog, useDialog } from '../../forms/form_dialog.tsx';
import { undoBy } from '../../forms/undo.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Table } from '../../ui/table.tsx';
import { notify } from '../../ui/toast.tsx';
import { Happened } from '../moment.tsx';

type List = 'authlist' | 'overrides';

const restoreOperations = {
  authlist: 'admin_restore_account_authlist',
  overrides: 'admin_restore_account_overrides',
} as const;

const whyLeftOut = {
  authlist: 'expired since, or the address is taken',
  overrides: 'expired since, the server is gone, or the hostname is overridden anew',
};

async function restore(account: string, list: List, removal_id: number): Promise<string> {
  const { restored, left_out } = await change(restoreOperations[list], {
    path: { account },
    body: { removal_id },
  });
  const rest = left_out > 0 ? ` ${left_out} left out: ${whyLeftOut[list]}.` : '';
  return `${count(restored, 'entry', 'entries')} restored.${rest}`;
}

/** After a list was removed as a whole: says so, with the way back. */
export async function sayRemoved(account: string, list: List, entries: number): Promise<void> {
  const removals = await call('admin_list_account_removals', { path: { account } });
  void queries.invalidateQueries();
  const newest = removals
    .filter((one) => one.list === list)
    .reduce((id, { removal_id }) => Math.max(id, removal_id), 0);
  notify(
    `${count(entries, 'entry', 'entries')} of ${account} removed.`,
    newest > 0 ? undoBy(() => restore(account, list, newest)) : {},
  );
}

/** Nothing where nothing was removed. */
export function Removals({ account, list }: { account: string; list: List }) {
  const removals = useRead('admin_list_account_removals', { path: { account } }).data ?? [];
  const { dialog, open } = useDialog();
  const rows = removals.filter((one) => one.list === list);
  if (rows.length === 0 && !dialog) return null;
  return (
    <Card title="Removed as a whole" note="For seven days it can be undone.">
      <Table
        caption={`Removals of the whole list of ${account}`}
        columns={[
          {
            heading: 'Removed',
            names: true,
            cell: ({ at }) => (
              <>
                <Happened at={at} />, {dateTime(at)}
              </>
            ),
          },
          { heading: 'Entries', numeric: true, cell: ({ entries }) => entries },
        ]}
        rows={rows}
        keyOf={({ removal_id }) => removal_id}
        actions={({ removal_id, entries, at }) => (
          <Button
            onClick={() =>
              open((close) => (
                <FormDialog
                  title={`Put ${count(entries, 'entry', 'entries')} back?`}
                  verb={`Restore ${count(entries, 'entry', 'entries')}`}
                  kind="primary"
                  onClose={close}
                  onSubmit={() => restore(account, list, removal_id)}
                >
                  <p>
                    What was removed on {dateTime(at)} comes back under its old ids. Left out is
                    what {whyLeftOut[list].replace(/^expired/, 'has expired')}.
                  </p>
                </FormDialog>
              ))
            }
          >
            Undo …<span class="visually-hidden"> the removal of {dateTime(at)}</span>
          </Button>
        )}
      />
      {dialog}
    </Card>
  );
}
