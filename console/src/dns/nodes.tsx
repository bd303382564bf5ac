// The dialog that shows, for operators, on which nodes a custom DNS entry is active.
import { type AccountResponse, useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { Badge, type Column, Dialog, Empty, Loaded, Status, Table } from '../ui/ui.ts';

export function EntryNodes({ id, onClose }: { id: number; onClose: () => void }) {
  const entry = useReadIn(useScope(), 'get_override', { path: { id } });
  return (
    <Dialog
      title={entry.data ? `Nodes of ${entry.data.hostname}` : 'Nodes'}
      onClose={onClose}
      look="wide"
    >
      <Loaded reading={entry} name="the entry">
        {({ hostname, server, ip, status, on_contract, nodes }) => (
          <>
            <p>
              {hostname} leads to {ip} on {server}: <Status status={status} />
            </p>
            {!on_contract && (
              <p class="banner notice">
                {server} isn’t on the contract, so the entry has no effect.
              </p>
            )}
            {nodes.length === 0 ? (
              <Empty title={`${server} has no node yet.`}>
                The entry stays pending until one joins.
              </Empty>
            ) : (
              <Table
                caption={`Nodes of ${server}`}
                columns={columns}
                rows={nodes}
                keyOf={(node) => node.id}
              />
            )}
          </>
        )}
      </Loaded>
    </Dialog>
  );
}

const columns: Column<AccountResponse<'get_override'>['nodes'][number]>[] = [
  { heading: 'Node', names: true, cell: ({ name }) => name },
  {
    heading: 'Entry',
    cell: ({ applied }) =>
      applied ? <Badge tone="good">applied</Badge> : <Badge tone="busy">not applied</Badge>,
  },
  {
    heading: 'State',
    cell: ({ live }) =>
      live ? <Badge tone="good">online</Badge> : <Badge tone="bad">offline</Badge>,
  },
];
