// Importing the inventory from a JSON or CSV file, which is sent as it is: a preview first, then
// all or nothing.
import { useState } from 'preact/hooks';
import { type Given, invalidField, type ResponseOf } from '../../api/api.ts';
import { change } from '../../api/reading.ts';
import { count } from '../../format.ts';
import { CheckField, Dialog, Field, Form, notify, Table } from '../../ui/ui.ts';

type Outcome = ResponseOf<'admin_import_inventory'>;
type Query = Required<NonNullable<Given<'admin_import_inventory'>['query']>>;
type Body = Given<'admin_import_inventory'>['body'];

const types: Record<string, string> = { json: 'application/json', csv: 'text/csv' };

/**
 * Returns the changes that were made, or would be. Errors: ApiError, whose message has all faults
 * of the file.
 */
async function importInventory(file: File, query: Query): Promise<Outcome> {
  const type = types[file.name.slice(file.name.lastIndexOf('.') + 1).toLowerCase()];
  if (!type) throw invalidField('file', 'expected one that ends in .json or .csv.');
  // The server reads the file and names its rows, which a body of records would have lost.
  const body = file.slice(0, file.size, type) as unknown as Body;
  return change('admin_import_inventory', { query, body });
}

interface Looked {
  file: File;
  remove_missing: 'true' | 'false';
  outcome: Outcome;
}

export function ImportDialog({ onClose }: { onClose: () => void }) {
  const [looked, setLooked] = useState<Looked>();
  const look = async (fields: FormData) => {
    const file = fields.get('file');
    if (!(file instanceof File) || file.name === '') throw invalidField('file', 'select one.');
    const remove_missing = fields.has('remove_missing') ? 'true' : 'false';
    setLooked({
      file,
      remove_missing,
      outcome: await importInventory(file, { dry_run: 'true', remove_missing }),
    });
  };
  const submit = async () => {
    if (!looked) return;
    const { file, remove_missing } = looked;
    const done = await importInventory(file, { dry_run: 'false', remove_missing });
    onClose();
    notify(`Imported ${file.name}: ${sentenceOf(done)}`);
  };
  return (
    <Dialog title="Import an inventory" onClose={onClose} look="wide">
      {/* The server's response has a line for each fault. */}
      <div class="lines">
        {looked ? (
          <Form
            key="import"
            verb={
              looked.outcome.removed.length > 0
                ? `Import, and remove ${count(looked.outcome.removed.length, 'server')}`
                : 'Import'
            }
            kind={looked.outcome.removed.length > 0 ? 'danger' : 'primary'}
            onSubmit={submit}
            onCancel={() => setLooked(undefined)}
          >
            <Preview name={looked.file.name} outcome={looked.outcome} />
          </Form>
        ) : (
          <Form key="file" verb="Preview changes" onSubmit={look} onCancel={onClose}>
            <p>
              One file with servers and their exit IPs. Servers in the file get exactly these fields
              and exit IPs. If the file has an error, nothing changes.
            </p>
            <Field label="File" name="file" hint="JSON or CSV, up to 8 MiB.">
              {(given) => <input {...given} type="file" accept=".json,.csv" required />}
            </Field>
            <CheckField
              label="Remove servers that are not in the file"
              name="remove_missing"
              hint="A server on a contract can’t be removed; the import is then refused."
            />
          </Form>
        )}
      </div>
    </Dialog>
  );
}

function sentenceOf({ added, changed, removed, unchanged, ...ips }: Outcome): string {
  return `${count(added.length, 'server')} added, ${changed.length} changed, ${removed.length} removed, ${unchanged} as before; ${count(ips.exit_ips_added, 'exit IP')} added, ${ips.exit_ips_removed} removed.`;
}

function Preview({ name, outcome }: { name: string; outcome: Outcome }) {
  const rows = [
    ...outcome.removed.map((server) => ({ server, change: 'removed', fields: '' })),
    ...outcome.added.map((server) => ({ server, change: 'added', fields: '' })),
    ...outcome.changed.map((changedServer) => ({
      server: changedServer.name,
      change: 'changed',
      fields: changedServer.fields.join(', '),
    })),
  ];
  return (
    <>
      <p>
        <strong>{name}</strong>: {sentenceOf(outcome)}
      </p>
      {outcome.removed.length > 0 && (
        <p class="banner fault">
          {`${count(outcome.removed.length, 'server is', 'servers are')} removed, with exit IPs, their health and geo-IP statuses, custom DNS entries, open invitations and nodes.`}
        </p>
      )}
      {rows.length > 0 && (
        <div class="preview">
          <Table
            caption="Preview of the changes"
            rows={rows}
            keyOf={({ server }) => server}
            columns={[
              { heading: 'Server', names: true, cell: ({ server }) => server },
              { heading: 'Change', cell: ({ change }) => change },
              { heading: 'Fields', cell: ({ fields }) => fields || <span class="note">all</span> },
            ]}
          />
        </div>
      )}
    </>
  );
}
